"""A remote that tries again: the same interface around another remote.

Decides which failures and which calls may be repeated. RateLimited and ConcurrentChange say that nothing was done, so
every call may follow them. After any other retryable failure a change may have been made: then only calls are repeated
that come to the same end when made twice. Creates and unconditional changes are not; their caller has to look first.

Used by the worker and the command line. One event loop; calls may run in parallel. Randomness and sleep are handed in.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import TypeVar

from memfs.api.changes import ChangesPage
from memfs.api.models import Memory, MemoryPrefix, MemoryVersion, Page, Store, View
from memfs.api.sessions import RemoteSession
from memfs.core.backoff import delay_s
from memfs.core.errors import ConcurrentChange, MemfsError, NotFound, RateLimited, RemoteUnavailable
from memfs.remote.listing import Listing
from memfs.remote.protocol import Remote

Result = TypeVar("Result")
Item = TypeVar("Item")


class Retrying:
    """Wrap ``remote``; each call is made at most ``attempts`` times.

    A listing repeats the page that failed and goes on from there. A repeated deletion that meets NotFound after a lost
    answer has reached what it was asked for and returns.

    Args:
        check: Called before each attempt; what it raises ends the call. Sessions may be asked for nevertheless.
    """

    def __init__(
        self,
        remote: Remote,
        *,
        attempts: int = 4,
        base_s: float = 0.25,
        cap_s: float = 8.0,
        retry_after_cap_s: float = 30.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        random: Callable[[], float] = random.random,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self._remote = remote
        self._attempts = attempts
        self._base_s = base_s
        self._cap_s = cap_s
        self._retry_after_cap_s = retry_after_cap_s
        self._sleep = sleep
        self._random = random
        self._check = check

    async def create_store(
        self, name: str, *, description: str = "", metadata: Mapping[str, str] | None = None
    ) -> Store:
        """Make a store; see `Remote`."""
        return await self._once(lambda: self._remote.create_store(name, description=description, metadata=metadata))

    async def retrieve_store(self, store_id: str) -> Store:
        """Return a store; see `Remote`."""
        return await self._repeat(lambda: self._remote.retrieve_store(store_id))

    async def update_store(
        self,
        store_id: str,
        *,
        name: str | None = None,
        description: str | None = None,
        metadata: Mapping[str, str | None] | None = None,
    ) -> Store:
        """Change a store; see `Remote`. Unconditional, so not repeated after a lost answer."""
        return await self._once(
            lambda: self._remote.update_store(store_id, name=name, description=description, metadata=metadata)
        )

    async def archive_store(self, store_id: str) -> Store:
        """Archive a store; see `Remote`."""
        return await self._repeat(lambda: self._remote.archive_store(store_id))

    async def delete_store(self, store_id: str) -> None:
        """Remove a store; see `Remote`."""
        await self._repeat_deletion(lambda: self._remote.delete_store(store_id))

    def list_stores(self, *, include_archived: bool = False) -> Listing[Store]:
        """Yield stores; see `Remote`."""
        return self._listing(self._remote.list_stores(include_archived=include_archived))

    async def create_memory(self, store_id: str, path: str, content: str) -> Memory:
        """Make a memory; see `Remote`."""
        return await self._once(lambda: self._remote.create_memory(store_id, path, content))

    async def retrieve_memory(self, store_id: str, memory_id: str) -> Memory:
        """Return a memory with its content; see `Remote`."""
        return await self._repeat(lambda: self._remote.retrieve_memory(store_id, memory_id))

    async def update_memory(
        self,
        store_id: str,
        memory_id: str,
        *,
        content: str | None = None,
        path: str | None = None,
        expect_sha256: str | None = None,
    ) -> Memory:
        """Change a memory; see `Remote`. Repeated after a lost answer only with ``expect_sha256``."""
        call = self._once if expect_sha256 is None else self._repeat
        return await call(
            lambda: self._remote.update_memory(
                store_id, memory_id, content=content, path=path, expect_sha256=expect_sha256
            )
        )

    async def delete_memory(self, store_id: str, memory_id: str, *, expect_sha256: str | None = None) -> None:
        """Remove a memory; see `Remote`."""
        await self._repeat_deletion(
            lambda: self._remote.delete_memory(store_id, memory_id, expect_sha256=expect_sha256)
        )

    def list_memories(
        self, store_id: str, *, path_prefix: str = "", depth: int = 0, view: View = View.BASIC
    ) -> Listing[Memory | MemoryPrefix]:
        """Yield memories; see `Remote`."""
        return self._listing(self._remote.list_memories(store_id, path_prefix=path_prefix, depth=depth, view=view))

    def list_versions(
        self,
        store_id: str,
        *,
        memory_id: str | None = None,
        created_at_gte: datetime | None = None,
        view: View = View.BASIC,
    ) -> Listing[MemoryVersion]:
        """Yield versions; see `Remote`."""
        return self._listing(
            self._remote.list_versions(store_id, memory_id=memory_id, created_at_gte=created_at_gte, view=view)
        )

    async def retrieve_version(self, store_id: str, version_id: str) -> MemoryVersion:
        """Return a version with its content; see `Remote`."""
        return await self._repeat(lambda: self._remote.retrieve_version(store_id, version_id))

    async def redact_version(self, store_id: str, version_id: str) -> MemoryVersion:
        """Clear a version for good; see `Remote`."""
        return await self._repeat(lambda: self._remote.redact_version(store_id, version_id))

    async def retrieve_session(self, session_id: str) -> RemoteSession:
        """Return a session with its stores; see `Remote`."""
        return await self._try(
            lambda: self._remote.retrieve_session(session_id), lambda error: error.retryable, check=lambda: None
        )

    @property
    def offers_changes(self) -> bool:
        """Whether an answer has announced the change feed; see `Remote`."""
        return self._remote.offers_changes

    async def read_changes(self, store_id: str, *, after: str | None, wait_s: float = 0) -> ChangesPage:
        """Return what changed after a cursor; see `Remote`."""
        return await self._repeat(lambda: self._remote.read_changes(store_id, after=after, wait_s=wait_s))

    async def aclose(self) -> None:
        """Let go of the inner remote's connections."""
        await self._remote.aclose()

    def _listing(self, inner: Listing[Item]) -> Listing[Item]:
        async def page(cursor: str | None) -> Page[Item]:
            return await self._repeat(lambda: inner.fetch(cursor))

        return Listing(page)

    async def _repeat_deletion(self, call: Callable[[], Awaitable[None]]) -> None:
        may_be_done = False

        async def delete() -> None:
            nonlocal may_be_done
            try:
                await call()
            except NotFound:
                if not may_be_done:
                    raise
            except RemoteUnavailable as error:
                may_be_done = may_be_done or not isinstance(error, RateLimited)
                raise

        await self._repeat(delete)

    async def _repeat(self, call: Callable[[], Awaitable[Result]]) -> Result:
        """Make a call that comes to the same end when made twice."""
        return await self._try(call, lambda error: error.retryable)

    async def _once(self, call: Callable[[], Awaitable[Result]]) -> Result:
        """Make a call that may be repeated only where the remote says that it did nothing."""
        return await self._try(call, lambda error: isinstance(error, RateLimited | ConcurrentChange))

    async def _try(
        self,
        call: Callable[[], Awaitable[Result]],
        may_repeat: Callable[[MemfsError], bool],
        *,
        check: Callable[[], None] | None = None,
    ) -> Result:
        attempt = 0
        while True:
            (check or self._check)()
            try:
                return await call()
            except MemfsError as error:
                if attempt + 1 >= self._attempts or not may_repeat(error):
                    raise
                wait_s = self._wait_s(attempt, error)
            await self._sleep(wait_s)
            attempt += 1

    def _wait_s(self, attempt: int, error: MemfsError) -> float:
        return delay_s(
            attempt,
            random=self._random(),
            base_s=self._base_s,
            cap_s=self._cap_s,
            retry_after_s=error.retry_after_s if isinstance(error, RemoteUnavailable) else None,
            retry_after_cap_s=self._retry_after_cap_s,
        )
