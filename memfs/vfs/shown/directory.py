"""Operations on ``.memfs/``: look up, list, describe. Used by `FileSystem` and `Entries` under the mutation lock.

Below ``info/`` the names are those of the store's tree, and an entry has the bits of what it tells of, without those to
write: who may not read a memory may not read about it either.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from memfs.tree.descent import descend
from memfs.vfs import modes
from memfs.vfs.mounted import Mounted, no_such_entry
from memfs.vfs.nodes import Node, children_of
from memfs.vfs.shown.making import Making, Text
from memfs.vfs.shown.node import TEXTS, Part, ShownNode, inode_of, place_of
from memfs.vfs.shown.outdating import STATUS, outdate
from memfs.vfs.store import ServedStore
from memfs.vfs.values import Attributes

_READABLE, _ENTERABLE = 0o444, 0o555
_BLOCK_BYTES = 512


class Shown:
    """The directory ``.memfs`` of one mount.

    Args:
        mounted: The mount.
        mount_point: Where programs find it.
    """

    def __init__(self, mounted: Mounted, mount_point: str) -> None:
        self._mounted = mounted
        self._making = Making(mounted, mount_point)

    def lookup(self, parent: Node, name: bytes) -> Attributes:
        """Find a name of ``.memfs``, or ``.memfs`` itself at the root, and count the lookup."""
        node, is_certain = self._find(parent, name)
        node.lookups += 1
        attributes = self.describe(node)
        if not is_certain:
            # The kernel forgets it as soon as it has it: the next one who asks may be told more.
            outdate(self._mounted, node)
        return attributes

    def describe(self, node: ShownNode) -> Attributes:
        """Return what programs see of an entry."""
        match node.part:
            case Part.DIRECTORY:
                return self._directory(node)
            case Part.TOP | Part.INFO:
                links = 3 if node.part is Part.TOP else 2 + len(self._mounted.stores)
                mode = stat.S_IFDIR | _ENTERABLE & ~self._mounted.ownership.umask
                return self._attributes(node, mode, links, 0, self._mounted.root_changed_ns)
            case _:
                return self._attributes(node, node.mode, 1, len(node.content), node.when_ns)

    def names(self, node: Node) -> dict[bytes, tuple[int, int]]:
        """Return the names of a directory, the mount's root included, each with its inode and type."""
        children = children_of(node)
        if not isinstance(node, ShownNode):
            known = {name: (child.inode, stat.S_IFDIR) for name, child in children.items() if child.store is not None}
            return known | {Part.TOP.value: (self._inode(node, Part.TOP.value), stat.S_IFDIR)}
        match node.part:
            case Part.TOP:
                kinds = dict.fromkeys(TEXTS, stat.S_IFREG) | {Part.INFO.value: stat.S_IFDIR}
                return {name: (self._inode(node, name), kind) for name, kind in kinds.items()}
            case Part.INFO:
                stores = self._mounted.stores.values()
                return {one.root.name: (self._inode(node, one.root.name, one), stat.S_IFDIR) for one in stores}
            case _:
                return _names_below(node)

    def _find(self, parent: Node, name: bytes) -> tuple[ShownNode, bool]:
        """Return the node of a name, and whether the kernel may keep it."""
        known = children_of(parent).get(name)
        if isinstance(parent, ShownNode) and parent.part is Part.DIRECTORY and parent.source is not None:
            return self._find_below(parent, parent.source, name, known)
        if isinstance(known, ShownNode):
            return known, True
        if not isinstance(parent, ShownNode):
            return self._made(parent, name, _only(name, Part.TOP)), True
        if not parent.linked:
            raise no_such_entry()
        if parent.part is Part.INFO:
            return self._store(parent, name), True
        if name in TEXTS:
            return self._text(parent, TEXTS[name])
        return self._made(parent, name, _only(name, Part.INFO)), True

    def _find_below(
        self, parent: ShownNode, store: ServedStore, name: bytes, known: Node | None
    ) -> tuple[ShownNode, bool]:
        with _opened(parent) as directory:
            found = os.stat(name, dir_fd=directory, follow_symlinks=False)
        if isinstance(known, ShownNode):
            if known.backing == found.st_ino:
                return known, True
            outdate(self._mounted, known)  # Somebody put another entry there behind the mount.
        if stat.S_ISDIR(found.st_mode):
            return self._registered(self._made(parent, name, Part.DIRECTORY, store), store, found.st_ino), True
        if not stat.S_ISREG(found.st_mode):
            raise no_such_entry()
        text = self._making.memory(store, parent.below_tree(name), found)
        node = self._registered(self._made(parent, name, Part.MEMORY, store), store, found.st_ino)
        return _filled(node, text, modes.reported(found.st_mode) & _READABLE), text.is_certain

    def _text(self, parent: ShownNode, part: Part) -> tuple[ShownNode, bool]:
        text = self._making.whole(part)
        node = self._made(parent, part.value, part)
        if part is Part.STATUS:
            for store in self._mounted.stores.values():
                store.shown[STATUS] = node
        return _filled(node, text, _READABLE & ~self._mounted.ownership.umask), text.is_certain

    def _store(self, parent: ShownNode, name: bytes) -> ShownNode:
        for store in self._mounted.stores.values():
            if store.root.name == name:
                return self._registered(self._made(parent, name, Part.DIRECTORY, store), store, store.root.inode)
        raise no_such_entry()

    def _made(self, parent: Node, name: bytes, part: Part, store: ServedStore | None = None) -> ShownNode:
        inode = self._inode(parent, name, store)
        return self._mounted.table.enter(
            lambda nodeid: ShownNode(nodeid, parent, name, inode=inode, part=part, source=store)
        )

    def _registered(self, node: ShownNode, store: ServedStore, backing: int) -> ShownNode:
        node.backing = backing
        store.shown[backing] = node
        return node

    def _inode(self, parent: Node, name: bytes, store: ServedStore | None = None) -> int:
        return inode_of(place_of(parent, store), name, 0 if store else self._mounted.outdated[name])

    def _directory(self, node: ShownNode) -> Attributes:
        with _opened(node) as descriptor:
            found = os.fstat(descriptor)
        is_top = node.source is not None and node.backing == node.source.root.inode
        bits = ~self._mounted.ownership.umask if is_top else modes.reported(found.st_mode)
        return self._attributes(node, stat.S_IFDIR | _ENTERABLE & bits, found.st_nlink, 0, found.st_mtime_ns)

    def _attributes(self, node: ShownNode, mode: int, links: int, size: int, when: int) -> Attributes:
        owner, blocks = self._mounted.ownership, -(-size // _BLOCK_BYTES)
        return Attributes(node.nodeid, node.inode, mode, links, size, owner.uid, owner.gid, when, when, when, blocks)


def _only(name: bytes, part: Part) -> Part:
    """Return the part whose name it is.

    Raises:
        FileNotFoundError: It is another name.
    """
    if name != part.value:
        raise no_such_entry()
    return part


def _filled(node: ShownNode, text: Text, bits: int) -> ShownNode:
    node.content, node.when_ns, node.mode = text.content, text.when_ns, stat.S_IFREG | bits
    return node


def _names_below(node: ShownNode) -> dict[bytes, tuple[int, int]]:
    place = place_of(node, node.source)
    with _opened(node) as directory, os.scandir(directory) as found:
        kinds = {os.fsencode(one.name): (one.is_dir(follow_symlinks=False), one) for one in found}
        return {
            name: (inode_of(place, name), stat.S_IFDIR if is_directory else stat.S_IFREG)
            for name, (is_directory, one) in kinds.items()
            if is_directory or one.is_file(follow_symlinks=False)
        }


@contextmanager
def _opened(node: ShownNode) -> Iterator[int]:
    """Lend the directory of the tree that a directory shows.

    Raises:
        OSError: ESTALE: the store is no longer attached, or the directory is gone.
    """
    descriptor = None
    if node.linked and node.source is not None and node.source.is_attached:
        names = [os.fsdecode(name) for name in node.below_tree().split(b"/") if name]
        descriptor = descend(node.source.places.tree, names)
    if descriptor is None:
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
    try:
        yield descriptor
    finally:
        os.close(descriptor)
