"""The worker as a process: which stores, one runner for each, signals, and the end.

`serve` keeps the stores in sync until a signal asks it to stop, then drains; `sync_once` syncs and returns;
`answer_once` does one request of the command line. One control thread (asyncio), and one worker for a state
(``worker.lock``).
"""

import asyncio
import logging
import random
import signal
from collections.abc import Coroutine, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from memfs.core.attachment import Attachment, WantedStore
from memfs.core.conflicts import ConflictPolicy
from memfs.core.errors import MemfsError, RemoteUnavailable, Unsynced
from memfs.core.limits import Limits
from memfs.core.names import Names
from memfs.core.tree_requests import Reload
from memfs.core.worker_requests import Reply
from memfs.health import notify
from memfs.progress import Shown
from memfs.remote.protocol import Remote
from memfs.state.attachments import attached
from memfs.state.layout import Layout
from worker.attaching import AttachedSession, Attaching
from worker.control import Control
from worker.control_socket import serving_control
from worker.disk import disk_trouble
from worker.gate import Gate
from worker.lock import worker_lock
from worker.owner import MountOwner
from worker.replica import Clock, Replica
from worker.runner import Runner
from worker.telling import Telling, not_synced, status
from worker.watch import Watch
from worker.watching import watch_tree

log = logging.getLogger(__name__)

