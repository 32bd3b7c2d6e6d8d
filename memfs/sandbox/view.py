"""What the command sees of the file system: everything as outside, but for what this module covers.

`make_memory` prepares the place of the stores, `close_in` the rest. Both run in a mount namespace of their own, before
the command's user namespace is made: what is mounted here cannot be unmounted there.
"""

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from memfs.core.errors import SandboxRefused
from memfs.sandbox import mounts, system
from memfs.sandbox.plan import MEMORY, Plan

_ABOVE, _NAME = os.path.split(MEMORY)
_RUN_KEPT = (
    "systemd/resolve",
    "resolvconf",
    "NetworkManager/resolv.conf",
    "NetworkManager/no-stub-resolv.conf",
    "connman/resolv.conf",
    "current-system",
    "booted-system",
    "opengl-driver",
    "wrappers",
)
"""Of /run only how names are resolved, and where some systems keep their programs: its sockets lead to services that
would run anything for the user, outside."""
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_OF_ROOT = ("sys", "sysrq-trigger", "irq", "bus", "fs")
"""What user 0 may write below /proc without any capability: the core_pattern is a program that runs outside."""
_UNREACHABLE = {errno.ENOENT, errno.ENOTDIR, errno.EACCES}
"""It is not there, is of the other kind, or its directory is closed to this user and so to the command."""
_QUIET = system.MS_NOSUID | system.MS_NODEV | system.MS_NOEXEC


def make_memory() -> None:
    """Make the directory of the stores, on a file system over the one above it that shows what else was there.

    What is mounted on it later shows in the namespaces made from this one, too.

    Raises:
        OSError: A mount is refused.
    """
    system.mount(None, "/", None, system.MS_REC | system.MS_PRIVATE)
    if not Path(_ABOVE).is_dir():
        _make_root()
    with _kept(_ABOVE) as kept:
        names = [name for name in os.listdir(kept) if name != _NAME]  # noqa: PTH208  (through its descriptor)
        system.mount("memfs", _ABOVE, "tmpfs", system.MS_NOSUID | system.MS_NODEV, "mode=755,size=1m")
        system.mount(None, _ABOVE, None, system.MS_SHARED)
        for name in names:
            _show(f"{kept}/{name}", f"{_ABOVE}/{name}")
    Path(MEMORY).mkdir()


def close_in(plan: Plan) -> None:
    """Cover what the command must not see or change. Runs as the first process of a new process-id namespace.

    Raises:
        SandboxRefused: The host does not allow the new /proc.
        OSError: A mount is refused.
    """
    system.mount(None, "/", None, system.MS_REC | system.MS_SLAVE)
    system.set_attributes(_ABOVE, add=system.ATTR_RDONLY)
    system.set_attributes("/", add=system.ATTR_NODEV, is_recursive=True)
    with _kept("/dev") as devices:
        _hide(plan.hidden)
        _make_devices(devices)
    if Path("/run").is_dir():
        _make_run()
    if Path("/sys").is_dir():
        system.set_attributes("/sys", add=system.ATTR_RDONLY, is_recursive=True)
    _make_processes(is_root=plan.uid == 0)


def _make_root() -> None:
    """Put another root in the place of this one, which shows the same and also has the directory that is missing."""
    with _kept("/dev") as devices:
        system.mount("memfs", "/dev", "tmpfs", system.MS_NOSUID | system.MS_NODEV, "mode=755,size=1m")
        for name in {*os.listdir("/")} - {"dev"}:  # noqa: PTH208  (names only)
            _show(f"/{name}", f"/dev/{name}")
        Path("/dev/dev").mkdir()
        system.bind(devices, "/dev/dev")
        system.unmount("/dev/dev")  # What was mounted over it a moment ago came along.
    Path(f"/dev{_ABOVE}").mkdir()
    system.pivot_root("/dev", f"/dev{_ABOVE}")
    os.chdir("/")
    system.unmount(_ABOVE)
    system.set_attributes("/", add=system.ATTR_RDONLY)


