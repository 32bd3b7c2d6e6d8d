"""The inode table: which entry a nodeid is, for as long as the kernel knows it.

A node hangs in its parent under its name, so that renaming a directory moves everything below it. It is *linked*, or
*unlinked* (removed or replaced by a program: its bytes live on in its descriptor), or *superseded* by the node that a
pull put at its path. Nodeids are never reused. Used under the mutation lock.
"""

import errno
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from memfs.vfs.values import ROOT

if TYPE_CHECKING:
    from memfs.vfs.listing import Listing
    from memfs.vfs.store import ServedStore

CLOSED = -1


class Node:
    """One entry. ``children`` is None for a file; of a directory, it holds those that have a node."""

    __slots__ = (
        "children", "descriptor", "inode", "late", "lates", "linked", "listing", "listing_is_fresh", "local_only",
        "lookups", "name", "nodeid", "parent", "pins", "store", "successor",
    )  # fmt: skip

    def __init__(
        self,
        nodeid: int,
        parent: "Node | None",
        name: bytes,
        *,
        inode: int,
        store: "ServedStore | None",
        is_directory: bool,
    ) -> None:
        self.nodeid = nodeid
        self.parent = parent
        self.name = name
        self.inode = inode
        self.store = store
        self.children: dict[bytes, Node] | None = {} if is_directory else None
        self.lookups = 0
        self.pins = 0
        """Who needs it besides the kernel: its store, and the nodes that it superseded."""
        self.linked = True
        self.successor: Node | None = None
        self.descriptor = CLOSED
        self.late = CLOSED
        """A file in trash that takes what is still written through a superseded node."""
        self.lates = 0
        """How many there have been."""
        self.local_only: bool | None = None
        """None until somebody asked (`memfs.vfs.policy`)."""
        self.listing: Listing | None = None
        self.listing_is_fresh = False

    def relative(self) -> bytes:
        """Return the path below the tree, ``b"a/b.md"``; of an unlinked node, the one it had."""
        names = []
        node = self
        while node.parent is not None and node.parent.nodeid != ROOT:
            names.append(node.name)
            node = node.parent
        return b"/".join(reversed(names))

    def relative_of(self, name: bytes) -> bytes:
        """Return the path of ``name`` in this directory."""
        above = self.relative()
        return above + b"/" + name if above else name

    def place_of(self, name: bytes) -> bytes:
        """Return where ``name`` in this directory is, from the mount's root."""
        names = [name]
        node = self
        while node.parent is not None:
            names.append(node.name)
            node = node.parent
        return b"/".join(reversed(names))

    def current(self) -> "Node":
        """Return the node that is now where this one was before pulls superseded it."""
        node = self
        while node.successor is not None:
            node = node.successor
        return node


Made = TypeVar("Made", bound=Node)


class NodeTable:
    """All nodes of a mount.

    Args:
        dropped: Told of each node that nobody knows any longer, to close what it holds.
    """

    def __init__(self, dropped: Callable[[Node], None]) -> None:
        self.root = Node(ROOT, None, b"", inode=ROOT, store=None, is_directory=True)
        self._nodes = {ROOT: self.root}
        self._next = ROOT + 1
        self._dropped = dropped

    def __len__(self) -> int:
        """Return how many nodes there are: the mount's root, the stores', and what the kernel knows below."""
        return len(self._nodes)

    def get(self, nodeid: int) -> Node:
        """Return the node the kernel means.

        Raises:
            OSError: ESTALE: the nodeid is unknown.
        """
        node = self._nodes.get(nodeid)
        if node is None:
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        return node

    def add(self, parent: Node, name: bytes, *, inode: int, store: "ServedStore", is_directory: bool) -> Node:
        """Return a new node under ``name``, where no node is."""
        node = Node(self._next, parent, name, inode=inode, store=store, is_directory=is_directory)
        self._next += 1
        self._nodes[node.nodeid] = node
        children_of(parent)[name] = node
        return node

    def enter(self, make: "Callable[[int], Made]") -> "Made":
        """Return a node of another kind, made for the nodeid that it is given, under its name, where no node is."""
        node = make(self._next)
        self._next += 1
        self._nodes[node.nodeid] = node
        if node.parent is not None:
            children_of(node.parent)[node.name] = node
        return node

    def forget(self, nodeid: int, lookups: int) -> None:
        """Give back ``lookups`` of the kernel's; unknown nodeids are nobody's."""
        node = self._nodes.get(nodeid)
        if node is not None and node is not self.root:
            node.lookups = max(0, node.lookups - lookups)
            self._collect(node)

    def unlink(self, node: Node) -> None:
        """Take a node from its path; whoever still knows it keeps what its descriptor holds."""
        parent = node.parent
        if parent is None or not node.linked:
            return
        del children_of(parent)[node.name]
        node.linked = False
        self._collect(node)
        self._collect(parent)

    def supersede(self, node: Node, inode: int) -> Node:
        """Put a new node in the place of ``node`` and return it."""
        parent, store = node.parent, node.store
        if parent is None or store is None:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        successor = self.add(parent, node.name, inode=inode, store=store, is_directory=False)
        successor.pins += 1
        node.linked = False
        node.successor = successor
        self._collect(node)
        return successor

    def move(self, node: Node, parent: Node, name: bytes) -> None:
        """Hang a node, and with it all below it, elsewhere; nothing has a node there."""
        before = node.parent
        if before is None:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        del children_of(before)[node.name]
        children_of(parent)[name] = node
        node.parent, node.name = parent, name
        node.local_only = None
        if node.children:
            for moved in below(node):
                moved.local_only = None
        self._collect(before)

    def release(self, node: Node) -> None:
        """Take one pin from a node."""
        node.pins -= 1
        self._collect(node)

    def uproot(self, top: Node) -> list[Node]:
        """Unlink a node and everything below it; return those that the kernel still knows."""
        nodes = list(below(top))
        for node in nodes:
            node.linked = False
            if node.children is not None:
                node.children = {}
        for node in nodes:
            self._collect(node)
        return [node for node in nodes if self._nodes.get(node.nodeid) is node]

    def _collect(self, node: Node) -> None:
        """Drop a node that nobody needs, and then what only it needed."""
        while node.lookups == 0 and node.pins == 0 and not node.children and self._nodes.get(node.nodeid) is node:
            parent = node.parent
            if parent is None:
                return
            del self._nodes[node.nodeid]
            self._dropped(node)
            if node.successor is not None:
                self.release(node.successor)
            if not node.linked:
                return
            del children_of(parent)[node.name]
            node = parent


def children_of(node: Node) -> dict[bytes, Node]:
    """Return the nodes below a directory by name.

    Raises:
        NotADirectoryError: It is a file.
    """
    if node.children is None:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    return node.children


def below(node: Node) -> Iterator[Node]:
    """Yield ``node`` and every linked node below it."""
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        pending.extend((current.children or {}).values())
