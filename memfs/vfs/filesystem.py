"""File-system semantics as the kernel asks for them; `memfs.fuse` is the only caller.

The session thread calls the operations, the socket thread `apply`. Each takes the one mutation lock here and nowhere
else, so that what lies below knows no threads. Operations raise OSError or MemfsError; both carry ``errno``.
"""

import errno
import os
import threading
from collections.abc import Callable, Iterator
from typing import NoReturn, assert_never

from memfs.core.errors import MemfsError
from memfs.core.limits import Limits
from memfs.core.names import Names
from memfs.core.prompt import DEFAULT_MOUNT_POINT
from memfs.core.tree_requests import Answer, Changed, Move, Ping, Refresh, Reload, Remove, Replace, Request
from memfs.state.layout import Layout
from memfs.tree.owner import failed
from memfs.tree.swap import settle
from memfs.vfs.attaching import Attaching, Moving, nothing_moves
from memfs.vfs.contents import Contents
from memfs.vfs.descriptors import Descriptors
from memfs.vfs.entries import Entries
from memfs.vfs.mounted import Mounted
from memfs.vfs.nodes import Node, NodeTable
from memfs.vfs.policy import Policy
from memfs.vfs.pulls import Pulls
from memfs.vfs.renames import Renames
from memfs.vfs.shown.directory import Shown
from memfs.vfs.shown.node import ShownNode
from memfs.vfs.shown.outdating import changed, forget, held
from memfs.vfs.space import statistics
from memfs.vfs.values import (
    Attributes,
    DirectoryEntry,
    MountedStore,
    Notice,
    Ownership,
    SetAttributes,
    Statistics,
)


