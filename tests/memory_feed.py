"""The change feed of a `MemoryRemote`'s store."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from memfs.api.changes import ChangesPage, MemoryChange
from memfs.api.models import Actor, MemoryVersion
from memfs.core.errors import ChangeCursorExpired, InvalidRequest, NotFound

PAGE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One change, without what its version says, which a redaction may take back."""

    kind: str
    at: datetime
    by: Actor | None = None
    version: str | None = None


@dataclass(slots=True)
class Feed:
    """What happened in one store, oldest first; ``forget`` is what time does to a real one."""

    store_id: str
    told: list[Told] = field(default_factory=list)
    kept_from: int = 0
    is_gone: bool = False
    _waiting: set[asyncio.Event] = field(default_factory=set)

    def tell(self, told: Told) -> None:
        self.told.append(told)
        self._wake()

    def end(self) -> None:
        """The store is deleted."""
        self.is_gone = True
        self._wake()

    def forget(self) -> None:
        """Keep no change of before."""
        self.kept_from = len(self.told)

    async def read(
        self, after: str | None, wait_s: float, version: Callable[[str], MemoryVersion | None]
    ) -> ChangesPage:
        if after is None:
            return self._page([], len(self.told))
        place = self._place(after)
        if len(self.told) == place and wait_s > 0:
            await self._wait(wait_s)
        if self.is_gone:
            raise NotFound(f"there is no store {self.store_id}")
        data = [_change(told, version(told.version) if told.version else None) for told in self.told[place:][:PAGE]]
        return self._page(data, place + len(data))

    def _page(self, data: list[MemoryChange], place: int) -> ChangesPage:
        return ChangesPage(data=data, next=f"{self.store_id}:{place}", has_more=place < len(self.told))

    def _place(self, cursor: str) -> int:
        store_id, _, place = cursor.partition(":")
        if store_id != self.store_id or not place.isdecimal():
            raise InvalidRequest("after is no cursor of this store's changes")
        if not self.kept_from <= int(place) <= len(self.told):
            raise ChangeCursorExpired("the changes after this cursor are not kept any more")
        return int(place)

    async def _wait(self, wait_s: float) -> None:
        woken = asyncio.Event()
        self._waiting.add(woken)
        try:
            async with asyncio.timeout(wait_s):
                await woken.wait()
        except TimeoutError:
            pass
        finally:
            self._waiting.discard(woken)

    def _wake(self) -> None:
        for woken in self._waiting:
            woken.set()


def _change(told: Told, version: MemoryVersion | None) -> MemoryChange:
    if version is None:
        return MemoryChange(kind=told.kind, created_at=told.at)
    described = version.model_dump(include={"path", "content_sha256", "content_size_bytes", "memory_id"})
    return MemoryChange(
        kind=told.kind, created_at=told.at, created_by=told.by, memory_version_id=version.id, **described
    )
