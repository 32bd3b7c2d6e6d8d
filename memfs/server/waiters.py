"""Who waits for a change of a store, and being woken: by a commit of this process, by another's, by the end.

Waiting is on the event loop and costs no thread; `tell`, `tell_all` and `close` may be called in any thread. Being
woken is only a reason to look: one time too many costs a look, and whoever waits looks at the end of its time anyway.
"""

import asyncio
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

Seen = TypeVar("Seen")


class Waiters:
    """The waiting requests of one server."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._looks: dict[Hashable, asyncio.Task[Any]] = {}
        self._wakes = 0
        self._count = 0
        self._closed = False
        self.someone = threading.Event()
        """Set while anyone waits: whoever must look for changes elsewhere need not look before."""

    @property
    def count(self) -> int:
        """How many wait now; in any thread."""
        return self._count

    @property
    def is_closed(self) -> bool:
        """Whether nobody may wait any longer."""
        return self._closed

    def stores(self) -> list[str]:
        """Return the stores that someone waits for; in any thread."""
        return list(self._waiting)

    @contextmanager
    def place(self, store_id: str) -> Iterator[asyncio.Event]:
        """Return what is set when the store changes from now on; look first, then wait for it.

        On the event loop, which must be the same for every caller.
        """
        self._loop = asyncio.get_running_loop()
        told = asyncio.Event()
        self._waiting.setdefault(store_id, set()).add(told)
        self._count += 1
        self.someone.set()
        try:
            yield told
        finally:
            waiting = self._waiting[store_id]
            waiting.remove(told)
            self._count -= 1
            if not waiting:
                del self._waiting[store_id]
            if not self._waiting:
                self.someone.clear()

    async def look(self, what: Hashable, look: Callable[[], Seen]) -> Seen:
        """Return what a look in a thread finds; those whom one wake woke for the same thing share one look.

        A look that began before the last wake is not shared: it may have been too early.
        """
        key = (what, self._wakes)
        if key not in self._looks:
            self._looks[key] = asyncio.create_task(run_in_threadpool(look))
            self._looks[key].add_done_callback(lambda done: self._looked(key, done))
        # Whoever goes away leaves the look to the others.
        found: Seen = await asyncio.shield(self._looks[key])
        return found

    def tell(self, store_ids: Iterable[str]) -> None:
        """Wake who waits for these stores."""
        told = [store_id for store_id in store_ids if store_id in self._waiting]
        if told:
            self._on_loop(told)

    def tell_all(self) -> None:
        """Wake everyone: something changed, nobody knows what."""
        if self._waiting:
            self._on_loop(None)

    def close(self) -> None:
        """Wake everyone for the last time."""
        self._closed = True
        self.tell_all()

    def _on_loop(self, store_ids: list[str] | None) -> None:
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._wake, store_ids)

    def _looked(self, key: Hashable, done: asyncio.Task[Any]) -> None:
        del self._looks[key]
        if not done.cancelled():
            done.exception()  # seen, though everyone may have gone away

    def _wake(self, store_ids: list[str] | None) -> None:
        self._wakes += 1
        for store_id in list(self._waiting) if store_ids is None else store_ids:
            for told in self._waiting.get(store_id, ()):
                told.set()


async def told_or_gone(told: asyncio.Event, request: Request, timeout_s: float) -> bool:
    """Wait until told, until the time is over (True: somebody still listens), or until the client went away (False).

    The request's body must have been read: what comes after it is the end of the connection.
    """
    waiting = asyncio.ensure_future(told.wait())
    gone = asyncio.ensure_future(request.receive())
    try:
        done, _ = await asyncio.wait((waiting, gone), timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
        gone.cancel()
    return gone not in done or told.is_set()
