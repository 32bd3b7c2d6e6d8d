"""Operations on what is in a file, and on its attributes: read, write, truncate, fsync, chmod, times.

A node says itself whose bytes it stands for, so handles carry nothing: an open file pins its node in the kernel, and
that is all. Used by `FileSystem` under the mutation lock.
"""

import errno
import os

from memfs.core.errors import MemfsError
from memfs.tree.atomic import write_all
from memfs.tree.local import identity_of
from memfs.tree.trash import make_in_trash, trash_name
from memfs.vfs import modes
from memfs.vfs.mounted import Mounted
from memfs.vfs.nodes import CLOSED, Node
from memfs.vfs.shown.node import piece
from memfs.vfs.shown.outdating import edited
from memfs.vfs.store import ServedStore
from memfs.vfs.text import refuse_impossible, refuse_incomplete
from memfs.vfs.values import Attributes, InvalidateInode, SetAttributes

_LATES = 64
"""How many files in trash one superseded file may have: a program that never gives up fills no disk."""


class Contents:
    """The contents of one mount's files."""

    def __init__(self, mounted: Mounted) -> None:
        self._mounted = mounted
        self._table = mounted.table
        self._descriptors = mounted.descriptors
        self._policy = mounted.policy

    def check_open(self, nodeid: int, flags: int) -> None:
        """Check that the node may be opened so.

        Raises:
            StoreReadOnly: For writing, in a store that programs may not change.
            OSError: ESTALE: for writing, a file that a pull superseded: the kernel looks its path up again.
        """
        node = self._table.get(nodeid)
        if flags & os.O_ACCMODE == os.O_RDONLY:
            return  # Who came a moment too late reads the displaced bytes, as one who opened a moment earlier.
        self._mounted.store_of(node).check_writable()
        if node.successor is not None:
            raise _stale()

    def read(self, nodeid: int, size: int, offset: int) -> bytes:
        """Return at most ``size`` bytes; of a superseded file, the displaced ones."""
        node = self._table.get(nodeid)
        if node.store is None:
            return piece(node, size, offset)
        return os.pread(self._descriptors.of(node), size, offset)

    def write(self, nodeid: int, content: bytes, offset: int, flags: int) -> int:
        """Write at ``offset``, or with O_APPEND at the end of the path's current file; return the number of bytes."""
        node = self._table.get(nodeid)
        try:
            self._write(node, content, offset, flags)
        except (OSError, MemfsError):
            # What came through a shared mapping stays in the kernel's cache, though it was refused.
            self._mounted.tell(InvalidateInode(nodeid))
            raise
        return len(content)

    def _write(self, node: Node, content: bytes, offset: int, flags: int) -> None:
        store = self._mounted.store_of(node)
        if not store.is_writable:
            store.check_writable()
        if store.shown:
            edited(self._mounted, store, node.current().inode)
        if node.successor is not None:
            self._write_superseded(store, node, content, offset, flags)
        elif flags & os.O_APPEND:
            self._append(store, node, content, offset)
        else:
            descriptor = self._descriptors.of(node)
            self._check(node, content, offset + len(content))
            store.writes.changed(node.inode, self._mounted.clock_ns())
            write_all(descriptor, content, offset)

    def fsync(self, nodeid: int, *, datasync: bool) -> None:
        """Make a file, or the names of a directory, durable; say then whether it is complete text."""
        node = self._table.get(nodeid)
        if node.store is None:
            return
        descriptor = self._descriptors.of(node)
        (os.fdatasync if datasync else os.fsync)(descriptor)
        if node.successor is not None:
            os.fsync(self._descriptors.of(node.current()))
        elif node.children is None and node.store.is_writable and not self._policy.is_local_only(node):
            refuse_incomplete(os.pread(descriptor, self._policy.limits.memory_bytes, 0), "the file")

    def setattr(self, nodeid: int, change: SetAttributes) -> Attributes:
        """Change size, bits and times; an owner is accepted and not kept."""
        node = self._table.get(nodeid)
        store = self._mounted.store_of(node)
        store.check_writable()
        if store.shown:
            edited(self._mounted, store, node.current().inode)
        if change.size is not None:
            self._truncate(store, node, self._descriptors.of(node), change.size)
        if node.successor is not None:
            # A program that names the path means its current file, which the kernel may not have met yet.
            current = node.current()
            self._set(current, change)
            self._mounted.tell(InvalidateInode(current.nodeid))
        return self._mounted.attributes(node, self._set(node, change))

    def _set(self, node: Node, change: SetAttributes) -> os.stat_result:
        """Change bits and times of a node's own file."""
        descriptor = self._descriptors.of(node)
        if change.mode is not None:
            os.fchmod(descriptor, modes.backing(change.mode, is_directory=node.children is not None))
        found = os.fstat(descriptor)
        if change.atime_ns is None and change.mtime_ns is None:
            return found
        atime = found.st_atime_ns if change.atime_ns is None else change.atime_ns
        mtime = found.st_mtime_ns if change.mtime_ns is None else change.mtime_ns
        os.utime(descriptor, ns=(atime, mtime))
        return os.fstat(descriptor)

    def _check(self, node: Node, content: bytes, end: int) -> None:
        """Refuse bytes that a memory cannot hold."""
        if not self._policy.is_local_only(node):
            self._policy.check_size(end)
            refuse_impossible(content)

    def _truncate(self, store: ServedStore, node: Node, descriptor: int, size: int) -> None:
        if node.successor is not None:
            raise _stale()
        if node.children is not None:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not self._policy.is_local_only(node):
            self._policy.check_size(size)
        store.writes.changed(node.inode, self._mounted.clock_ns())
        os.ftruncate(descriptor, size)

    def _append(self, store: ServedStore, node: Node, content: bytes, believed: int) -> None:
        """Write at the end; where the kernel believes the end to be elsewhere, have it look again."""
        descriptor = self._descriptors.of(node)
        before = identity_of(os.fstat(descriptor))
        self._check(node, content, before.size + len(content))
        store.writes.appending(before)
        write_all(descriptor, content, before.size)
        if before.size != believed and node.lookups:
            self._mounted.tell(InvalidateInode(node.nodeid))

    def _write_superseded(self, store: ServedStore, node: Node, content: bytes, offset: int, flags: int) -> None:
        """Append to the file that a pull put in this one's place; keep any other bytes, and refuse them."""
        if not flags & os.O_APPEND:
            self._keep_late(store, node, content, offset)
            raise _stale()
        self._append(store, node.current(), content, believed=-1)
        # The writer's own node shows it too, where the kernel believes that it is.
        write_all(self._descriptors.of(node), content, offset)

    def _keep_late(self, store: ServedStore, node: Node, content: bytes, offset: int) -> None:
        """Keep the displaced file in trash with what is still written to it.

        Whoever is refused writes again, and what it read meanwhile is without its first bytes: so where they would be
        written over, another file begins.
        """
        displaced = self._descriptors.of(node)
        if node.late >= 0 and node.lates < _LATES and _loses(node.late, displaced, content, offset):
            os.close(node.late)
            node.late = CLOSED
        if node.late < 0:
            found = os.fstat(displaced)
            name = trash_name(os.fsdecode(b"/" + node.relative()), found.st_mtime_ns)
            node.late = make_in_trash(store.places.trash, name)
            node.lates += 1
            write_all(node.late, os.pread(displaced, found.st_size, 0), 0)
        write_all(node.late, content, offset)


def _loses(late: int, displaced: int, content: bytes, offset: int) -> bool:
    """Tell whether writing would put other bytes over some that are kept in ``late`` alone."""
    kept = os.pread(late, len(content), offset)
    before = os.pread(displaced, len(content), offset)
    if before.startswith(kept) or content.startswith(kept):
        return False
    return any(
        was != new and (at >= len(before) or was != before[at])
        for at, (was, new) in enumerate(zip(kept, content, strict=False))
    )


def _stale() -> OSError:
    return OSError(errno.ESTALE, os.strerror(errno.ESTALE))