def _hide(paths: Iterable[str]) -> None:
    """Cover each path, wherever it shows, by an empty directory or file that nobody can write."""
    table = mounts.parse(Path("/proc/self/mountinfo").read_bytes())
    # For the moment, /dev is where the empty things stand.
    system.mount("memfs", "/dev", "tmpfs", _QUIET, "mode=755,size=64k")
    empty_directory, empty_file = Path("/dev/directory"), Path("/dev/file")
    empty_directory.mkdir(mode=0o555)
    empty_file.touch(mode=0o444)
    system.mount(None, "/dev", None, system.MS_REMOUNT | system.MS_RDONLY | _QUIET, "mode=755,size=64k")
    found = [place for path in paths for place in mounts.places(os.path.realpath(path), table)]
    _pin({above for place in found for above in Path(place).parents})
    others = [one.point for one in table if one.kind == "fuse.memfs" and not f"{one.point}/".startswith(f"{MEMORY}/")]
    for place in [*found, *others]:
        _cover(place, empty_directory, empty_file)


def _pin(directories: Iterable[Path]) -> None:
    """Mount each directory on itself: what lies below cannot be renamed away, for another to be put in its place."""
    for directory in sorted(directories):
        if directory != directory.parent and directory.is_dir() and os.access(directory.parent, os.W_OK):
            with suppress(OSError):  # It is closed to this user, as it will be to the command.
                system.bind(directory, directory)


def _cover(place: str, empty_directory: Path, empty_file: Path) -> None:
    for empty in (empty_directory, empty_file):
        try:
            system.bind(empty, place)
        except OSError as error:
            if error.errno not in _UNREACHABLE:
                raise


def _make_devices(outside: str) -> None:
    """Make a /dev without the disks, other terminals and shared memory of the host, over the one used until now."""
    system.mount("memfs", "/dev", "tmpfs", system.MS_NOSUID, "mode=755,size=64k")
    for name in _DEVICES:
        _show(f"{outside}/{name}", f"/dev/{name}")
        system.set_attributes(f"/dev/{name}", remove=system.ATTR_NODEV)
    for name, target in (("fd", "self/fd"), ("stdin", "self/fd/0"), ("stdout", "self/fd/1"), ("stderr", "self/fd/2")):
        Path("/dev", name).symlink_to(f"/proc/{target}")
    Path("/dev/ptmx").symlink_to("pts/ptmx")
    for name in ("pts", "shm"):
        Path("/dev", name).mkdir()
    with suppress(OSError):  # A kernel without it has no new terminals inside.
        system.mount("devpts", "/dev/pts", "devpts", system.MS_NOSUID | system.MS_NOEXEC, "newinstance,ptmxmode=0666")
    system.mount("memfs", "/dev/shm", "tmpfs", system.MS_NOSUID | system.MS_NODEV, "mode=1777")  # noqa: S108  (a mount)


def _make_run() -> None:
    with _kept("/run") as outside:
        own = os.environ.get("XDG_RUNTIME_DIR", "")
        system.mount("memfs", "/run", "tmpfs", system.MS_NOSUID | system.MS_NODEV, "mode=755")
        for name in _RUN_KEPT:
            Path("/run", name).parent.mkdir(parents=True, exist_ok=True)
            _show(f"{outside}/{name}", f"/run/{name}")
    if own.startswith("/run/"):
        Path(own).mkdir(mode=0o700, parents=True, exist_ok=True)
    if Path("/var/run").is_dir() and not Path("/var/run").is_symlink():
        system.bind("/run", "/var/run")


def _make_processes(*, is_root: bool) -> None:
    """Show only the processes inside.

    Raises:
        SandboxRefused: A part of /proc is covered here, as containers do; then the kernel gives no new one.
    """
    try:
        system.mount("proc", "/proc", "proc", _QUIET)
    except PermissionError:
        raise SandboxRefused(
            "this host gives no new /proc, for a part of its own is covered",
            remedy="In a container add --security-opt systempaths=unconfined",
        ) from None
    if not is_root:
        return
    for name in _OF_ROOT:
        if Path("/proc", name).exists():
            system.bind(f"/proc/{name}", f"/proc/{name}")
            system.set_attributes(f"/proc/{name}", add=system.ATTR_RDONLY)


@contextmanager
def _kept(directory: str) -> Iterator[str]:
    """Give a path that goes on leading to ``directory`` when something is mounted over it."""
    descriptor = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


def _show(source: str, target: str) -> None:
    """Show what is at ``source``, if it is there, at ``target``, which is made for it."""
    outside, inside = Path(source), Path(target)
    if outside.is_symlink():
        inside.symlink_to(outside.readlink())
        return
    if outside.is_dir():
        inside.mkdir()
    elif outside.exists():
        inside.touch()
    else:
        return
    system.bind(source, target)
