"""The C side of libfuse 2.9, as declarations only: structures, callback slots and the functions that are called.

fusepy finds and loads the library and describes ``struct stat`` and ``struct fuse_file_info``; the rest is here.
Used by `replies`, `lowlevel` and `session`. Importing it raises `LibfuseMissing` where the library is not installed.
"""

import ctypes as C  # noqa: N812  (the letter every binding uses)
import platform
import struct
from collections.abc import Callable
from typing import Any, TypeAlias, cast

from memfs.core.errors import LibfuseMissing, MountRefused

try:
    import fuse
except OSError:
    raise LibfuseMissing(
        "libfuse 2.9 is not installed (libfuse.so.2)", remedy="Install it: apt-get install fuse libfuse2"
    ) from None

_STAT_BYTES = {"x86_64": 144, "aarch64": 128}
"""sizeof(struct stat) in C. fusepy's description ends at the last field it needs: what embeds it must pad."""
_STAT_FIELDS = {"x86_64": "=8xQQIII4x8xqqq6q", "aarch64": "=8xQIIII8x8xqi4xq6q"}
"""st_ino, then st_nlink and st_mode (or the other way round), st_uid, st_gid, st_size, st_blksize, st_blocks, times."""

Foreign: TypeAlias = Any
"""What ctypes makes at run time and no type checker sees: a pointer to a structure, a structure, a C type."""

Stat, FileInfo = fuse.c_stat, fuse.fuse_file_info
Pointer, Text, Ulong, Offset = C.c_void_p, C.c_char_p, C.c_ulong, C.c_int64


def stat_bytes(machine: str) -> int:
    """Return the size of C's ``struct stat`` on ``machine``.

    Raises:
        MountRefused: The layout of that processor is not known.
    """
    if machine not in _STAT_BYTES:
        raise MountRefused(f"the mount does not know the processor {machine}", remedy="Use x86_64 or aarch64")
    return _STAT_BYTES[machine]


class Entry(C.Structure):
    """``struct fuse_entry_param``."""

    _fields_ = (
        ("ino", Ulong),
        ("generation", Ulong),
        ("attr", Stat),
        ("_tail", C.c_char * (stat_bytes(platform.machine()) - C.sizeof(Stat))),
        ("attr_timeout", C.c_double),
        ("entry_timeout", C.c_double),
    )


STAT_FIELDS = struct.Struct(_STAT_FIELDS[platform.machine()])
"""Writes what a mount tells of a ``struct stat`` in one call, where ctypes takes one for each field."""
LINKS_COME_FIRST = Stat.st_nlink.offset < Stat.st_mode.offset
DIRECTORY_ENTRY = struct.Struct("=QQII")
"""``struct fuse_dirent`` before the name: inode, offset of the next, length of the name, type. Padded to 8 bytes."""


class Arguments(C.Structure):
    """``struct fuse_args``."""

    _fields_ = (("argc", C.c_int), ("argv", C.POINTER(Text)), ("allocated", C.c_int))


class Forgotten(C.Structure):
    """``struct fuse_forget_data``."""

    _fields_ = (("nodeid", C.c_uint64), ("nlookup", C.c_uint64))


class Connection(C.Structure):
    """``struct fuse_conn_info``."""

    _fields_ = (
        ("proto_major", C.c_uint),
        ("proto_minor", C.c_uint),
        ("async_read", C.c_uint),
        ("max_write", C.c_uint),
        ("max_readahead", C.c_uint),
        ("capable", C.c_uint),
        ("want", C.c_uint),
        ("max_background", C.c_uint),
        ("congestion_threshold", C.c_uint),
        ("reserved", C.c_uint * 23),
    )


class Statistics(C.Structure):
    """``struct statvfs``; fusepy's lacks the tail that C code may write."""

    _fields_ = (("head", fuse.c_statvfs), ("_spare", C.c_int * 6))


class Context(C.Structure):
    """``struct fuse_ctx``: who asks."""

    _fields_ = (("uid", C.c_uint), ("gid", C.c_uint), ("pid", C.c_int), ("umask", C.c_uint))


_Info = C.POINTER(FileInfo)


def _slot(*arguments: Foreign) -> Foreign:
    return C.CFUNCTYPE(None, *arguments)


