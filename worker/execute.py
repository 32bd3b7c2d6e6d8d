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
    Conflicted,
    InvalidRequest,
    MemfsError,
    NotFound,
    PermissionRefused,
    RemoteUnavailable,
    RequestTooLarge,
    StateDamaged,
    StateUnavailable,
    StoreFull,
    StoreReadOnly,
)
from memfs.core.paths import StorePath
from memfs.core.plan import Decision, Rename, Side
from memfs.core.reconcile import Action
from memfs.core.tree_requests import Changed
from worker.conflicting import Conflicting
from worker.outcomes import Outcome, Trouble, record
from worker.placing import CHANGED_WAIT_S, Placing
from worker.pulls import Pulls
from worker.pushes import Pushes
from worker.replica import NOT_WRITTEN, Replica

log = logging.getLogger(__name__)

AT_ONCE = 64
"""Actions whose outcomes are recorded together."""
IN_PARALLEL = 16
TOLD_AT_ONCE = 500
"""Paths in one message to the mount: a line of the socket has its limit."""
FULL_WAIT_S = 30.0

OF_THE_STORE = (
    RemoteUnavailable, AuthenticationFailed, PermissionRefused, NotFound, StoreReadOnly, StateDamaged,
    StateUnavailable,
)  # fmt: skip
"""What stops a store's sync: no single path is to blame. A NotFound that gets here is about the store."""

Step = tuple[StorePath, Side, Callable[[], Awaitable[Outcome]]]


