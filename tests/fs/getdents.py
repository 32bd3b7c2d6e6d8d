"""List a directory as the kernel does, with a buffer of any size: Python's own takes thousands of names at once."""

import ctypes
import errno
import os
import struct
from collections.abc import Iterator
from typing import NamedTuple

DIRECTORY, REGULAR = 4, 8
"""The types DT_DIR and DT_REG."""
_HEAD = struct.Struct("=QqHB")
_libc = ctypes.CDLL(None, use_errno=True)


class Entry(NamedTuple):
    name: bytes
    inode: int
    kind: int
    cookie: int


def entries(descriptor: int, buffer_bytes: int) -> Iterator[Entry]:
    """Yield what is left to list of an open directory, ``.`` and ``..`` too."""
    buffer = ctypes.create_string_buffer(buffer_bytes)
    while filled := _filled(descriptor, buffer):
        position = 0
        while position < filled:
            inode, cookie, length, kind = _HEAD.unpack_from(buffer, position)
            name = buffer.raw[position + _HEAD.size : position + length].partition(b"\0")[0]
            yield Entry(name, inode, kind, cookie)
            position += length


def _filled(descriptor: int, buffer: "ctypes.Array[ctypes.c_char]") -> int:
    found: int = _libc.getdents64(descriptor, buffer, ctypes.c_size_t(len(buffer)))
    if found < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), errno.errorcode[number])
    return found
