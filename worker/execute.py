"""Carry a plan out: a phase's actions side by side, what became of them recorded in one transaction.

A trouble of one path becomes its problem, or a reason to look again; a trouble of the store (the remote is away, the
credential is refused, the store is gone) is raised after everything that was done is recorded. Runs on the control
thread.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import assert_never

from memfs.core.errors import (
    AlreadyHeld,
    AuthenticationFailed,
    ConcurrentChange,
    InvalidRequest,
    MemfsError,
    NotFound,
    PermissionRefused,
    RemoteUnavailable,
    RequestTooLarge,
    StateDamaged,
    StoreFull,
    StoreReadOnly,
)
from memfs.core.paths import StorePath
from memfs.core.plan import Decision, Rename, Side
from memfs.core.reconcile import Action
from memfs.core.tree_requests import Changed
from worker.outcomes import Outcome, Trouble, record
from worker.pulls import Pulls
from worker.pushes import Pushes
from worker.replica import Replica

log = logging.getLogger(__name__)

AT_ONCE = 64
"""Actions whose outcomes are recorded together."""
IN_PARALLEL = 16
TOLD_AT_ONCE = 500
"""Paths in one message to the mount: a line of the socket has its limit."""
FULL_WAIT_S = 30.0

OF_THE_STORE = (
    RemoteUnavailable, AuthenticationFailed, PermissionRefused, NotFound, StoreReadOnly, StateDamaged,
)  # fmt: skip
"""What stops a store's sync: no single path is to blame. A NotFound that gets here is about the store."""

Step = tuple[StorePath, Side, Callable[[], Awaitable[Outcome]]]


class Executor:
    """Carries out the phases of one store's plans."""

    def __init__(self, replica: Replica) -> None:
        self._replica = replica
        self._pulls = Pulls(replica)
        self._pushes = Pushes(replica)
        self._slots = asyncio.Semaphore(IN_PARALLEL)

    async def decisions(self, decisions: Sequence[Decision]) -> None:
        """Carry out the actions of one phase; see `_run` for what is raised."""
        await self._run([self._of_decision(decision) for decision in decisions])

    async def renames(self, renames: Sequence[Rename]) -> None:
        """Carry out one wave of renames; see `_run` for what is raised."""
        await self._run([self._of_rename(rename) for rename in renames])

    def _of_decision(self, decision: Decision) -> Step:  # noqa: PLR0911  (one for each action)
        path = decision.path
        match decision.action:
            case Action.PULL:
                return path, Side.REMOTE, lambda: self._pulls.pull(path)
            case Action.RESTORE:
                return path, Side.REMOTE, lambda: self._pulls.restore(path)
            case Action.CONFLICT:
                return path, Side.REMOTE, lambda: self._pulls.conflict(path)
            case Action.REMOVE_LOCAL:
                return path, Side.REMOTE, lambda: self._pulls.remove(path)
            case Action.PUSH:
                return path, Side.LOCAL, lambda: self._pushes.update(path)
            case Action.CREATE:
                return path, Side.LOCAL, lambda: self._pushes.create(path)
            case Action.DELETE_REMOTE:
                return path, Side.LOCAL, lambda: self._pushes.delete(path)
            case Action.NOTHING | Action.ADOPT | Action.FORGET:
                raise AssertionError(f"{decision.action} changes neither side")
            case _:
                assert_never(decision.action)

    def _of_rename(self, rename: Rename) -> Step:
        match rename.side:
            case Side.REMOTE:
                return rename.target, Side.LOCAL, lambda: self._pushes.rename(rename)
            case Side.LOCAL:
                return rename.source, Side.REMOTE, lambda: self._pulls.rename(rename)
            case _:
                assert_never(rename.side)

    async def _run(self, steps: Sequence[Step]) -> None:
        """Take the steps, so many at a time, and record each lot.

        Raises:
            MemfsError: One of `OF_THE_STORE`, the first one met; what was done before is recorded.
        """
        for start in range(0, len(steps), AT_ONCE):
            lot = steps[start : start + AT_ONCE]
            results = await asyncio.gather(*(self._take(*step) for step in lot), return_exceptions=True)
            with self._replica.state.transaction():
                record(self._replica, [one for one in results if isinstance(one, Outcome)])
            await self.tell()
            for one in results:
                if isinstance(one, BaseException):
                    raise one

    async def _take(self, path: StorePath, side: Side, step: Callable[[], Awaitable[Outcome]]) -> Outcome:
        async with self._slots:
            try:
                return await step()
            except OF_THE_STORE:
                raise
            except AlreadyHeld:
                return Outcome(postponed=path)
            except ConcurrentChange:
                return Outcome(read_again=(path,), postponed=path)
            except StoreFull as error:
                trouble = Trouble(path=path, side=side, code=error.code, message=f"{path}: {error}")
                return Outcome(trouble=trouble, postponed=path, wait_s=FULL_WAIT_S)
            except (InvalidRequest, RequestTooLarge) as error:
                return self._refused(path, side, error)
            except OSError as error:
                message = f"{path}: {error.strerror or error}"
                trouble = Trouble(path=path, side=side, code="not_written", message=message)
                return Outcome(trouble=trouble, postponed=path)

    def _refused(self, path: StorePath, side: Side, error: MemfsError) -> Outcome:
        """Park a path until its bytes change; everything else goes on."""
        fingerprint = self._replica.local.sha256(path) or ""
        log.info("refused %s (%.12s): %s", path, fingerprint, error.code)
        trouble = Trouble(path=path, side=side, code=error.code, message=str(error), fingerprint=fingerprint)
        return Outcome(trouble=trouble, postponed=path)

    async def tell(self) -> None:
        """Let the mount know about which paths something else is recorded now."""
        changed = self._replica.state.take_changed()
        for start in range(0, len(changed), TOLD_AT_ONCE):
            paths = changed[start : start + TOLD_AT_ONCE]
            request = Changed(store_id=self._replica.attachment.store_id, paths=paths)
            await asyncio.to_thread(self._replica.tell, request)
