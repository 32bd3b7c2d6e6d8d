"""What makes an entry of ``.memfs/`` out of date: a program's change, a pull, the worker's word, other stores.

Each store knows the entries that the kernel knows of it, by the inode of what they tell of (`ServedStore.shown`): a
change that nobody looks at costs the look at an empty table. Used under the mutation lock.
"""

from collections.abc import Iterable, Sequence

from memfs.vfs.mounted import Mounted
from memfs.vfs.nodes import Node, below, children_of
from memfs.vfs.shown.node import TEXTS, Part, ShownNode
from memfs.vfs.store import ServedStore
from memfs.vfs.values import InvalidateInode

STATUS = 0
"""The key of ``status.json`` among the entries of each store: no file has this inode."""


def outdate(mounted: Mounted, node: ShownNode) -> None:
    """Take an entry and all below it from their names, and have the kernel look the name up again."""
    parent, name = node.parent, node.name
    if parent is None or not node.linked:
        return
    if node.source is None and node.children is None:
        mounted.outdated[name] += 1
    for one in below(node):
        forget(mounted, one)
    mounted.table.unlink(node)
    mounted.table.uproot(node)
    mounted.tell_entry(parent, name)


def forget(mounted: Mounted, node: Node) -> None:
    """Forget an entry that the kernel no longer knows, or no longer under its name."""
    if not isinstance(node, ShownNode):
        return
    key = STATUS if node.part is Part.STATUS else node.backing
    for store in mounted.stores.values() if node.source is None else (node.source,):
        if store.shown.get(key) is node:
            del store.shown[key]


def edited(mounted: Mounted, store: ServedStore, inode: int) -> None:
    """Take in that a program, or the worker, changed bytes, bits or times of an entry of the tree."""
    for key in (STATUS, inode):
        node = store.shown.get(key)
        if node is None:
            continue
        if node.children is None:
            outdate(mounted, node)
        elif node.lookups:
            mounted.tell(InvalidateInode(node.nodeid))


def named(mounted: Mounted, store: ServedStore, directory: int, name: bytes) -> None:
    """Take in that a name came or went, or stands for another entry, in the directory of that inode."""
    edited(mounted, store, directory)
    node = store.shown.get(directory)
    if node is not None:
        _name_changed(mounted, node, name)


def pulled(mounted: Mounted, store: ServedStore, names: Sequence[bytes]) -> None:
    """Take in that a pull made, changed or removed what is at a path of the tree, and perhaps directories above it."""
    edited(mounted, store, STATUS)
    node = store.shown.get(store.root.inode)
    if node is None:
        return
    *above, name = names
    for step in above:
        child = children_of(node).get(step)
        if not isinstance(child, ShownNode) or child.children is None:
            name = step
            break
        node = child
    _name_changed(mounted, node, name)


def changed(mounted: Mounted, store: ServedStore, paths: Iterable[str]) -> None:
    """Take in that the worker committed something about these paths, and perhaps about how the store stands."""
    store.reader.close()
    for part in (Part.STATUS, Part.CONFLICTS):
        _outdate_text(mounted, part)
    top = store.shown.get(store.root.inode)
    if top is None:
        return
    for path in paths:
        node = _find(top, path)
        if node is not None and node.children is None:
            outdate(mounted, node)


def held(mounted: Mounted, slugs: frozenset[str]) -> None:
    """Take in which stores the kernel, too, refuses to change."""
    if slugs != mounted.kernel_holds:
        mounted.kernel_holds = slugs
        _outdate_text(mounted, Part.STATUS)


def outdate_all(mounted: Mounted) -> None:
    """Take in that anything may be otherwise: stores came or went, a worker began, trees changed behind the mount."""
    for store in mounted.stores.values():
        store.reader.close()
    for part in (*TEXTS.values(), Part.INFO):
        _outdate_text(mounted, part)


def _outdate_text(mounted: Mounted, part: Part) -> None:
    top = children_of(mounted.table.root).get(Part.TOP.value)
    node = None if top is None else children_of(top).get(part.value)
    if isinstance(node, ShownNode):
        outdate(mounted, node)


def _name_changed(mounted: Mounted, directory: ShownNode, name: bytes) -> None:
    child = children_of(directory).get(name)
    if isinstance(child, ShownNode):
        outdate(mounted, child)
    else:
        mounted.tell_entry(directory, name)


def _find(top: ShownNode, path: str) -> ShownNode | None:
    """Return the entry that tells of a path as the worker writes it, None where the kernel knows none."""
    node: Node | None = top
    for name in path[1:].split("/"):
        if node is None or node.children is None:
            return None
        below_it = node.children
        node = below_it.get(name.encode())
        if node is None and "\\" in name:  # A name that is no UTF-8 is written escaped.
            shown = (child for child in below_it.values() if child.name.decode(errors="backslashreplace") == name)
            node = next(shown, None)
    return node if isinstance(node, ShownNode) else None
