"""Look at the remote: everything (a listing), what happened lately (the feed), or one memory again.

What is learnt goes into the `RemoteView`, and the paths about which that was news are told at once: a request that
fails later takes nothing back. An answer that came too late, because something newer became known meanwhile, changes
nothing. A memory leaves the view only when the remote answered 404 for it and the store is still there: nothing is ever
deleted because a page lacked it.
The worker's control thread calls it; calls may run in parallel.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from datetime import datetime, timedelta
from typing import TypeVar

from memfs.api.models import Memory, MemoryPrefix, MemoryVersion, Operation, View
from memfs.core import paths
from memfs.core.errors import InvalidPath, NotFound, PathTooLong
from memfs.core.limits import Limits
from memfs.core.names import Names
from memfs.core.paths import StorePath
from memfs.remote.protocol import Remote
from memfs.state.contents import Contents
from worker.observe_local import Refusal
from worker.views import RemoteMemory, RemoteView, described

log = logging.getLogger(__name__)

IN_PARALLEL = 16
PREFIXES_IN_PARALLEL = 4
OVERLAP_S = 60.0
"""How long a version may take to show up behind newer ones."""
_KNOWN_RUN = 100
"""So many known versions in a row, and the rest of the feed is known too, but for the last look of an overlap."""
_WRITTEN_AT_ONCE = 20

Item = TypeVar("Item")
Result = TypeVar("Result")
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
        self._feed = _Feed()
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
            async for batch in _batches(listing, _WRITTEN_AT_ONCE):
                memories = [one for one in batch if isinstance(one, Memory)]
                prefixes.extend(one.path for one in batch if isinstance(one, MemoryPrefix))
                await asyncio.to_thread(self._keep, memories)
                self._take(((one.path, described(one)) for one in memories), asked_at)

        await take(self._remote.list_memories(self._store_id, depth=1, view=View.FULL))
        await _in_parallel(
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

    async def poll(self) -> None:
        """Ask the feed of versions what happened since the last look: one small request where nothing did.

        Raises:
            NotFound: The store is gone.
            RemoteUnavailable: There was no usable answer: the next poll asks for the same again.
        """
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
            elif not look.is_complete and known_in_a_row >= _KNOWN_RUN:
                break
        await self._retrieve([one.memory_id for one in newest.values() if not self._is_known(one)])
        self._feed.saw(versions, look, self._monotonic())

    @property
    def has_feed(self) -> bool:
        """Tell whether a first listing has been taken in, so that the feed tells only what is news."""
        return self._feed.has_begun and self._view.is_verified

    async def is_archived(self) -> bool:
        """Ask whether the store takes no more changes.

        Raises:
            NotFound: The store is gone.
            RemoteUnavailable: There was no usable answer.
        """
        return (await self._remote.retrieve_store(self._store_id)).archived_at is not None

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

        found = await _in_parallel([one(memory_id) for memory_id in memory_ids], IN_PARALLEL)
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
        async for version in self._remote.list_versions(self._store_id):
            self._feed.begin(version.created_at)
            return
        self._feed.begin(None)

    def _finish_listing(self, count: int) -> None:
        self._view.is_complete = self._view.is_verified = True
        self.pages = max(1, -(-count // 100))


class _Look:
    """One question to the feed."""

    def __init__(self, since: datetime | None, *, is_complete: bool) -> None:
        self.since = since
        self.is_complete = is_complete


class _Feed:
    """How far the feed has been read.

    A version may show up behind newer ones, so for a while after any news the question reaches back; the last such
    question reads all of it. After that only what is as new as the newest can come, and the answer stays small.
    """

    def __init__(self) -> None:
        self.has_begun = False
        self.seen: dict[str, datetime] = {}
        self._newest: datetime | None = None
        self._overlap_ends = 0.0
        self._is_overlapping = True

    def begin(self, newest: datetime | None) -> None:
        self.has_begun = True
        self._newest = newest

    def look(self, now: float) -> _Look:
        if self._newest is None or not self._is_overlapping:
            return _Look(self._newest, is_complete=True)
        return _Look(self._newest - timedelta(seconds=OVERLAP_S), is_complete=now >= self._overlap_ends)

    def saw(self, versions: list[MemoryVersion], look: _Look, now: float) -> None:
        self.seen.update((version.id, version.created_at) for version in versions)
        if versions:
            newest = max(version.created_at for version in versions)
            self._newest = newest if self._newest is None else max(newest, self._newest)
            self._overlap_ends = now + OVERLAP_S
            self._is_overlapping = True
        elif look.is_complete and self._is_overlapping:
            self._is_overlapping = False
        if self._newest is not None:
            oldest = self._newest - timedelta(seconds=OVERLAP_S if self._is_overlapping else 0)
            self.seen = {version_id: at for version_id, at in self.seen.items() if at >= oldest}


async def _batches(items: AsyncIterator[Item], size: int) -> AsyncIterator[list[Item]]:
    batch: list[Item] = []
    async for item in items:
        batch.append(item)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


async def _in_parallel(calls: Iterable[Awaitable[Result]], most: int) -> list[Result]:
    """Await all, at most so many at a time; the first failure cancels the others and is raised."""
    waiting = deque(enumerate(calls))
    results: dict[int, Result] = {}

    async def work() -> None:
        while waiting:
            index, call = waiting.popleft()
            results[index] = await call

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(most, len(waiting))):
                group.create_task(work())
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    finally:
        for _, call in waiting:
            if asyncio.iscoroutine(call):
                call.close()
    return [results[index] for index in sorted(results)]