class Executor:
    """Carries out the phases of one store's plans."""

    def __init__(self, replica: Replica) -> None:
        self._replica = replica
        placing = Placing(replica)
        self._pulls = Pulls(replica, placing)
        self._conflicting = Conflicting(replica, placing)
        self._pushes = Pushes(replica)
        self._slots = asyncio.Semaphore(IN_PARALLEL)
        self._refusals: list[MemfsError] = []
        """What the store was refused with in this lot."""
        self._has_worked = False
        """Whether anything of this lot worked."""

    async def decisions(self, decisions: Sequence[Decision], until: float) -> None:
        """Carry out the actions of one phase; see `_run` for what is raised."""
        await self._run([self._of_decision(decision) for decision in decisions], until)

    async def renames(self, renames: Sequence[Rename], until: float) -> None:
        """Carry out one wave of renames; see `_run` for what is raised."""
        await self._run([self._of_rename(rename) for rename in renames], until)

    def _of_decision(self, decision: Decision) -> Step:
        path = decision.path
        side, act = self._act(decision.action)

        async def step() -> Outcome:
            # The remote may have become known better since the decision: a listing runs beside the cycle.
            if self._replica.action(path) is not decision.action:
                return Outcome(news=frozenset({path}))
            return await act(path)

        return path, side, step

    def _act(self, action: Action) -> tuple[Side, Callable[[StorePath], Awaitable[Outcome]]]:  # noqa: C901, PLR0911  (one for each action)
        """Return whose content an action is about, and what does it."""
        match action:
            case Action.PULL:
                return Side.REMOTE, self._pulls.pull
            case Action.RESTORE:
                return Side.REMOTE, self._pulls.restore
            case Action.MERGE:
                return Side.REMOTE, self._conflicting.merge
            case Action.CONFLICT:
                return Side.REMOTE, self._conflicting.conflict
            case Action.OVERRULE:
                return Side.REMOTE, self._conflicting.overrule
            case Action.REMOVE_LOCAL:
                return Side.REMOTE, self._pulls.remove
            case Action.PUSH:
                return Side.LOCAL, self._pushes.update
            case Action.CREATE:
                return Side.LOCAL, self._pushes.create
            case Action.DELETE_REMOTE:
                return Side.LOCAL, self._pushes.delete
            case Action.NOTHING | Action.ADOPT | Action.FORGET:
                raise AssertionError(f"{action} changes neither side")
            case _:
                assert_never(action)

    def _of_rename(self, rename: Rename) -> Step:
        async def step() -> Outcome:
            if not self._still_holds(rename):
                return Outcome(news=frozenset({rename.source, rename.target, rename.origin}))
            return await (self._pushes if rename.side is Side.REMOTE else self._pulls).rename(rename)

        if rename.side is Side.REMOTE:
            return rename.target, Side.LOCAL, step
        return rename.source, Side.REMOTE, step

    def _still_holds(self, rename: Rename) -> bool:
        """Tell whether what a rename rests on is still so: a listing runs beside the cycle."""
        replica = self._replica
        memory, file = replica.remote.memories.get(rename.source), replica.local.files.get(rename.source)
        if rename.is_clash:
            return (memory if rename.side is Side.REMOTE else file) is not None
        row = replica.state.baseline.get(rename.origin)
        if row is None:
            return False
        if rename.side is Side.REMOTE:
            return memory is not None and memory.memory_id == row.memory_id and rename.target in replica.local.files
        return file is not None and replica.remote.path_of(row.memory_id) == rename.target

    async def _run(self, steps: Sequence[Step], until: float) -> None:
        """Take the steps, so many at a time, and record each lot; begin none after ``until``.

        A trouble of the store ends it only where nothing worked: one path that is refused for ever, by a gateway say,
        holds up none of the others.

        Raises:
            MemfsError: One of `OF_THE_STORE`, the first one met; what was done is recorded.
        """
        failure: BaseException | None = None
        for start in range(0, len(steps), AT_ONCE):
            results = await self._take_lot(steps[start : start + AT_ONCE])
            failures = [one for one in results if isinstance(one, BaseException)]
            for one in failures:
                if not isinstance(one, OF_THE_STORE):
                    raise one
            failure = failure or next(iter(failures), None)
            if (failures and len(failures) == len(results)) or self._replica.clock.monotonic() >= until:
                break
        if failure is not None:
            raise failure

    async def _take_lot(self, lot: Sequence[Step]) -> list[Outcome | BaseException]:
        self._refusals, self._has_worked = [], False
        self._replica.works_on(path for path, _, _ in lot)
        try:
            results = await asyncio.gather(*(self._take(*step) for step in lot), return_exceptions=True)
            with self._replica.state.transaction():
                record(self._replica, [one for one in results if isinstance(one, Outcome)])
        finally:
            self._replica.works_on(())
        await self.tell()
        return results

    async def _take(  # noqa: PLR0911  (one for each kind of failure)
        self, path: StorePath, side: Side, step: Callable[[], Awaitable[Outcome]]
    ) -> Outcome:
        async with self._slots:
            if len(self._refusals) >= IN_PARALLEL and not self._has_worked:
                # Nobody answers: the others of the lot need not find out one by one.
                raise self._refusals[0]
            try:
                outcome = await step()
            except OF_THE_STORE as error:
                self._refusals.append(error)
                raise
            except AlreadyHeld:
                return Outcome(postponed=path)
            except ConcurrentChange:
                return Outcome(read_again=(path,), postponed=path, wait_s=CHANGED_WAIT_S)
            except StoreFull as error:
                trouble = Trouble(path=path, side=side, code=error.code, message=f"{path}: {error}")
                return Outcome(trouble=trouble, postponed=path, wait_s=FULL_WAIT_S)
            except (InvalidRequest, RequestTooLarge) as error:
                return self._refused(path, side, error)
            except Conflicted as error:
                trouble = Trouble(path=path, side=side, code=error.code, message=f"{path}: {error}")
                return Outcome(trouble=trouble, read_again=(path,), postponed=path)
            except OSError as error:
                message = f"{path}: {error.strerror or error}"
                trouble = Trouble(path=path, side=side, code=NOT_WRITTEN, message=message)
                return Outcome(trouble=trouble, postponed=path)
            else:
                self._has_worked = True
                return outcome

    def _refused(self, path: StorePath, side: Side, error: MemfsError) -> Outcome:
        """Park a path until its bytes change; everything else goes on."""
        fingerprint = self._replica.local.sha256(path) or ""
        log.info("refused %s (%.12s): %s", path, fingerprint, error.code)
        trouble = Trouble(path=path, side=side, code=error.code, message=str(error), fingerprint=fingerprint)
        return Outcome(trouble=trouble, postponed=path)

    async def tell(self) -> None:
        """Let the mount know about which paths something else is recorded now."""
        changed = self._replica.state.take_changed()
        if changed is None:
            return
        for start in range(0, max(1, len(changed)), TOLD_AT_ONCE):
            paths = changed[start : start + TOLD_AT_ONCE]
            request = Changed(store_id=self._replica.attachment.store_id, paths=paths)
            await asyncio.to_thread(self._replica.tell, request)
