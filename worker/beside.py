"""Work that goes on beside a runner's turns, such as a listing; how it ended is taken in by a turn.

On the control thread's event loop.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from worker.observe_remote import RemoteObserver


class Beside:
    """One piece of work at a time.

    Args:
        wake: Called when it ends.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._task: asyncio.Task[None] | None = None

    @property
    def is_there(self) -> bool:
        """Tell whether work goes on, or has ended and was not taken in yet."""
        return self._task is not None

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Start work; there is none."""
        self._task = asyncio.create_task(work)
        self._task.add_done_callback(lambda _: self._wake())

    def take_end(self) -> bool:
        """Tell whether the work has ended, and forget it; raise what ended it."""
        if self._task is None or not self._task.done():
            return False
        finished, self._task = self._task, None
        finished.result()
        return True

    async def end(self) -> None:
        """Cancel the work and wait for its end; what it raised does not matter any more."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


class Following:
    """Has a store's change feed followed beside the turns, where the remote has one.

    Args:
        far: Follows it.
        wake: Called when it was heard of.
    """

    def __init__(self, far: RemoteObserver, wake: Callable[[], None]) -> None:
        self._far = far
        self._wake = wake
        self._work = Beside(wake)
        self._has_heard = False
        far.on_answer = self._heard

    def go_on(self) -> bool:
        """Begin, or begin again; tell whether the feed answered since the last call, or raise what ended it."""
        self._work.take_end()
        if not self._work.is_there and self._far.follows:
            self._work.begin(self._far.follow())
        has_heard, self._has_heard = self._has_heard, False
        return has_heard

    async def end(self) -> None:
        """Hear no more."""
        await self._work.end()

    def _heard(self) -> None:
        self._has_heard = True
        self._wake()
