"""What all operations of a mount share: its rules, its inode table, its descriptors and its stores.

Each group of operations (`entries`, `renames`, `contents`, `pulls`, `attaching`) gets the one `Mounted`. Everything
here is used under the mutation lock.
"""

import errno
import os
import stat
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from memfs.core.errors import StoreReadOnly
from memfs.state.layout import Layout
from memfs.tree.descent import leads_nowhere
from memfs.vfs import modes
from memfs.vfs.descriptors import Descriptors
from memfs.vfs.nodes import Node, NodeTable, children_of
from memfs.vfs.policy import Policy
from memfs.vfs.store import ServedStore
from memfs.vfs.values import Attributes, InvalidateEntry, InvalidateInode, Notice, Ownership

_ROOT_BITS, _STORE_BITS = 0o555, 0o777


def no_such_entry() -> OSError:
    """Return ENOENT."""
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))


@dataclass(slots=True, kw_only=True)
class Mounted:
    """The state of a mount, and the small questions that every operation asks."""

    layout: Layout
    policy: Policy
    ownership: Ownership
    clock_ns: Callable[[], int]
    """Measures how long ago a write was; it never goes back."""
    tell: Callable[[Notice], None]
    """Hands a notice to the thread that sends it; never waits."""
    descriptors: Descriptors
    table: NodeTable
    stores: dict[str, ServedStore] = field(default_factory=dict)
    """By store id, in the order of the mount."""
    root_changed_ns: int = 0
    """The time that the mount's root shows."""
    kernel_holds: frozenset[str] = frozenset()
    """The slugs of the stores that the kernel, too, refuses to change."""
    outdated: Counter[bytes] = field(default_factory=Counter)
    """How often each text of ``.memfs`` became another: who follows the name sees another file."""

    def directory(self, nodeid: int) -> Node:
        """Return a directory of a store that programs may change.

        Raises:
            StoreReadOnly: It is the root, or in a store that they may not change.
            OSError: ENOTDIR, ESTALE.
        """
        node = self.table.get(nodeid)
        children_of(node)
        self.store_of(node).check_writable()
        return node

    def store_of(self, node: Node) -> ServedStore:
        """Return the store a node is in.

        Raises:
            StoreReadOnly: It is in none: the root, and what is in ``.memfs``, are read-only.
        """
        if node.store is None:
            raise StoreReadOnly("the mount's root and .memfs are read-only", remedy="Write into a store's directory")
        return node.store

    def known(self, parent: Node, name: bytes, found: os.stat_result) -> Node:
        """Return the node of what is found under ``name``, a new one where the kernel knows none.

        Raises:
            FileNotFoundError: It is neither a file nor a directory: nothing else is shown.
        """
        node = children_of(parent).get(name)
        if node is not None:
            if node.inode == found.st_ino:
                return node
            self.unlinked(node)
        is_directory = stat.S_ISDIR(found.st_mode)
        if not is_directory and not stat.S_ISREG(found.st_mode):
            raise no_such_entry()
        return self.table.add(parent, name, inode=found.st_ino, store=self.store_of(parent), is_directory=is_directory)

    def stat(self, node: Node) -> os.stat_result:
        """Return what the backing entry of a node is like."""
        if node.descriptor >= 0 or node.parent is None or not node.linked:
            return os.fstat(self.descriptors.of(node))
        return os.stat(node.name, dir_fd=self.descriptors.of(node.parent), follow_symlinks=False)

    def describe(self, node: Node) -> Attributes:
        """Return what programs see of a node."""
        return self._root() if node.store is None else self.attributes(node, self.stat(node))

    def attributes(self, node: Node, found: os.stat_result) -> Attributes:
        """Return what programs see of a node of which ``found`` is the backing entry."""
        store = node.store
        # A store's own directory is private in the state; who may enter it here is the mount's to say.
        is_top = store is not None and node is store.node
        mode = stat.S_IFDIR | _STORE_BITS & ~self.ownership.umask if is_top else modes.reported(found.st_mode)
        if store is None or not store.is_writable:
            mode &= ~modes.WRITE_BITS
        owner = self.ownership
        return Attributes(
            node.nodeid, found.st_ino, mode, found.st_nlink, found.st_size, owner.uid, owner.gid,
            found.st_atime_ns, found.st_mtime_ns, found.st_ctime_ns, found.st_blocks,
        )  # fmt: skip

    def keep(self, node: Node | None) -> None:
        """Open a node whose path is about to go, if anybody may still ask for its bytes."""
        if node is None or not (node.lookups or node.pins):
            return
        try:
            self.descriptors.of(node)
        except OSError as error:
            if not leads_nowhere(error):
                raise  # Else somebody took it away behind the mount: there is nothing left to keep.

    def unlinked(self, node: Node | None) -> None:
        """Take a node from the path that is gone."""
        if node is not None:
            # What it may hold stays as it is: what its directory is called from now on has nothing to do with it.
            self.policy.is_local_only(node)
            self.table.unlink(node)
            self.descriptors.pin(node)

    def superseded(self, node: Node, inode: int) -> None:
        """Put a new node in the place of one whose path a pull gave to another file."""
        self.table.supersede(node, inode)
        self.descriptors.pin(node)

    def tell_entry(self, parent: Node, name: bytes) -> None:
        """Have the kernel forget a name that changed behind its back, and what it knows of the directory.

        Never used for the root: a name there is forgotten only when it stands for another store (`attaching`).
        """
        if parent.lookups:
            self.tell(InvalidateEntry(parent.nodeid, name))
            self.tell(InvalidateInode(parent.nodeid))

    def _root(self) -> Attributes:
        mode = stat.S_IFDIR | _ROOT_BITS & ~self.ownership.umask
        when = self.root_changed_ns
        root = self.table.root
        links = 3 + len(self.stores)  # .memfs is one
        return Attributes(
            root.nodeid, root.inode, mode, links, 0, self.ownership.uid, self.ownership.gid, when, when, when, 0
        )
