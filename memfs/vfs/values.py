"""What the binding and the file-system semantics tell each other: plain values, made once per request.

Nodeids are the kernel's names of entries (1 is the root, never reused); names are bytes as the kernel sends them.
"""

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from memfs.core.attachment import Attachment
from memfs.state.layout import StoreLayout

ROOT = 1
"""The nodeid of the mount's root."""


class Attributes(NamedTuple):
    """What ``stat`` shows of an entry, and the nodeid by which the kernel asks for it."""

    nodeid: int
    inode: int
    mode: int
    nlink: int
    size: int
    uid: int
    gid: int
    atime_ns: int
    mtime_ns: int
    ctime_ns: int
    blocks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAttributes:
    """What a program wants changed; None leaves it as it is. "Now" is resolved before."""

    mode: int | None = None
    uid: int | None = None
    gid: int | None = None
    size: int | None = None
    atime_ns: int | None = None
    mtime_ns: int | None = None


class DirectoryEntry(NamedTuple):
    """One name of a directory; ``cookie`` is the offset that continues after it."""

    name: bytes
    inode: int
    mode: int
    cookie: int


class Statistics(NamedTuple):
    """What ``statvfs`` shows: blocks of the disk below, files as memories of the store."""

    block_size: int
    blocks: int
    blocks_free: int
    blocks_available: int
    files: int
    files_free: int
    name_max: int


class InvalidateEntry(NamedTuple):
    """The kernel must forget what ``name`` in the directory ``parent`` is."""

    parent: int
    name: bytes


class InvalidateInode(NamedTuple):
    """The kernel must forget attributes and cached content of the entry."""

    nodeid: int


Invalidation = InvalidateEntry | InvalidateInode


class Event(Enum):
    """What a pull did to an entry, as programs that watch its directory hear of it."""

    EDITED = "edited"
    MADE = "made"
    MADE_DIRECTORY = "made directory"


class Announcement(NamedTuple):
    """Programs that watch the mount must hear of the entry at ``path``, below the mount's root."""

    path: bytes
    event: Event


Notice = Invalidation | Announcement
"""What a pull has the binding do, in this order: the kernel forgets, then programs hear of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MountedStore:
    """A store that the mount serves, and where its files are."""

    attachment: Attachment
    layout: StoreLayout


@dataclass(frozen=True, slots=True, kw_only=True)
class Ownership:
    """Who owns everything in the mount, and the bits that new entries go without."""

    uid: int
    gid: int
    umask: int
