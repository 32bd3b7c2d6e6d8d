"""Nodes of ``.memfs/``: entries of the inode table that are in no store, so that every change of them is EROFS.

A file has its text from its first look-up until the kernel forgets it. Where the text changes, the name gets another
node: whoever has the old one open reads the old text to its end, at the size that the kernel was told.
"""

import errno
import os
from enum import Enum
from hashlib import blake2b

from memfs.vfs.nodes import Node
from memfs.vfs.store import ServedStore

_INODES_FROM = 1 << 52
"""Above every inode of the disks below, and exact where a program takes numbers for doubles."""


class Part(Enum):
    """What an entry of ``.memfs`` is."""

    TOP = b".memfs"
    README = b"README.md"
    STATUS = b"status.json"
    CONFLICTS = b"conflicts"
    INFO = b"info"
    DIRECTORY = b"info/STORE"
    """A directory of a store's tree, its top included."""
    MEMORY = b"info/STORE/PATH"
    """A file of a store's tree."""


TEXTS = {part.value: part for part in (Part.README, Part.STATUS, Part.CONFLICTS)}
_DIRECTORIES = frozenset({Part.TOP, Part.INFO, Part.DIRECTORY})


class ShownNode(Node):
    """One entry of ``.memfs/``."""

    __slots__ = ("backing", "content", "mode", "part", "source", "when_ns")

    def __init__(
        self,
        nodeid: int,
        parent: Node,
        name: bytes,
        *,
        inode: int,
        part: Part,
        source: ServedStore | None = None,
    ) -> None:
        super().__init__(nodeid, parent, name, inode=inode, store=None, is_directory=part in _DIRECTORIES)
        self.part = part
        self.source = source
        """The store whose tree it shows, None for what tells of all."""
        self.backing = 0
        """The inode of the entry of the tree that it tells of."""
        self.content = b""
        self.mode = 0
        self.when_ns = 0

    def below_tree(self, *names: bytes) -> bytes:
        """Return the path below the store's tree of what this entry, or a name in it, tells of: ``b"a/b.md"``."""
        whole = b"/".join((self.relative(), *names))
        return whole.partition(b"/")[2].partition(b"/")[2]


def place_of(parent: Node, source: ServedStore | None) -> bytes:
    """Return where the names of a directory are, for their inodes: by the id of the store that it shows."""
    return (source.store_id.encode() if source else b"") + b"/" + parent.relative()


def inode_of(place: bytes, name: bytes, change: int = 0) -> int:
    """Return the inode of a name: the same in each mount and after each restart, another after each ``change``."""
    whole = b"%b/%b/%d" % (place, name, change)
    return _INODES_FROM | int.from_bytes(blake2b(whole, digest_size=8).digest()) >> 12


def piece(node: Node, size: int, offset: int) -> bytes:
    """Return at most ``size`` bytes of a file of ``.memfs/``.

    Raises:
        IsADirectoryError: It is a directory.
    """
    if not isinstance(node, ShownNode) or node.children is not None:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    return node.content[offset : offset + size]