class FileSystem:
    """The stores attached to a state directory, as one read-only directory of directories.

    It takes ``owner.lock`` of each store for its life.

    Args:
        layout: The state directory; which stores it attaches is read here and at each `Reload`.
        limits: What a store and a memory may hold.
        names: Which names are never synced.
        ownership: Who owns everything, and the bits that new entries go without.
        clock_ns: A clock that never goes back; it measures how long ago a file was written.
        invalidate: Called with what the kernel must forget and programs must hear of, in that order, under the lock: it
            only notes it, and never calls back.
        mount_point: Where programs find it, for the texts of ``.memfs``.

    Raises:
        AlreadyHeld: Another process owns a tree, still after 5 s.
        OSError: A store's directories cannot be opened.
    """

    def __init__(
        self,
        layout: Layout,
        *,
        limits: Limits,
        names: Names,
        ownership: Ownership,
        clock_ns: Callable[[], int],
        invalidate: Callable[[Notice], None],
        mount_point: str = DEFAULT_MOUNT_POINT,
    ) -> None:
        descriptors = Descriptors()

        def dropped(node: Node) -> None:
            descriptors.close(node)
            if node.store is None:
                forget(mounted, node)

        mounted = Mounted(
            layout=layout,
            policy=Policy(limits, names),
            ownership=ownership,
            clock_ns=clock_ns,
            tell=invalidate,
            descriptors=descriptors,
            table=NodeTable(dropped=dropped),
        )
        self._lock = threading.Lock()
        self._mounted = mounted
        self._shown = Shown(mounted, mount_point)
        self._entries = Entries(mounted, self._shown)
        self._renames = Renames(mounted)
        self._contents = Contents(mounted)
        self._pulls = Pulls(mounted)
        self.moving: Moving = nothing_moves
        """Surrounds each change of what names at the root stand for; set before anything is applied."""
        self._attaching = Attaching(mounted)
        self._attaching.load(self._lock)

    @property
    def stores(self) -> list[MountedStore]:
        """The stores that are served, in the order of the mount."""
        with self._lock:
            return [store.served for store in self._mounted.stores.values()]

    @property
    def ownership(self) -> Ownership:
        """Who owns everything in the mount."""
        return self._mounted.ownership

    def kernel_holds(self, slugs: frozenset[str]) -> None:
        """Note which stores the kernel, too, refuses to change: ``.memfs/status.json`` tells it."""
        with self._lock:
            held(self._mounted, slugs)

    def lookup(self, parent: int, name: bytes) -> Attributes:
        """Find a name in a directory, and count one lookup of its node.

        Raises:
            FileNotFoundError: There is none.
        """
        with self._lock:
            return self._entries.lookup(parent, name)

    def forget(self, nodeid: int, nlookup: int) -> None:
        """Give back lookups; with the last, the nodeid means nothing any longer."""
        with self._lock:
            self._mounted.table.forget(nodeid, nlookup)

    def place(self, parent: int, name: bytes) -> bytes:
        """Return where ``name`` in a directory is, from the mount's root: ``b"notes/a.md"``."""
        with self._lock:
            return self._mounted.table.get(parent).place_of(name)

    def getattr(self, nodeid: int) -> Attributes:
        """Tell what a node is like."""
        with self._lock:
            node = self._mounted.table.get(nodeid)
            return self._shown.describe(node) if isinstance(node, ShownNode) else self._mounted.describe(node)

    def setattr(self, nodeid: int, change: SetAttributes, fh: int | None = None) -> Attributes:  # noqa: ARG002  (nodes say it all)
        """Change size, bits and times; EFBIG past a memory's size; an owner is accepted and not kept."""
        with self._lock:
            return self._contents.setattr(nodeid, change)

    def mkdir(self, parent: int, name: bytes, mode: int) -> Attributes:
        """Make a directory, and count one lookup of its node."""
        with self._lock:
            return self._entries.mkdir(parent, name, mode)

    def unlink(self, parent: int, name: bytes) -> None:
        """Remove a file; whoever has it open goes on with its bytes."""
        with self._lock:
            self._entries.unlink(parent, name)

    def rmdir(self, parent: int, name: bytes) -> None:
        """Remove an empty directory."""
        with self._lock:
            self._entries.rmdir(parent, name)

    def rename(self, parent: int, name: bytes, new_parent: int, new_name: bytes) -> None:
        """Give an entry another name in the same store, replacing what is there; checked like a write of all below."""
        with self._lock:
            self._renames.rename(parent, name, new_parent, new_name)

    def create(self, parent: int, name: bytes, mode: int, flags: int) -> tuple[Attributes, int]:
        """Make and open a file, and count one lookup of its node; return it with a handle."""
        with self._lock:
            attributes = self._entries.create(parent, name, mode, flags)
        return attributes, attributes.nodeid

    def open(self, nodeid: int, flags: int) -> int:
        """Return a handle; only where the kernel does not open by itself."""
        with self._lock:
            self._contents.check_open(nodeid, flags)
        return nodeid

    def read(self, nodeid: int, size: int, offset: int, fh: int = 0) -> bytes:  # noqa: ARG002  (nodes say it all)
        """Return at most ``size`` bytes at ``offset``."""
        with self._lock:
            return self._contents.read(nodeid, size, offset)

    def write(self, nodeid: int, content: bytes, offset: int, flags: int, fh: int = 0) -> int:  # noqa: ARG002  (nodes say it all)
        """Write all of ``content``; ``flags`` are those of the program's descriptor.

        Raises:
            ContentTooLarge: EFBIG: more than a memory may hold.
            InvalidContent: EILSEQ: no UTF-8 text, whatever is around it.
            OSError: ESTALE: a pull superseded the node; the bytes are kept in trash.
        """
        with self._lock:
            return self._contents.write(nodeid, content, offset, flags)

    def release(self, nodeid: int, fh: int) -> None:
        """Give a handle back: nothing hangs on it."""

    def flush(self, nodeid: int, fh: int) -> None:
        """Close one of a handle's descriptors: every write is in the backing file already."""

    def fsync(self, nodeid: int, datasync: bool, fh: int = 0) -> None:  # noqa: ARG002  (nodes say it all)
        """Make a file, or the names in a directory, durable.

        Raises:
            InvalidContent: EILSEQ: it is durable, but no complete UTF-8 text.
        """
        with self._lock:
            self._contents.fsync(nodeid, datasync=datasync)

    def readdir(self, nodeid: int, cookie: int) -> Iterator[DirectoryEntry]:
        """List what comes after ``cookie`` (0: all), ``.`` and ``..`` first."""
        with self._lock:
            return self._entries.readdir(nodeid, cookie)

    def statfs(self, nodeid: int) -> Statistics:
        """Tell how full the node's store, and its disk, is."""
        with self._lock:
            return statistics(self._mounted, self._mounted.table.get(nodeid))

    def refuse_special(self, parent: int) -> NoReturn:
        """Refuse links, symbolic links, devices, sockets and pipes: EPERM, or EROFS where nothing may be made."""
        with self._lock:
            self._mounted.directory(parent)
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    def apply(self, request: Request) -> Answer:
        """Do what the worker asks, and have the kernel forget what that makes wrong; a failure is an answer too."""
        try:
            return self._apply(request)
        except (OSError, MemfsError) as error:
            return failed(error)

    def close(self) -> None:
        """Give every store back; nothing may be called afterwards."""
        with self._lock:
            self._attaching.close()

    def _apply(self, request: Request) -> Answer:
        match request:
            case Replace() | Remove() | Move():
                with self._lock:
                    done = self._pulls.perform(request)
                return settle(done)
            case Reload():
                self._attaching.reload(self._lock, self.moving)
                return Answer()
            case Refresh():
                with self._lock:
                    self._attaching.refresh()
                return Answer()
            case Changed(store_id=store_id, paths=paths):
                with self._lock:
                    store = self._mounted.stores.get(store_id)
                    if store is not None:
                        changed(self._mounted, store, paths)
                return Answer()
            case Ping():
                with self._lock:
                    nodes = len(self._mounted.table)
                stores = [one.attachment.store_id for one in self.stores]
                return Answer(facts={"pid": os.getpid(), "stores": stores, "nodes": nodes})
            case _ as never:
                assert_never(never)
