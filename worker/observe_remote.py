"""Look at the remote: everything (a listing), what happens (the change feed, or versions), or one memory again.

What is learnt goes into the `RemoteView`, and the paths about which that was news are told at once: a request that
fails later takes nothing back. An answer that came too late, because something newer became known meanwhile, changes
nothing. A memory leaves the view only when the remote answered 404 for it and the store is still there: nothing is ever
deleted because a page lacked it.
The worker's control thread calls it; calls may run in parallel.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import suppress

from memfs.api import changes
from memfs.api.changes import MemoryChange
from memfs.api.models import Memory, MemoryPrefix, MemoryVersion, Operation, View
from memfs.core import paths
from memfs.core.errors import (
    ChangeCursorExpired,
    InvalidPath,
    InvalidRequest,
    NotFound,
    PathTooLong,
    PermissionRefused,
)
from memfs.core.limits import Limits
from memfs.core.names import Names
from memfs.core.paths import StorePath
from memfs.remote.protocol import Remote
from memfs.state.contents import Contents
from worker.observe_local import Refusal
from worker.parallel import batches, in_parallel
from worker.version_feed import VersionFeed
from worker.views import RemoteMemory, RemoteView, described

log = logging.getLogger(__name__)

IN_PARALLEL = 16
PREFIXES_IN_PARALLEL = 4
_WRITTEN_AT_ONCE = 20
FOLLOW_S = 30.0
"""How long one request waits for a change."""
_OWN_ANSWER_S = 2.0
"""How long the answer to a change of our own is waited for."""
_PAUSE_S = 1.0
"""A server that answers at once that nothing happened is not asked again at once."""

News = set[StorePath]


class RemoteObserver:
    """The eyes of the worker on one store.

    Args:
        remote: Where the store is.
        store_id: Which one.
        view: Takes in what is seen.
        tell: Told the paths about which something is news.
        contents: Keeps contents that come with an answer, so that a pull need not fetch them again.
        names: Which names are never synced.
        limits: What a path may be.
        monotonic: The clock, in seconds.
    """

    def __init__(
        self,
        remote: Remote,
        store_id: str,
        view: RemoteView,
        tell: Callable[[News], None],
        contents: Contents,
        *,
        names: Names,
        limits: Limits,
        monotonic: Callable[[], float],
    ) -> None:
        self._remote = remote
        self._store_id = store_id
        self._view = view
        self._tell = tell
        self._contents = contents
        self._names = names
        self._limits = limits
        self._monotonic = monotonic
        self._feed = VersionFeed()
        self._cursor: str | None = None
        """The place in the remote's change feed; None where it has none, or before the first listing."""
        self.on_gap: Callable[[], None] = lambda: None
        """Called when changes may have been missed: only a listing tells them."""
        self.is_under_way: Callable[[StorePath], bool] = lambda _: False
        """Tells whether this host is changing a path: what the feed tells of it is likely to be our own doing."""
        self.is_idle = asyncio.Event()
        """Set while this host changes nothing."""
        self.on_answer: Callable[[], None] = lambda: None
        """Called when the change feed answered."""
        self.on_archived: Callable[[], None] = lambda: None
        """Called when the feed tells that the store was archived."""
        self.redacted: set[str] = set()
        """Versions of which the feed told that they were redacted; who forgets what they held takes them out."""
        self.refusals: dict[str, tuple[str, Refusal]] = {}
        """By memory id: the wire path of what cannot be a file here, and why."""
        self.pages = 1
        """How many pages the last listing had, at a hundred a page."""

    async def download(self) -> None:
        """List everything with its content; for a store of which nothing is here.

        Raises:
            NotFound: The store is gone.
            RemoteUnavailable: A page could not be had: nothing is complete.
        """
        await self._begin_feed()
        asked_at = self._view.now()
        prefixes: list[str] = []

        async def take(listing: AsyncIterator[Memory | MemoryPrefix]) -> None:
            async for batch in batches(listing, _WRITTEN_AT_ONCE):
                memories = [one for one in batch if isinstance(one, Memory)]
                prefixes.extend(one.path for one in batch if isinstance(one, MemoryPrefix))
                await asyncio.to_thread(self._keep, memories)
                self._take(((one.path, described(one)) for one in memories), asked_at)

        await take(self._remote.list_memories(self._store_id, depth=1, view=View.FULL))
        await in_parallel(
            [take(self._remote.list_memories(self._store_id, path_prefix=one, view=View.FULL)) for one in prefixes],
            PREFIXES_IN_PARALLEL,
        )
        self._finish_listing(len(self._view.ids()))

    async def list_all(self) -> None:
        """List everything without content and compare it with the view.

        Raises:
            NotFound: The store is gone.
            RemoteUnavailable: A page could not be had, or it could not be asked what became of a missing memory.
        """
        await self._begin_feed()
        asked_at = self._view.now()
        listed = [
            (one.path, described(one))
            async for one in self._remote.list_memories(self._store_id)
            if isinstance(one, Memory)
        ]
        missing = self._view.ids() - {memory.memory_id for _, memory in listed}
        missing = {one for one in missing if not self._view.is_stale(asked_at, one)}
        # Taken in at once, so that a renamed memory is never seen at no path or at two.
        self._take(listed, asked_at)
        await self._retrieve(missing)
        self._finish_listing(len(listed))

    @property
    def follows(self) -> bool:
        """Tell whether the remote has a change feed, so that `follow` waits for what `poll` would ask for."""
        return self._cursor is not None

    async def follow(self) -> None:
        """Take in each change as the change feed tells it, until something fails.

        Raises:
            NotFound: The store is gone.
            RemoteUnavailable: There was no usable answer: the next call goes on at the same place.
        """
        await self._read_changes(0)
        while True:
            asked_at = self._monotonic()
            has_news = await self._read_changes(FOLLOW_S)
            if not has_news and self._monotonic() - asked_at < FOLLOW_S / 2:
                await asyncio.sleep(_PAUSE_S)

    async def poll(self) -> None:
        """Ask what happened since the last look: one small request where nothing did.

        Raises:
            NotFound: The store is gone.
            RemoteUnavailable: There was no usable answer: the next poll asks for the same again.
        """
        if self.follows:
            while await self._read_changes(0):
                pass
        else:
            await self._poll_versions()

    async def _read_changes(self, wait_s: float) -> bool:
        """Take in what the change feed tells after the cursor; tell whether it told anything."""
        try:
            page = await self._remote.read_changes(self._store_id, after=self._cursor, wait_s=wait_s)
        except (ChangeCursorExpired, InvalidRequest):
            # Its history was pruned, or the database is another one: what happened meanwhile, a listing tells.
            self._cursor = (await self._remote.read_changes(self._store_id, after=None)).next
            self.on_gap()
            return False
        await self._take_changes(page.data)
        self._cursor = page.next
        self.on_answer()
        return bool(page.data)

    async def _take_changes(self, told: Sequence[MemoryChange]) -> None:
        last = {one.memory_id: one for one in told if one.memory_id is not None and one.kind != changes.REDACTED}
        news = [memory_id for memory_id, one in last.items() if not self._has_taken(memory_id, one)]
        ours = [memory_id for memory_id in news if self._is_ours(memory_id, last[memory_id])]
        await self._retrieve(memory_id for memory_id in news if memory_id not in ours)
        self.redacted |= {one.memory_version_id or "" for one in told if one.kind == changes.REDACTED} - {""}
        if any(one.kind == changes.STORE_ARCHIVED for one in told):
            self.on_archived()
        # Our own answer tells the same in a moment, and saves a question.
        if ours:
            with suppress(TimeoutError):
                async with asyncio.timeout(_OWN_ANSWER_S):
                    await self.is_idle.wait()
        await self._retrieve(memory_id for memory_id in ours if not self._has_taken(memory_id, last[memory_id]))

    def _is_ours(self, memory_id: str, change: MemoryChange) -> bool:
        paths_of_it = {change.path, self._view.path_of(memory_id)}
        is_under_way = any(path is not None and self.is_under_way(StorePath(path)) for path in paths_of_it)
        return is_under_way and not self._has_taken(memory_id, change)

    def _has_taken(self, memory_id: str, change: MemoryChange) -> bool:
        if change.kind == changes.DELETED:
            return memory_id not in self._view.ids()
        return self._view.version_of(memory_id) == change.memory_version_id

    async def _poll_versions(self) -> None:
        look = self._feed.look(self._monotonic())
        newest: dict[str, MemoryVersion] = {}
        versions: list[MemoryVersion] = []
        known_in_a_row = 0
        async for version in self._remote.list_versions(self._store_id, created_at_gte=look.since):
            is_news = version.id not in self._feed.seen
            known_in_a_row = 0 if is_news else known_in_a_row + 1
            if is_news:
                versions.append(version)
                newest.setdefault(version.memory_id, version)
            elif look.is_enough(known_in_a_row):
                break
        await self._retrieve([one.memory_id for one in newest.values() if not self._is_known(one)])
        self._feed.saw(versions, look, self._monotonic())

    @property
    def has_feed(self) -> bool:
        """Tell whether a first listing has been taken in, so that the feed tells only what is news."""
        return self._feed.has_begun and self._view.is_verified

    async def is_archived(self) -> bool:
        """Ask whether the store takes no more changes; a credential for memories alone hears of it by its next push.

        Raises:
            NotFound: The store is gone.
            RemoteUnavailable: There was no usable answer.
        """
        try:
            return (await self._remote.retrieve_store(self._store_id)).archived_at is not None
        except PermissionRefused:
            return False

    async def look_again(self, memory_id: str) -> News:
        """Ask what became of one memory; return the paths about which that was news.

        Raises:
            NotFound: The store is gone.
            RemoteUnavailable: There was no usable answer.
        """
        return await self._retrieve([memory_id])

    def _is_known(self, version: MemoryVersion) -> bool:
        if version.operation is Operation.DELETED:
            return version.memory_id not in self._view.ids()
        return self._view.version_of(version.memory_id) == version.id

    async def _retrieve(self, memory_ids: Iterable[str]) -> News:
        """Retrieve memories; those that answer 404, in a store that is still there, leave the view."""
        asked_at = self._view.now()

        async def one(memory_id: str) -> Memory | str:
            try:
                return await self._remote.retrieve_memory(self._store_id, memory_id)
            except NotFound:
                return memory_id

        found = await in_parallel([one(memory_id) for memory_id in memory_ids], IN_PARALLEL)
        memories = [answer for answer in found if isinstance(answer, Memory)]
        gone = [answer for answer in found if isinstance(answer, str)]
        if gone:
            # Asked after the 404s: a store that is gone answers 404 for every memory, and deletes none.
            await self._remote.retrieve_store(self._store_id)
        await asyncio.to_thread(self._keep, memories)
        return self._take(((one.path, described(one)) for one in memories), asked_at, gone)

    def _take(self, found: Iterable[tuple[str, RemoteMemory]], asked_at: int, gone: Iterable[str] = ()) -> News:
        # Judged before any is taken in: where memories changed places, the first would make the second look stale.
        fresh = [one for one in found if not self._view.is_stale(asked_at, one[1].memory_id, one[0])]
        news: News = set()
        for memory_id in [one for one in gone if not self._view.is_stale(asked_at, one)]:
            self.refusals.pop(memory_id, None)
            news |= self._view.drop(memory_id)
        for wire_path, memory in fresh:
            news |= self._put(wire_path, memory)
        self._tell(news)
        return news

    def take(self, wire_path: str, memory: RemoteMemory) -> None:
        """Take in what the remote answered about one memory."""
        self._tell(self._put(wire_path, memory))

    def _put(self, wire_path: str, memory: RemoteMemory) -> News:
        refusal = self._refusal(wire_path)
        if refusal is not None:
            self.refusals[memory.memory_id] = (wire_path, refusal)
            return self._view.put_unusable(memory.memory_id, wire_path)
        self.refusals.pop(memory.memory_id, None)
        return self._view.put(StorePath(wire_path), memory)

    def _refusal(self, wire_path: str) -> Refusal | None:
        try:
            path = paths.check_local(paths.parse(wire_path, self._limits), self._limits)
        except (InvalidPath, PathTooLong) as error:
            return Refusal(error.code, f"a memory cannot be a file here: {error}")
        if self._names.is_local_only(paths.relative(path)):
            return Refusal("local_only_name", f"{path} has a name that is never synced; the memory stays as it is")
        return None

    def _keep(self, memories: Iterable[Memory]) -> None:
        for memory in memories:
            if memory.content is not None:
                self._contents.put(memory.content_sha256, memory.content.encode())

    async def _begin_feed(self) -> None:
        """Note where the feed stands before a listing begins: what happens after that is the feed's news."""
        if self._feed.has_begun:
            return
        if self._remote.offers_changes:
            self._cursor = (await self._remote.read_changes(self._store_id, after=None)).next
            self._feed.begin(None)
            return
        async for version in self._remote.list_versions(self._store_id):
            self._feed.begin(version.created_at)
            return
        self._feed.begin(None)

    def _finish_listing(self, count: int) -> None:
        self._view.is_complete = self._view.is_verified = True
        self.pages = max(1, -(-count // 100))
