"""Run inside a sandbox by a hostile command: every way out that its author could think of.

Prints JSON: for each attempt what it got, which is "" where it got nothing. Takes JSON on the command line (the home,
the state directory, the configuration, the key file, and the key read backwards), and the names of some attempts, or
makes all.
"""

import ctypes
import errno
import fcntl
import json
import os
import socket
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

GIVEN = json.loads(sys.argv[1])
STATE, CONFIG, KEY_FILE, KEY = Path(GIVEN["state"]), Path(GIVEN["config"]), Path(GIVEN["key_file"]), GIVEN["yek"][::-1]
C = ctypes.CDLL(None, use_errno=True)
NEWNS, NEWUSER, NEWPID, NEWNET = 0x0002_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000
BIND, MOVE, REC, REMOUNT, DETACH = 4096, 8192, 16384, 32, 2
TIOCSTI, TIOCLINUX = 0x5412, 0x541C
ATTEMPTS: dict[str, Callable[[], object]] = {}


def attempt(function: Callable[[], object]) -> Callable[[], object]:
    ATTEMPTS[function.__name__] = function
    return function


def call(name: str, *arguments: object) -> int:
    """Make a system call by the C library, and raise what it refuses."""
    result = int(getattr(C, name)(*arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result


def mount(source: str, target: str | Path, flags: int, kind: str = "none") -> None:
    call("mount", source.encode(), os.fsencode(target), kind.encode(), ctypes.c_ulong(flags), None)


def anew(function: Callable[[], object], further: int = 0) -> object:
    """Do something as user 0 of a new user and mount namespace, with every capability that this gives."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        got: object = ""
        try:
            uid, gid = os.getuid(), os.getgid()
            call("unshare", NEWUSER | NEWNS | further)
            with suppress(OSError):  # Root may not map itself; it has the capabilities nevertheless.
                Path("/proc/self/setgroups").write_text("deny")
                Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
                Path("/proc/self/gid_map").write_text(f"0 {gid} 1")
            got = function()
        except OSError:
            got = ""
        finally:
            os.write(write, json.dumps(got, default=str).encode())
            os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with open(read) as answer:  # noqa: PTH123  (a descriptor)
        return json.loads(answer.read() or '""')


def state_shows() -> object:
    return [str(path) for path in STATE.rglob("*")] if STATE.is_dir() else ""


@attempt
def list_the_state() -> object:
    return state_shows()


@attempt
def write_into_the_state() -> object:
    return (STATE / "mine").write_text("mine")


@attempt
def read_the_key_file() -> object:
    return KEY_FILE.read_text()


@attempt
def read_the_configuration() -> object:
    return CONFIG.read_text()


@attempt
def replace_the_configuration() -> object:
    own = CONFIG.with_name("own.toml")
    own.write_text("")
    try:
        own.rename(CONFIG)
    finally:
        own.unlink(missing_ok=True)
    return "replaced"


@attempt
def rename_the_state() -> object:
    return [above.rename(above.with_name("other")) for above in (STATE, *list(STATE.parents)[:2])]


@attempt
def rename_what_leads_to_the_state() -> object:
    for above in STATE.parents:
        with suppress(OSError, ValueError):
            above.relative_to(GIVEN["home"])  # Beyond, it would only harm.
            return above.rename(above.with_name("other"))
    return ""


@attempt
def unmount_the_cover() -> object:
    call("umount2", os.fsencode(STATE), DETACH)
    return state_shows()


@attempt
def unmount_the_cover_in_a_new_namespace() -> object:
    return anew(unmount_the_cover)


@attempt
def look_below_the_cover_by_a_bind_mount() -> object:
    def bind_root() -> object:
        mount("/", "/tmp", BIND)
        return [str(path) for path in Path("/tmp", *STATE.parts[1:]).rglob("*")]

    return anew(bind_root)


@attempt
def look_below_the_cover_by_its_parent() -> object:
    def bind_parent() -> object:
        mount(str(STATE.parent), "/mnt", BIND)
        return [str(path) for path in Path("/mnt", STATE.name).rglob("*")]

    return anew(bind_parent)


@attempt
def move_the_cover() -> object:
    def move() -> object:
        mount(str(STATE), "/tmp", MOVE)
        return state_shows()

    return anew(move)


@attempt
def remount_the_cover_writable() -> object:
    def remount() -> object:
        mount("none", STATE, REMOUNT | BIND)
        return (STATE / "mine").write_text("mine")

    return anew(remount)


@attempt
def remount_the_system_writable() -> object:
    def remount() -> object:
        mount("none", "/sys", REMOUNT | BIND)
        return "writable"

    return anew(remount)


@attempt
def unmount_the_processes() -> object:
    def unmount() -> object:
        call("umount2", b"/proc", DETACH)
        return "unmounted"

    return anew(unmount)


@attempt
def see_a_process_outside() -> object:
    # Host ids are many; inside there are the first process, this one and what it starts.
    inside = {int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()}
    return [Path(f"/proc/{pid}/cmdline").read_text() for pid in inside if pid > 100]


@attempt
def go_through_the_first_process() -> object:
    return os.listdir("/proc/1/root")  # noqa: PTH208  (the bare call)


@attempt
def read_the_first_process() -> object:
    return Path("/proc/1/environ").read_bytes() or [os.readlink(one) for one in Path("/proc/1/fd").iterdir()]  # noqa: PTH115  (the bare call)


@attempt
def write_the_first_process() -> object:
    return os.open("/proc/1/mem", os.O_RDWR)


@attempt
def trace_the_first_process() -> object:
    return call("ptrace", 16, 1, None, None) + 1  # PTRACE_ATTACH


@attempt
def enter_the_namespaces_of_the_first_process() -> object:
    return [call("setns", os.open(f"/proc/1/ns/{kind}", os.O_RDONLY), 0) + 1 for kind in ("user", "mnt", "pid")]


@attempt
def signal_processes_outside() -> object:
    found = []
    for pid in range(1_000, 100_000, 1):
        with suppress(ProcessLookupError):
            os.kill(pid, 0)
            found.append(pid)
    return found


@attempt
def trace_the_parent() -> object:
    return os.getppid() if os.getppid() > 1 else ""


@attempt
def find_a_descriptor_that_leads_outside() -> object:
    names = {name for name in os.listdir("/proc/self/fd") if int(name) > 2}  # noqa: PTH208  (the bare call)
    links = [os.readlink(f"/proc/self/fd/{name}") for name in names if Path(f"/proc/self/fd/{name}").exists()]  # noqa: PTH115  (the bare call)
    return [link for link in links if not link.startswith("/proc/")]


@attempt
def reach_a_socket_of_memfs() -> object:
    found = []
    for directory in (STATE, STATE / "run"):
        for name in ("mount.sock", "worker.sock", "worker.notify", "mount.notify"):
            for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                with suppress(OSError), socket.socket(socket.AF_UNIX, kind) as caller:
                    caller.connect(str(directory / name)[-107:])
                    found.append(name)
    return found


@attempt
def find_a_socket_of_a_service() -> object:
    found = [path for top in ("/run", "/dev") for path in Path(top).rglob("*") if path.is_socket()]
    return [path for path in found if "resolve" not in str(path)]


@attempt
def find_the_key_in_the_environment() -> object:
    environ = Path("/proc/self/environ").read_bytes()
    return "there" if KEY.encode() in environ or b"MEMFS_" in environ or b"NOTIFY_SOCKET" in environ else ""


@attempt
def find_the_key_in_any_process() -> object:
    for path in Path("/proc").glob("[0-9]*/*"):
        if path.name in {"environ", "cmdline"} and f"/{os.getpid()}/" not in str(path):
            with suppress(OSError):
                if KEY.encode() in path.read_bytes():
                    return path
    return ""


@attempt
def open_a_disk_or_the_mounts_device() -> object:
    return [path for path in Path("/dev").rglob("*") if path.is_block_device() or path.name in {"fuse", "mem", "kmsg"}]


@attempt
def make_a_disk() -> object:
    os.mknod("disk", stat.S_IFBLK | 0o600, os.stat("/").st_dev)  # noqa: PTH116  (the bare call)
    return "made"


@attempt
def set_what_the_kernel_runs_outside() -> object:
    found = []
    for name in ("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sysrq-trigger"):
        with suppress(OSError):
            os.close(os.open(name, os.O_WRONLY))
            found.append(name)
    return found


@attempt
def have_a_writable_system_of_a_new_network() -> object:
    def mount_system() -> object:
        mount("sysfs", "/tmp", 0, "sysfs")
        return "" if os.statvfs("/tmp").f_flag & os.ST_RDONLY else "mounted"

    return anew(mount_system, NEWNET)


@attempt
def have_writable_processes_of_a_new_namespace() -> object:
    def mount_processes() -> object:
        read, write = os.pipe()
        first = os.fork()
        if first == 0:
            with suppress(OSError):
                mount("proc", "/proc", 0, "proc")
                os.close(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY))
                os.write(write, b"opened")
            os._exit(0)
        os.waitpid(first, 0)
        os.close(write)
        return os.read(read, 16).decode()

    return anew(mount_processes, NEWPID)


@attempt
def end_the_connection_of_the_mount() -> object:
    found = []
    for path in [*Path("/sys/fs/fuse/connections").glob("*/abort"), Path("/sys/kernel/uevent_helper")]:
        with suppress(OSError):
            os.close(os.open(path, os.O_WRONLY))
            found.append(path)
    return found


@attempt
def become_root() -> object:
    for program in ("/usr/bin/su", "/usr/bin/sudo", "/usr/bin/newgrp", "/usr/bin/fusermount"):
        if Path(program).exists() and os.stat(program).st_mode & stat.S_ISUID:  # noqa: PTH116  (the bare call)
            status = Path("/proc/self/status").read_text()
            return "" if "NoNewPrivs:\t1" in status else program
    return ""


@attempt
def have_a_capability() -> object:
    lines = Path("/proc/self/status").read_text().splitlines()
    return [line for line in lines if line.startswith("Cap") and int(line.split()[1], 16)]


@attempt
def change_the_user() -> object:
    for uid in {0, 1, 12_345} - {os.getuid()}:
        with suppress(OSError):
            os.setuid(uid)
            return uid
    return ""


@attempt
def open_by_handle() -> object:
    handle = (ctypes.c_uint32 * 34)(128)
    call("name_to_handle_at", -100, b"/", handle, ctypes.byref(ctypes.c_int()), 0)
    root = os.open("/", os.O_RDONLY)
    return call("open_by_handle_at", root, handle, os.O_RDONLY)


@attempt
def change_the_root() -> object:
    os.chroot("/tmp")
    return "changed"


@attempt
def type_into_the_terminal() -> object:
    for request in (TIOCSTI, TIOCLINUX):
        try:
            fcntl.ioctl(0, request, b"x")
        except OSError as error:
            if error.errno != errno.EPERM:
                return f"refused by chance: {error}"
        else:
            return "typed"
    return ""


@attempt
def make_a_store_of_its_own() -> object:
    return Path("/mnt/memory/own").mkdir() or "made"


@attempt
def mount_over_the_stores() -> object:
    mount("tmpfs", "/mnt/memory", 0, "tmpfs")
    return "mounted"


@attempt
def unmount_the_stores() -> object:
    def unmount() -> object:
        call("umount2", b"/mnt/memory", DETACH)
        return "unmounted"

    return anew(unmount)


@attempt
def climb_out_of_the_stores() -> object:
    return [name for name in os.listdir("/mnt/memory/../memory/..") if name in {"state", "tree"}]  # noqa: PTH208  (the bare call)


def main() -> None:
    got = {}
    for name in sys.argv[2:] or ATTEMPTS:
        result: object = ""
        with suppress(OSError, ValueError):
            result = ATTEMPTS[name]()
        got[name] = str(result) if result else ""
    print(json.dumps(got))  # noqa: T201  (the answer)


if __name__ == "__main__":
    main()
