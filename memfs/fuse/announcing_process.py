"""Run as a process beside a mount: does through it what makes inotify report what a pull did. `announcing` starts it.

It changes nothing: the mount knows this process and answers each request here with what is there already (`announced`).
Where the mount does not, the requests are refused or, an open for writing with nothing written, mean nothing.

It sees the mount in a mount namespace of its own, where nothing else is: so no directory here keeps the mount busy, and
neither the kernel's read-only remounts nor missing w bits stand in the way (in a user namespace of its own, an ordinary
user may do what root may, to what that user owns). Where no namespace is to be had, it uses the mount like anybody.

Reads ``KIND PATH NUL`` on standard input, answers each with a byte, ends with its input. Imports nothing of memfs.
"""

import ctypes
import errno
import os
import signal
import sys
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
_FLAGS = os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ_BYTES = 1 << 16


def main(mount_point: str, device: str) -> None:
    """Announce until the input ends; with the mount's ``device`` (``0:42``) in a namespace, without it in none."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_IGN)  # The mount says when to end; a limit on sizes is an error here.
    base, is_known = os.fsencode(mount_point), False
    if device:
        try:
            _enclose(base, device)
        except (OSError, AttributeError):  # Not allowed, or a C library without these calls.
            sys.exit(NO_NAMESPACE)
        # Only where nothing else can be there any more is anything ever made.
        base, is_known = b"", _is_known()
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


def _enclose(mount_point: bytes, device: str) -> None:
    """Make the mount the root of a mount namespace in which nothing else is, not even what is mounted upon it."""
    uid, gid = os.geteuid(), os.getegid()
    libc = ctypes.CDLL(None, use_errno=True)
    _call(libc.unshare, _NEW_MOUNTS | (_NEW_USER if uid else 0))
    if uid:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    _call(libc.mount, None, b"/", None, ctypes.c_ulong(_RECURSIVE | _PRIVATE), None)
    # Not recursive: what lies on the mount stays behind.
    _call(libc.mount, mount_point, mount_point, None, ctypes.c_ulong(_BIND), None)
    os.chdir(mount_point)
    found = Path().stat().st_dev
    if f"{os.major(found)}:{os.minor(found)}" != device:
        sys.exit()  # The mount was taken down.
    _call(libc.pivot_root, b".", b".")
    _call(libc.umount2, b".", _DETACH)
    os.chdir("/")


def _call(function: "ctypes._NamedFuncPointer", *arguments: object) -> None:
    if function(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    main(*sys.argv[1:])
