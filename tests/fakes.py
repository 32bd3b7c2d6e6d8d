"""Doubles: plain classes that do what they stand for. `MemoryRemote` runs the same contract suite as the real one."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from memory_remote import MemoryRemote

from memfs.api.models import Page
from memfs.remote.listing import Listing
from memfs.remote.protocol import Remote

__all__ = ["FakeClock", "Fault", "FlakyRemote", "MemoryRemote"]

Result = TypeVar("Result")


class FakeClock:
    """A clock that stands still until it is told to move, or until somebody sleeps on it."""

    def __init__(self, start: datetime = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)) -> None:
        self._start = self._now = start
        self.slept: list[float] = []

    def now(self) -> datetime:
        return self._now

    def time(self) -> float:
        return self._now.timestamp()

    def monotonic(self) -> float:
        return (self._now - self._start).total_seconds()

    def advance(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.advance(seconds)


@dataclass
class Fault:
    """What goes wrong: ``error`` in the calls named ``call``, after ``skip`` good ones, ``times`` times in a row.

    ``is_lost_answer``: the inner call is made, and only its answer is lost. A listing meets faults page by page.
    """

    call: str
    error: BaseException
    is_lost_answer: bool = False
    skip: int = 0
    times: int = 1


class FlakyRemote:
    """A remote around another one that raises what its faults say; ``calls`` counts what arrived, by name."""

    def __init__(self, inner: Remote, faults: Iterable[Fault] = ()) -> None:
        self._inner = inner
        self.faults = list(faults)
        self.calls: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._inner, name)
        if not callable(call):
            return call
        if name.startswith("list_"):
            return lambda *args, **kwargs: self._listing(name, call(*args, **kwargs))

        async def flaky(*args: Any, **kwargs: Any) -> Any:
            return await self._through(name, lambda: call(*args, **kwargs))

        return flaky

    def _listing(self, name: str, inner: Listing[Any]) -> Listing[Any]:
        async def page(cursor: str | None) -> Page[Any]:
            return await self._through(name, lambda: inner.fetch(cursor))

        return Listing(page)

    async def _through(self, name: str, call: Callable[[], Awaitable[Result]]) -> Result:
        self.calls[name] += 1
        fault = self._due(name)
        if fault is None:
            return await call()
        if fault.is_lost_answer:
            await call()
        raise fault.error

    def _due(self, name: str) -> Fault | None:
        """Return the fault that this call meets, and use it up."""
        fault = next((one for one in self.faults if one.call == name and one.times > 0), None)
        if fault is None:
            return None
        if fault.skip > 0:
            fault.skip -= 1
            return None
        fault.times -= 1
        return fault
