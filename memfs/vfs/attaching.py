"""Which stores a mount serves: taken over at the start, again on Reload, and given back at the end.

Waiting for a store's ``owner.lock`` happens without the mutation lock; everything else here under it.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress

from memfs.core.attachment import Attachment
from memfs.state.attachments import attached
from memfs.vfs.mounted import Mounted
from memfs.vfs.nodes import Node, below, children_of
from memfs.vfs.shown.outdating import outdate_all
from memfs.vfs.store import ServedStore
from memfs.vfs.values import ROOT, InvalidateEntry, InvalidateInode

Moving = Callable[[frozenset[bytes]], AbstractContextManager[object]]
"""Surrounds the moment in which names at the mount's root come to stand for other stores, or for none."""


def nothing_moves(_names: frozenset[bytes]) -> AbstractContextManager[object]:
    """Do nothing about it."""
    return nullcontext()


class Attaching:
    """The stores of one mount."""

    def __init__(self, mounted: Mounted) -> None:
        self._mounted = mounted

    def load(self, lock: AbstractContextManager[object], moving: Moving = nothing_moves) -> None:
        """Serve the stores that are attached now, as they are attached now; called by one thread at a time.

        Args:
            lock: The mutation lock.
            moving: Is told which names at the root are no longer those of their stores, before the lock is taken.

        Raises:
            AlreadyHeld: Another process owns a store's tree; nothing has changed then.
            OSError: A store cannot be opened.
        """
        wanted = {attachment.store_id: attachment for attachment in attached(self._mounted.layout)}
        new = self._opened([one for one in wanted.values() if one.store_id not in self._mounted.stores])
        after = {attachment.slug.encode(): store_id for store_id, attachment in wanted.items()}
        before = {store.root.name: store_id for store_id, store in self._mounted.stores.items()}
        with moving(frozenset(name for name, store_id in before.items() if after.get(name) != store_id)), lock:
            for store_id in self._mounted.stores.keys() - wanted.keys():
                self._detach(self._mounted.stores.pop(store_id))
            self._attach({store.store_id: store for store in (*self._mounted.stores.values(), *new)}, wanted)
            outdate_all(self._mounted)

    def reload(self, lock: AbstractContextManager[object], moving: Moving) -> None:
        """Load, and have the kernel forget each name at the root that stood for another store, and no other name."""
        before = self._roots()
        self.load(lock, moving)
        after = self._roots()
        for slug, nodeid in before.items():
            if after.get(slug) != nodeid:
                self._mounted.tell(InvalidateEntry(ROOT, slug))
        self._mounted.tell(InvalidateInode(ROOT))

    def refresh(self) -> None:
        """Have the kernel forget every name and attribute: somebody changed the trees behind the mount."""
        self._mounted.descriptors.close_recent()
        outdate_all(self._mounted)
        for store in self._mounted.stores.values():
            store.recount()
            for node in list(below(store.root)):
                self._refresh(node)

    def close(self) -> None:
        """Give every store back."""
        for store in self._mounted.stores.values():
            self._detach(store)
        self._mounted.stores.clear()

    def _roots(self) -> dict[bytes, int]:
        """Return which node each name at the root stands for."""
        return {store.root.name: store.root.nodeid for store in self._mounted.stores.values()}

    def _opened(self, attachments: Sequence[Attachment]) -> list[ServedStore]:
        opened: list[ServedStore] = []
        try:
            for attachment in attachments:
                layout = self._mounted.layout.store(attachment.store_id)
                opened.append(ServedStore(attachment, layout, self._mounted.policy))
        except BaseException:
            for store in opened:
                store.close()
            raise
        return opened

    def _attach(self, stores: Mapping[str, ServedStore], wanted: Mapping[str, Attachment]) -> None:
        """Hang the stores' directories under their names, in the order of the mount."""
        table = self._mounted.table
        names = children_of(table.root)
        for one in [name for name, node in names.items() if node.store is not None]:
            del names[one]
        for store_id, attachment in wanted.items():
            store = stores[store_id]
            was_writable = store.is_writable
            store.attach(attachment)
            slug = attachment.slug.encode()
            if store.node is None:
                store.node = self._root_of(store, slug)
            store.root.name = slug
            names[slug] = store.root
            if was_writable != store.is_writable:
                self._tell_all(store)
        self._mounted.stores = {store_id: stores[store_id] for store_id in wanted}
        self._mounted.root_changed_ns = max(
            (os.fstat(one.root.descriptor).st_mtime_ns for one in stores.values()), default=0
        )
        table.root.listing_is_fresh = False

    def _root_of(self, store: ServedStore, slug: bytes) -> Node:
        tree = os.dup(store.places.tree)
        node = self._mounted.table.add(
            self._mounted.table.root, slug, inode=os.fstat(tree).st_ino, store=store, is_directory=True
        )
        node.descriptor = tree
        node.pins += 1
        return node

    def _detach(self, store: ServedStore) -> None:
        """Let go of a store: what programs still have open of it is answered ESTALE."""
        root = store.root
        store.close()
        for node in self._mounted.table.uproot(root):
            self._mounted.descriptors.close(node)
        self._mounted.table.release(root)

    def _tell_all(self, store: ServedStore) -> None:
        for node in below(store.root):
            if node.lookups:
                self._mounted.tell(InvalidateInode(node.nodeid))

    def _refresh(self, node: Node) -> None:
        node.listing_is_fresh = False
        if not node.lookups:
            return
        self._mounted.tell(InvalidateInode(node.nodeid))
        if node.children is None:
            return
        names = set(node.children)
        with suppress(FileNotFoundError), os.scandir(self._mounted.descriptors.of(node)) as found:
            names.update(os.fsencode(item.name) for item in found)
        for name in names:
            self._mounted.tell(InvalidateEntry(node.nodeid, name))