ONCE_WAIT_S = 5.0
"""How long `sync_once` waits for what is not due yet: a deletion's window, a file in the middle of being written."""
PATIENCE_S = 5.0
"""A remote that has not said by then which stores there are is not waited for, where they are known from before."""
_STOP = (signal.SIGTERM, signal.SIGINT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a worker is told."""

    layout: Layout
    wanted: Sequence[WantedStore]
    names: Names
    limits: Limits
    clock: Clock
    poll_s: float
    drain_timeout_s: float
    policy: ConflictPolicy = ConflictPolicy.MERGE
    session: AttachedSession | None = None
    """Whose stores are attached, instead of ``wanted``."""
    shown: Shown | None = None
    """Where a first download is shown; None where only the log is told of it."""


async def serve(options: Options, remote: Remote) -> None:
    """Keep the stores in sync until SIGTERM or SIGINT, then drain; a second signal ends it at once.

    Raises:
        AlreadyHeld: Another worker works on this state.
        NotFound, UsageError, AuthenticationFailed, PermissionRefused: The stores cannot be attached.
        StateDamaged: A store's database cannot be worked with.
        StateUnavailable: The state directory cannot be used for now.
    """
    with disk_trouble(str(options.layout.root)), worker_lock(options.layout):
        service = _Service(options, remote)
        try:
            await service.run()
        finally:
            service.close()


async def sync_once(options: Options, remote: Remote) -> None:
    """Sync every store until nothing more can be done now.

    Raises:
        Unsynced: Something is not the same on both sides; the message names it.
        MemfsError: As `serve`, and where the remote cannot be worked with.
    """
    with disk_trouble(str(options.layout.root)), worker_lock(options.layout):
        service = _Service(options, remote)
        try:
            await service.once()
        finally:
            service.close()


async def answer_once(options: Options, remote: Remote, line: bytes) -> Reply:
    """Do one request on the stores that are attached, without a worker that runs.

    Raises:
        AlreadyHeld: A worker works on this state.
        StateDamaged, StateUnavailable: As `serve`.
    """
    with disk_trouble(str(options.layout.root)), worker_lock(options.layout):
        service = _Service(options, remote)
        try:
            return await service.answer(line)
        finally:
            service.close()


class _Service:
    def __init__(self, options: Options, remote: Remote) -> None:
        self._options = options
        self._remote = remote
        self._attaching = Attaching(options.layout, remote, options.wanted, options.session)
        self._owner = MountOwner(options.layout)
        self._gate = Gate(options.clock.monotonic, random.random)
        self._runners: dict[str, Runner] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._watch: Watch | None = None
        self._stop = asyncio.Event()
        self._is_hurried = asyncio.Event()
        self._attached = asyncio.Event()
        self._telling = Telling(lambda: list(self._runners.values()), options.shown)
        self._reloading: asyncio.Task[None] | None = None
        self._news = asyncio.Event()
        """Set when a task ended, or when a signal came."""

    def close(self) -> None:
        """Give everything back."""
        if self._watch is not None:
            self._watch.close()
        for runner in self._runners.values():
            runner.replica.close()
        self._owner.close()

    async def once(self) -> None:
        await self._attach(await self._attaching.find())
        telling = asyncio.create_task(self._telling.run())
        try:
            for runner in self._runners.values():
                await runner.once(ONCE_WAIT_S)
                runner.has_synced.set()
        finally:
            await _cancel([telling])
        if left := self._unsynced():
            raise Unsynced(not_synced(left), remedy="See `memfs status`")

    async def answer(self, line: bytes) -> Reply:
        await self._attach(attached(self._options.layout), is_certain=False)
        for runner in self._runners.values():
            await runner.scan()

        async def drain(timeout_s: float) -> None:
            for runner in self._runners.values():
                await runner.drain(timeout_s)

        return await Control(lambda: self._runners, drain).answer(line)

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        for number in _STOP:
            loop.add_signal_handler(number, self._asked_to_stop)
        loop.add_signal_handler(signal.SIGUSR1, self._look)
        self._watch = Watch()
        control = Control(lambda: self._runners, self._catch_up)
        try:
            async with serving_control(self._options.layout.worker_socket, control.answer):
                await self._work()
        finally:
            await _cancel(self._tasks.values())
        if not self._attached.is_set():
            # Stopped before the remote said which stores there are: what is here is looked at nevertheless.
            await self._attach(self._attaching.known(), is_certain=False)
        await self._drain()

    async def _work(self) -> None:
        """Resolve the stores and let the runners run, until a signal asks to stop or something failed for good."""
        works = (self._resolve(), self._tell_when_synced(), self._watch_session(), self._telling.run())
        helpers = [self._task(work) for work in works]
        try:
            while not self._stop.is_set():
                await self._news.wait()
                self._news.clear()
                for task in (*helpers, *self._tasks.values()):
                    if task.done() and not task.cancelled():
                        task.result()  # A runner ends by itself only when it failed for good.
        finally:
            await _cancel(helpers)

    def _task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        task.add_done_callback(lambda _: self._news.set())
        return task

    # ------------------------------------------------------------------------------------------------------- stores

    async def _resolve(self) -> None:
        """Attach the wanted stores; while the remote is away, those that are known from before."""
        asking = asyncio.create_task(self._attaching.find())
        try:
            await asyncio.wait([asking], timeout=PATIENCE_S)
            if not asking.done() and (before := self._attaching.known()):
                log.info("the remote is slow, so the stores are taken as they were last")
                await self._attach(before, is_certain=False)
            attachments = await asking
        except RemoteUnavailable as error:
            log.warning("the remote is away, so the stores are taken as they were last: %s", error)
            notify(status=str(error))
            self._gate.failed(error)
            await self._attach(self._attaching.known(), is_certain=False)
            for runner in self._runners.values():
                runner.failed(error)
            attachments = await self._resolve_again()
        finally:
            asking.cancel()
        await self._attach(attachments)

    async def _resolve_again(self) -> list[Attachment]:
        while True:
            clock = self._options.clock
            await asyncio.sleep(max(0.05, self._gate.opens_at - clock.monotonic()))
            try:
                return await self._attaching.find()
            except RemoteUnavailable as error:
                self._gate.failed(error)

    async def _watch_session(self) -> None:
        """Stop syncing once the session is over, whose stores are attached."""
        while self._options.session is not None:
            await asyncio.sleep(self._options.poll_s)
            if ended := await self._options.session.look(self._remote):
                for runner in self._runners.values():
                    runner.failed(ended)

    async def _attach(self, attachments: Sequence[Attachment], *, is_certain: bool = True) -> None:
        if is_certain:
            self._attaching.record(attachments)
            await asyncio.to_thread(self._owner.tell, Reload())
        wanted = {one.store_id for one in attachments}
        for store_id in self._runners.keys() - wanted:
            await self._end(store_id)
        for attachment in attachments:
            if attachment.store_id in self._runners:
                self._runners[attachment.store_id].attach(attachment)
            else:
                self._begin(attachment)
        self._attached.set()

    def _begin(self, attachment: Attachment) -> None:
        options = self._options
        replica = Replica(
            attachment, options.layout.store(attachment.store_id), self._remote, self._owner, self._owner.tell,
            names=options.names, limits=options.limits, clock=options.clock, policy=options.policy,
        )  # fmt: skip
        runner = Runner(replica, self._gate, poll_s=options.poll_s)
        runner.on_archived = partial(self._archived, attachment)
        self._runners[attachment.store_id] = runner
        if self._watch is not None and not self._stop.is_set():
            watch_tree(self._watch, runner)
            self._tasks[attachment.store_id] = self._task(runner.run())

    def _archived(self, archived: Attachment) -> None:
        """Have the mount refuse further changes at the call; what was written before stays and is told as pending."""
        now = attached(self._options.layout)
        if any(one.store_id == archived.store_id and one.is_writable for one in now):
            log.warning("the store %s was archived: it takes no more changes", archived.name)
            self._attaching.record(
                [replace(one, archived=True) if one.store_id == archived.store_id else one for one in now]
            )
            self._reloading = asyncio.create_task(asyncio.to_thread(self._owner.tell, Reload()))

    async def _end(self, store_id: str) -> None:
        runner, task = self._runners.pop(store_id), self._tasks.pop(store_id, None)
        if self._watch is not None:
            self._watch.remove(runner.replica.layout.tree)
        await _cancel([task] if task else [])
        runner.replica.close()

    # ------------------------------------------------------------------------------------------------------- signals

    def _asked_to_stop(self) -> None:
        if self._stop.is_set():
            self._is_hurried.set()
        self._stop.set()
        self._news.set()

    def _look(self) -> None:
        for runner in self._runners.values():
            runner.want_everything()

    async def _tell_when_synced(self) -> None:
        """Tell the supervisor that the worker is ready: every store was synced once, or cannot be for now."""
        await self._attached.wait()
        for runner in list(self._runners.values()):
            await runner.has_synced.wait()
        count = len(self._runners)
        stores = "1 store" if count == 1 else f"{count} stores"
        notify(ready=True, status=status(list(self._runners.values())))
        log.info("attached: %s", stores)

    async def _catch_up(self, timeout_s: float) -> None:
        """Wait until everything that was written before is on the remote, for at most so long."""
        until = self._options.clock.monotonic() + timeout_s
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s / 2):
                await self._attached.wait()
        if not self._attached.is_set():
            # Nothing may be called synced for want of somebody who says which stores there are.
            await self._attach(self._attaching.known(), is_certain=False)
        await asyncio.gather(*(runner.catch_up(until) for runner in list(self._runners.values())))

    async def _drain(self) -> None:
        timeout_s = self._options.drain_timeout_s
        hurried = asyncio.create_task(self._is_hurried.wait())
        draining = asyncio.gather(*(one.drain(timeout_s) for one in self._runners.values()), return_exceptions=True)
        ends: list[asyncio.Future[Any]] = [hurried, draining]
        await asyncio.wait(ends, timeout=timeout_s + 1.0, return_when=asyncio.FIRST_COMPLETED)
        if draining.done():
            self._say_what_failed(draining.result())
        await _cancel(ends)
        self._say_what_is_left()

    def _say_what_failed(self, results: Sequence[BaseException | None]) -> None:
        for runner, failure in zip(self._runners.values(), results, strict=True):
            if failure is not None:
                mistake = None if isinstance(failure, MemfsError) else failure
                log.error("%s was not drained: %s", runner.replica.attachment.name, failure, exc_info=mistake)

    def _unsynced(self) -> list[str]:
        runners = self._runners.values()
        return [f"{runner.replica.attachment.slug}{path}" for runner in runners for path in runner.unsynced()]

    def _say_what_is_left(self) -> None:
        log.info("stopped: %s", not_synced(self._unsynced()))


async def _cancel(tasks: Iterable[asyncio.Future[Any]]) -> None:
    """Cancel what is not done yet, and wait for its end."""
    tasks = list(tasks)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