SLOTS: tuple[tuple[str, Foreign], ...] = (
    # struct fuse_lowlevel_ops in its order. Pointer: a callback that is never given, which libfuse answers ENOSYS.
    ("init", _slot(Pointer, C.POINTER(Connection))),
    ("destroy", Pointer),
    ("lookup", _slot(Pointer, Ulong, Text)),
    ("forget", _slot(Pointer, Ulong, Ulong)),
    ("getattr", _slot(Pointer, Ulong, _Info)),
    ("setattr", _slot(Pointer, Ulong, C.POINTER(Stat), C.c_int, _Info)),
    ("readlink", Pointer),
    ("mknod", _slot(Pointer, Ulong, Text, C.c_uint, C.c_uint64)),
    ("mkdir", _slot(Pointer, Ulong, Text, C.c_uint)),
    ("unlink", _slot(Pointer, Ulong, Text)),
    ("rmdir", _slot(Pointer, Ulong, Text)),
    ("symlink", _slot(Pointer, Text, Ulong, Text)),
    ("rename", _slot(Pointer, Ulong, Text, Ulong, Text)),
    ("link", _slot(Pointer, Ulong, Ulong, Text)),
    ("open", _slot(Pointer, Ulong, _Info)),
    ("read", _slot(Pointer, Ulong, C.c_size_t, Offset, _Info)),
    ("write", _slot(Pointer, Ulong, Pointer, C.c_size_t, Offset, _Info)),
    ("flush", Pointer),
    ("release", _slot(Pointer, Ulong, _Info)),
    ("fsync", _slot(Pointer, Ulong, C.c_int, _Info)),
    ("opendir", _slot(Pointer, Ulong, _Info)),
    ("readdir", _slot(Pointer, Ulong, C.c_size_t, Offset, _Info)),
    ("releasedir", Pointer),
    ("fsyncdir", _slot(Pointer, Ulong, C.c_int, _Info)),
    ("statfs", _slot(Pointer, Ulong)),
    ("setxattr", Pointer),
    ("getxattr", Pointer),
    ("listxattr", Pointer),
    ("removexattr", Pointer),
    ("access", Pointer),
    ("create", _slot(Pointer, Ulong, Text, C.c_uint, _Info)),
    ("getlk", Pointer),
    ("setlk", Pointer),
    ("bmap", Pointer),
    ("ioctl", Pointer),
    ("poll", Pointer),
    ("write_buf", Pointer),
    ("retrieve_reply", Pointer),
    ("forget_multi", _slot(Pointer, C.c_size_t, C.POINTER(Forgotten))),
    ("flock", Pointer),
    ("fallocate", Pointer),
)


class Operations(C.Structure):
    """``struct fuse_lowlevel_ops``."""

    _fields_ = SLOTS


def _declared(name: str, arguments: list[Foreign], result: Foreign = C.c_int) -> Callable[..., int]:
    function: Foreign = getattr(fuse._libfuse, name)  # noqa: SLF001  (the handle of the library that fusepy loaded)
    function.argtypes, function.restype = arguments, result
    return cast("Callable[..., int]", function)


request_context: Foreign = _declared("fuse_req_ctx", [Pointer], C.POINTER(Context))
reply_err = _declared("fuse_reply_err", [Pointer, C.c_int])
reply_none = _declared("fuse_reply_none", [Pointer], None)
reply_entry = _declared("fuse_reply_entry", [Pointer, Pointer])
reply_create = _declared("fuse_reply_create", [Pointer, Pointer, _Info])
reply_attr = _declared("fuse_reply_attr", [Pointer, Pointer, C.c_double])
reply_open = _declared("fuse_reply_open", [Pointer, _Info])
reply_write = _declared("fuse_reply_write", [Pointer, C.c_size_t])
reply_buf = _declared("fuse_reply_buf", [Pointer, Pointer, C.c_size_t])
reply_statfs = _declared("fuse_reply_statfs", [Pointer, Pointer])

notify_inval_inode = _declared("fuse_lowlevel_notify_inval_inode", [Pointer, Ulong, Offset, Offset])
notify_inval_entry = _declared("fuse_lowlevel_notify_inval_entry", [Pointer, Ulong, Text, C.c_size_t])

mount = _declared("fuse_mount", [Text, Pointer], Pointer)
unmount = _declared("fuse_unmount", [Text, Pointer], None)
session_new = _declared("fuse_lowlevel_new", [Pointer, Pointer, C.c_size_t, Pointer], Pointer)
session_add_chan = _declared("fuse_session_add_chan", [Pointer, Pointer], None)
session_loop = _declared("fuse_session_loop", [Pointer])
session_exit = _declared("fuse_session_exit", [Pointer], None)
session_destroy = _declared("fuse_session_destroy", [Pointer], None)
