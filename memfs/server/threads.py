"""In which thread the function of an endpoint runs, so that those who wait for a lock keep nobody else waiting.

One for each server, told by its database (`threads`). Runs on the event loop; the functions run wherever it says.
"""

import asyncio
import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol
from weakref import WeakValueDictionary

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from memfs.core.errors import RemoteUnavailable
from memfs.server.store.database import Database

Act = Callable[[], Response]
PATIENCE_S = 10.0
"""How long a write may wait for others before it begins. After that its client better asks again."""
_MOST_OF_A_BATCH = 16
"""Writes of one transaction: other processes wait for its end."""
_MOST_WRITES, _MOST_OF_A_STORE = 24, 4
"""Writes under way at a time: fewer than there are threads, so that reads find one."""


class Threads(Protocol):
    """Runs what endpoints do."""

    async def look(self, act: Act) -> Response:
        """Return what ``act`` returns, which reads a row or two."""

    async def read(self, act: Act) -> Response:
        """Return what ``act`` returns, which changes nothing."""

    async def write(self, act: Act, store_id: str | None) -> Response:
        """Return what ``act`` returns, once all that it wrote is committed.

        Args:
            act: May write.
            store_id: The store that it writes, if it is one that exists.

        Raises:
            RemoteUnavailable: It had to wait too long, and has not begun.
        """

    def start(self) -> None:
        """Begin."""

    def stop(self) -> None:
        """End, once what was asked before is done."""


def threads(database: Database) -> Threads:
    """Return what suits a database."""
    return OneWriter(database) if database.has_one_writer else ManyWriters()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    act: Act
    loop: asyncio.AbstractEventLoop
    answer: asyncio.Future[Response]
    asked_s: float


class OneWriter:
    """For a database that takes one write at a time: a thread of their own commits many at once.

    A look takes less time than to wake a thread, and readers of SQLite's log wait for nobody.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._asked: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="writer", daemon=True)
        self._is_over = False

    async def look(self, act: Act) -> Response:
        """Return what ``act`` returns; it runs on the event loop."""
        return act()

    async def read(self, act: Act) -> Response:
        """Return what ``act`` returns."""
        return await run_in_threadpool(act)

    async def write(self, act: Act, store_id: str | None) -> Response:  # noqa: ARG002  (all stores are in one file)
        """Return what ``act`` returns, once all that it wrote is committed."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Response] = loop.create_future()
        self._asked.put(_Job(act=act, loop=loop, answer=answer, asked_s=time.monotonic()))
        return await answer

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, once what was asked before is done."""
        self._asked.put(None)
        self._thread.join()

    def _work(self) -> None:
        while not self._is_over:
            first = self._asked.get()
            if first is None:
                return
            done = self._batch(first)
            with suppress(RuntimeError):  # The loop is closed: nobody waits for answers any longer.
                first.loop.call_soon_threadsafe(_hand_over, done)

    def _batch(self, first: _Job) -> list[tuple[_Job, Response | Exception]]:
        done: list[tuple[_Job, Response | Exception]] = []
        try:
            with self._database.batch():
                job: _Job | None = first
                while job is not None:
                    done.append((job, _outcome(job)))
                    job = self._next() if len(done) < _MOST_OF_A_BATCH else None
        except Exception as error:  # noqa: BLE001  (each of the batch is told)
            return [(job, error) for job, _ in done]
        return done

    def _next(self) -> _Job | None:
        try:
            found = self._asked.get_nowait()
        except queue.Empty:
            return None
        self._is_over = found is None
        return found


def _outcome(job: _Job) -> Response | Exception:
    if time.monotonic() - job.asked_s > PATIENCE_S:
        return _busy()
    try:
        return job.act()
    except Exception as error:  # noqa: BLE001  (raised where the answer is awaited)
        return error


def _hand_over(done: list[tuple[_Job, Response | Exception]]) -> None:
    for job, outcome in done:
        if job.answer.done():
            continue  # its client went away
        if isinstance(outcome, Exception):
            job.answer.set_exception(outcome)
        else:
            job.answer.set_result(outcome)


class ManyWriters:
    """For a database that locks rows: writes of a store, and all of them, are let in up to a number."""

    def __init__(self) -> None:
        self._writes = asyncio.Semaphore(_MOST_WRITES)
        self._of_store: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        """Each lives as long as someone waits for it or has it."""

    async def look(self, act: Act) -> Response:
        """Return what ``act`` returns."""
        return await run_in_threadpool(act)

    async def read(self, act: Act) -> Response:
        """Return what ``act`` returns."""
        return await run_in_threadpool(act)

    async def write(self, act: Act, store_id: str | None) -> Response:
        """Return what ``act`` returns."""
        if store_id is None:
            return await self._within(self._writes, act)
        of_store = self._of_store.setdefault(store_id, asyncio.Semaphore(_MOST_OF_A_STORE))
        await _let_in(of_store)
        try:
            return await self._within(self._writes, act)
        finally:
            of_store.release()

    def start(self) -> None:
        """Nothing is to be begun."""

    def stop(self) -> None:
        """Nothing is left to be done."""

    async def _within(self, few: asyncio.Semaphore, act: Act) -> Response:
        await _let_in(few)
        try:
            return await run_in_threadpool(act)
        finally:
            few.release()


async def _let_in(few: asyncio.Semaphore) -> None:
    try:
        async with asyncio.timeout(PATIENCE_S):
            await few.acquire()
    except TimeoutError:
        raise _busy() from None


def _busy() -> RemoteUnavailable:
    return RemoteUnavailable("the database is busy", retry_after_s=1.0, remedy="Try again in a moment")
