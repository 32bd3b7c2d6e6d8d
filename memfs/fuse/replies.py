"""The answers to the kernel: each fills its C structure and calls one ``fuse_reply_*``, as its last step.

So an exception in here means that nothing was answered yet. Attributes and names are cached without end: what changes
behind the kernel's back is invalidated. Used by `operations`.

Threading: the structures are made once and used again by the session's thread alone.
"""

import ctypes as C  # noqa: N812  (the letter every binding uses)
import struct
from collections.abc import Iterable

from memfs.fuse import structures as lib
from memfs.vfs.values import Attributes, DirectoryEntry, Statistics

FOREVER_S = 3600.0 * 24 * 365
BLOCK_BYTES = 4096
LISTING_BYTES = 128 * 1024
_NS = 1_000_000_000
_NODEID, _ATTR = struct.Struct("=Q"), lib.Entry.attr.offset


class Replies:
    """Every kind of answer; each returns libfuse's status: negative when the kernel no longer waits for it."""

    def __init__(self) -> None:
        self._entry = lib.Entry(attr_timeout=FOREVER_S, entry_timeout=FOREVER_S)
        self._absent = lib.Entry(entry_timeout=FOREVER_S)  # ino 0: the kernel remembers that there is no such name
        self._entry_at, self._absent_at = C.addressof(self._entry), C.addressof(self._absent)
        self._attr_at = self._entry_at + lib.Entry.attr.offset
        self._listing = bytearray(LISTING_BYTES)
        self._listing_at = C.addressof(C.c_char.from_buffer(self._listing))

    def entry(self, req: int, attributes: Attributes | None) -> int:
        """Answer a name: its node, or None for a name that is known to be absent."""
        if attributes is None:
            return lib.reply_entry(req, self._absent_at)
        self._fill(attributes)
        return lib.reply_entry(req, self._entry_at)

    def attributes(self, req: int, attributes: Attributes) -> int:
        """Answer what a node is like."""
        self._fill(attributes)
        return lib.reply_attr(req, self._attr_at, FOREVER_S)

    def created(self, req: int, result: tuple[Attributes, lib.Foreign]) -> int:
        """Answer a file that was made and opened at once."""
        attributes, info = result
        self._fill(attributes)
        return lib.reply_create(req, self._entry_at, info)

    def listing(self, req: int, result: tuple[int, Iterable[DirectoryEntry]]) -> int:
        """Answer as many entries as fit into the size that the kernel asked for."""
        size, entries = result
        size = min(size, LISTING_BYTES)
        buffer, pack, head, position = self._listing, lib.DIRECTORY_ENTRY.pack_into, lib.DIRECTORY_ENTRY.size, 0
        for name, inode, mode, cookie in entries:
            start = position + head
            end = start + len(name)
            after = end + -end % 8
            if after > size:
                break
            pack(buffer, position, inode, cookie, len(name), mode >> 12)
            buffer[start:after] = name.ljust(after - start, b"\0")
            position = after
        return lib.reply_buf(req, self._listing_at, position)

    def statistics(self, req: int, found: Statistics) -> int:
        """Answer how full it is."""
        answer = lib.Statistics()
        head = answer.head
        head.f_bsize = head.f_frsize = found.block_size
        head.f_blocks, head.f_bfree, head.f_bavail = found.blocks, found.blocks_free, found.blocks_available
        head.f_files, head.f_ffree, head.f_favail = found.files, found.files_free, found.files_free
        head.f_namemax = found.name_max
        return lib.reply_statfs(req, C.addressof(answer))

    def _fill(self, attributes: Attributes) -> None:
        nodeid, inode, mode, links, size, uid, gid, atime_ns, mtime_ns, ctime_ns, blocks = attributes
        first, second = (links, mode) if lib.LINKS_COME_FIRST else (mode, links)
        _NODEID.pack_into(self._entry, 0, nodeid)
        lib.STAT_FIELDS.pack_into(
            self._entry, _ATTR, inode, first, second, uid, gid, size, BLOCK_BYTES, blocks,
            *divmod(atime_ns, _NS), *divmod(mtime_ns, _NS), *divmod(ctime_ns, _NS),
        )  # fmt: skip


def content(req: int, found: bytes) -> int:
    """Answer bytes of a file."""
    return lib.reply_buf(req, found, len(found))


def written(req: int, count: int) -> int:
    """Answer how many bytes were taken."""
    return lib.reply_write(req, count)


def opened(req: int, info: lib.Foreign) -> int:
    """Answer a handle."""
    return lib.reply_open(req, info)


def done(req: int, _nothing: None) -> int:
    """Answer that it is done."""
    return lib.reply_err(req, 0)


def nothing(req: int, _nothing: None) -> int:
    """Give a request back that wants no answer."""
    lib.reply_none(req)
    return 0
