"""Run as a process beside a mount: does through it what makes inotify report what a pull did. `announcing` starts it.

It changes nothing: the mount knows this process and answers what it asks to make with what is there (`announced`). In a
mount namespace of its own it sees nothing but the mount: so it does not keep the mount busy, and neither the kernel's
read-only remounts nor missing w bits stop it (nor an ordinary user's, who has a user namespace as well).

It also aborts the connection when the mount's process dies: killed while a program that holds a directory waits for its
answer, and one of its notices for that directory, the process would stay for ever, and the program with it.

Threading: a thread waits for that death. The main thread, by whose id the mount knows it, touches the mount only after
that; it announces ``KIND PATH NUL`` of standard input and answers each with a byte. Imports nothing of memfs.
"""

import ctypes
import errno
import os
import re
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path

EDITED, MADE, MADE_DIRECTORY = b"e", b"m", b"d"
SIZE_OF_NOTHING = 1 << 62
"""What a file is truncated to: the mount knows that nothing is meant, and no memory can be so large."""

NO_NAMESPACE = 3
"""The exit code where a namespace is not to be had: half in one, this process would keep other mounts alive."""

_NEW_MOUNTS, _NEW_USER = 0x0002_0000, 0x1000_0000
_BIND, _RECURSIVE, _PRIVATE = 0x1000, 0x4000, 0x4_0000
_DETACH = 2
_SIGNAL_AT_PARENTS_DEATH = 1
_DEATH = signal.SIGUSR1
_CONNECTIONS = "/sys/fs/fuse/connections"
_FLAGS = os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ_BYTES = 1 << 16


def main(parent: str, mount_point: str, device: str, namespace: str) -> None:
    """Announce until the input ends, or the process ``parent`` dies.

    Args:
        parent: The process that serves the mount.
        mount_point: Where it is.
        device: The mount's, ``0:42``.
        namespace: Empty for none.
    """
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_IGN)  # The mount says when to end; a limit on sizes is an error here.
    signal.pthread_sigmask(signal.SIG_BLOCK, {_DEATH})
    libc, base = ctypes.CDLL(None, use_errno=True), os.fsencode(mount_point)
    control = _control(_CONNECTIONS, device)
    if namespace:
        try:
            control = _enclose(libc, base, device, control)
        except (OSError, AttributeError):  # Not allowed, or a C library without these calls.
            sys.exit(NO_NAMESPACE)
        base = b""
    libc.prctl(_SIGNAL_AT_PARENTS_DEATH, _DEATH)
    threading.Thread(target=_outlive, args=(int(parent), control), daemon=True).start()
    _announce_all(base)


def _outlive(parent: int, control: int) -> None:
    if os.getppid() == parent:  # Else it died before it could be waited for.
        signal.sigwait({_DEATH})
    if control >= 0:
        os.write(control, b"1")
    os._exit(0)


def _announce_all(base: bytes) -> None:
    # Only where nothing else can be there any more is anything ever made.
    is_known = not base and _is_known()
    os.write(1, b".")
    rest = b""
    while received := os.read(0, _READ_BYTES):
        *lines, rest = (rest + received).split(b"\0")
        for line in lines:
            with suppress(OSError):  # It is gone again, or another pull is about to announce it.
                _announce(line[:1] if is_known else EDITED, base + b"/" + line[1:], is_known=is_known)
            os.write(1, b".")


def _announce(kind: bytes, path: bytes, *, is_known: bool) -> None:
    if kind == MADE_DIRECTORY:
        os.mkdir(path)  # noqa: PTH102  (a name is bytes)
        return
    if kind == MADE:
        with suppress(FileExistsError):
            os.close(os.open(path, _FLAGS | os.O_CREAT | os.O_EXCL))
            return
    file = os.open(path, _FLAGS)
    try:
        if is_known:
            os.ftruncate(file, SIZE_OF_NOTHING)
    finally:
        os.close(file)


def _is_known() -> bool:
    """Tell whether the mount answers this process in its own way: at the root nobody else may make anything."""
    try:
        Path("/.memfs-announces").mkdir()
    except OSError as error:
        return error.errno == errno.EEXIST
    return False


def _control(connections: str, device: str) -> int:
    """Open what aborts the mount's connection; -1 where it is not shown, or not ours."""
    try:
        return os.open(f"{connections}/{device.partition(':')[2]}/abort", os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return -1


def _enclose(libc: ctypes.CDLL, mount_point: bytes, device: str, control: int) -> int:
    """Make the mount the root of a mount namespace in which nothing else is, not even what is mounted upon it.

    Nothing here asks the mount for anything. Returns ``control``, opened where that is possible only here.
    """
    uid, gid = os.geteuid(), os.getegid()
    _call(libc.unshare, _NEW_MOUNTS | (_NEW_USER if uid else 0))
    if uid:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    _call(libc.mount, None, b"/", None, ctypes.c_ulong(_RECURSIVE | _PRIVATE), None)
    # Not recursive: what lies on the mount stays behind.
    _call(libc.mount, mount_point, mount_point, None, ctypes.c_ulong(_BIND), None)
    if _device_at(mount_point) != device:
        sys.exit()  # The mount was taken down.
    if control < 0:
        with suppress(OSError):
            _call(libc.mount, b"none", b"/sys", b"fusectl", ctypes.c_ulong(0), None)
            control = _control("/sys", device)
    _call(libc.pivot_root, mount_point, mount_point)
    _call(libc.umount2, b"/", _DETACH)
    os.chdir("/")
    return control


def _device_at(mount_point: bytes) -> str:
    escaped = re.sub(rb"[ \t\n\\]", lambda found: b"\\%03o" % found[0][0], mount_point)
    lines = [line.split(b" ") for line in Path("/proc/self/mountinfo").read_bytes().splitlines()]
    return next((line[2].decode() for line in reversed(lines) if line[4] == escaped), "")


def _call(function: "ctypes._NamedFuncPointer", *arguments: object) -> None:
    if function(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    main(*sys.argv[1:])
