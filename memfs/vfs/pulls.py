"""Changes of a tree under the kernel's feet, asked for by the worker: applied, then told to the kernel.

The swap itself is `memfs.tree.swap`; here is what it means for nodes, counts and the kernel's caches. Used by
`FileSystem.apply` under the mutation lock.
"""

import os
from collections.abc import Sequence
from typing import assert_never

from memfs.core.errors import NotFound
from memfs.core.paths import check_local, parse, segments
from memfs.core.tree_requests import Identity, Move, Outcome, Remove, Replace
from memfs.tree import swap
from memfs.tree.swap import Swap
from memfs.vfs.mounted import Mounted
from memfs.vfs.nodes import Node, children_of
from memfs.vfs.shown.outdating import pulled
from memfs.vfs.store import ServedStore
from memfs.vfs.values import Announcement, Event


class Pulls:
    """What the worker may do to the trees of one mount."""

    def __init__(self, mounted: Mounted) -> None:
        self._mounted = mounted

    def perform(self, request: Replace | Remove | Move) -> Swap:
        """Do what is asked; the caller hands the result to `swap.settle` without the lock.

        Raises:
            NotFound: The store is not attached.
            MemfsError: See `swap.perform`.
            OSError: The disk refuses; nothing was changed.
        """
        store = self._mounted.stores.get(request.store_id)
        if store is None:
            raise NotFound(f"the store {request.store_id} is not attached to this mount")
        for path in (request.path, *(() if isinstance(request, Replace) else request.prune)):
            self._mounted.keep(_find(store, _names(path)))
        done = swap.perform(
            store.places,
            request,
            judge=self._judge(store, force=not isinstance(request, Move) and request.force),
            at_most=self._mounted.policy.limits.memory_bytes,
            umask=self._mounted.ownership.umask,
        )
        if done.displaced >= 0:
            os.close(done.displaced)
        if done.outcome is Outcome.APPLIED:
            self._applied(store, request, done)
        return done

    def _judge(self, store: ServedStore, *, force: bool) -> swap.Judge:
        now_ns = self._mounted.clock_ns()

        def judge(expected: Identity, found: Identity) -> Outcome:
            verdict = store.writes.judge(expected, found, now_ns)
            return Outcome.APPLIED if force and verdict is Outcome.BUSY else verdict

        return judge

    def _applied(self, store: ServedStore, request: Replace | Remove | Move, done: Swap) -> None:
        match request:
            case Replace():
                self._replaced(store, request, done)
            case Remove():
                self._removed(store, request.path)
            case Move():
                self._moved(store, request, done)
            case _ as never:
                assert_never(never)
        for directory in done.pruned:
            self._gone(store, directory)

    def _replaced(self, store: ServedStore, request: Replace, done: Swap) -> None:
        names = _names(request.path)
        if request.expect is None:
            store.grew(self._is_memory(names))
        node = _find(store, names)
        if done.identity is not None:
            store.writes.is_new(done.identity.inode)
            if node is not None:
                self._mounted.superseded(node, done.identity.inode)
        self._tell(store, names)
        self._announce(store, names, done.made, Event.MADE if request.expect is None else Event.EDITED)

    def _removed(self, store: ServedStore, path: str) -> None:
        store.grew(-self._is_memory(_names(path)))
        self._gone(store, path)

    def _moved(self, store: ServedStore, request: Move, done: Swap) -> None:
        names, target = _names(request.path), _names(request.target)
        store.grew(self._is_memory(target) - self._is_memory(names))
        node = _find(store, names)
        if node is not None:
            self._mounted.table.move(node, self._directory(store, target[:-1]), target[-1])
        self._tell(store, names)
        self._tell(store, target)
        self._announce(store, target, done.made, Event.MADE)

    def _gone(self, store: ServedStore, path: str) -> None:
        names = _names(path)
        self._mounted.unlinked(_find(store, names))
        self._tell(store, names)

    def _directory(self, store: ServedStore, names: Sequence[bytes]) -> Node:
        """Return the node of a directory, with nodes for those above it."""
        node = store.root
        for name in names:
            found = os.stat(name, dir_fd=self._mounted.descriptors.of(node), follow_symlinks=False)
            node = self._mounted.known(node, name, found)
        return node

    def _tell(self, store: ServedStore, names: Sequence[bytes]) -> None:
        """Have the kernel forget the first of the names that it may know wrongly."""
        pulled(self._mounted, store, names)
        node = store.root
        *above, name = names
        for step in above:
            below = children_of(node).get(step)
            if below is None or not below.lookups:
                name = step
                break
            node = below
        node.listing_is_fresh = False
        self._mounted.tell_entry(node, name)

    def _announce(self, store: ServedStore, names: Sequence[bytes], made: Sequence[str], event: Event) -> None:
        """Have programs that watch hear of a file and of the directories that were made for it.

        A watched directory is one that the kernel knows: where it does not know the last one that was there before,
        nobody is waiting.
        """
        directories = [_names(path) for path in made]
        *above, _ = directories[0] if directories else names
        known = _find(store, above)
        if known is None or not known.lookups:
            return
        for directory in directories:
            self._mounted.tell(Announcement(store.root.place_of(b"/".join(directory)), Event.MADE_DIRECTORY))
        self._mounted.tell(Announcement(store.root.place_of(b"/".join(names)), event))

    def _is_memory(self, names: Sequence[bytes]) -> bool:
        return not self._mounted.policy.is_local_only_file(b"/".join(names))


def _names(path: str) -> list[bytes]:
    return [name.encode() for name in segments(check_local(parse(path)))]


def _find(store: ServedStore, names: Sequence[bytes]) -> Node | None:
    """Return the node at a path, None where there is none."""
    node: Node | None = store.root
    for name in names:
        if node is None or node.children is None:
            return None
        node = node.children.get(name)
    return node
