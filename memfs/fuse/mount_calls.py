"""A program of its own that mounts and unmounts parts of a mount: the process that serves it must not (`outside`).

``read-only POINT NAME...`` mounts each directory NAME of the mount over itself, read-only. ``down POINT NAME...`` takes
such mounts down under whoever uses them. ``unmount POINT NAME...`` takes all down and then the mount, or nothing: what
is in use stays as it was. ``detach POINT`` takes the mount down with all that is mounted in it, whoever uses them;
``abort POINT`` answers with an error, too, whoever waits for it. The exit code is an errno.

Only the standard library: it runs isolated, so that it starts at once.
"""

import ctypes
import errno
import os
import sys
from collections.abc import Callable, Sequence

_READ_ONLY, _NO_SETUID, _NO_DEVICES, _REMOUNT, _BIND = 1, 2, 4, 32, 4_096
_PRIVATE, _RELATIVE_ATIME = 1 << 18, 1 << 21
_FORCE, _DETACH, _NO_FOLLOW = 1, 2, 8
# A remount of a mount point sets every flag of it: these are what libfuse mounted with.
_KEPT = _REMOUNT | _BIND | _NO_SETUID | _NO_DEVICES | _RELATIVE_ATIME

_libc = ctypes.CDLL(None, use_errno=True)


def read_only(point: bytes, names: Sequence[bytes]) -> None:
    """Mount each directory over itself, read-only."""
    # What is mounted below a shared mount appears in other namespaces too, and writable there.
    _mount(None, point, _PRIVATE)
    for name in names:
        path = os.path.join(point, name)  # noqa: PTH118  (bytes)
        _mount(path, path, _BIND)
        _mount(None, path, _KEPT | _READ_ONLY)


def down(point: bytes, names: Sequence[bytes]) -> None:
    """Take the directories' own mounts down; who works in one may write from now on, as far as the store lets them."""
    for name in names:
        path = os.path.join(point, name)  # noqa: PTH118  (bytes)
        try:
            _mount(None, path, _KEPT)
            _unmount(path, _DETACH)
        except OSError as error:
            if error.errno not in {errno.EINVAL, errno.ENOENT}:  # Nothing is mounted there any more: that is all right.
                raise


def unmount(point: bytes, names: Sequence[bytes]) -> None:
    """Unmount the mount with the directories' own mounts, or leave all as it was."""
    gone: list[bytes] = []
    try:
        for name in names:
            _unmount(os.path.join(point, name), 0)  # noqa: PTH118  (bytes)
            gone.append(name)
        _unmount(point, 0)
    except OSError:
        read_only(point, gone)
        raise


def detach(point: bytes, _names: Sequence[bytes]) -> None:
    """Take the mount down, and all in it, whoever uses them."""
    _unmount(point, _DETACH)


def abort(point: bytes, _names: Sequence[bytes]) -> None:
    """End the connection, so that whoever waits for it is answered, and detach."""
    _unmount(point, _FORCE | _DETACH)


def _mount(source: bytes | None, target: bytes, flags: int) -> None:
    if _libc.mount(source, target, None, ctypes.c_ulong(flags), None):
        _fail()


def _unmount(target: bytes, flags: int) -> None:
    if _libc.umount2(target, flags | _NO_FOLLOW):
        _fail()


def _fail() -> None:
    code = ctypes.get_errno()
    raise OSError(code, os.strerror(code))


STEPS: dict[str, Callable[[bytes, Sequence[bytes]], None]] = {
    "read-only": read_only,
    "down": down,
    "unmount": unmount,
    "detach": detach,
    "abort": abort,
}

if __name__ == "__main__":
    try:
        STEPS[sys.argv[1]](os.fsencode(sys.argv[2]), [os.fsencode(name) for name in sys.argv[3:]])
    except OSError as error:
        sys.exit(error.errno)
