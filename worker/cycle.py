"""A cycle: observe → plan → execute → record, for one store.

`decide` compares the three observations of every suspect and makes the plan; `Cycle.run` carries plans out, round by
round, until nothing more can be done now. Runs on the control thread.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from math import inf

from memfs.core.names import HOLD_S
from memfs.core.paths import StorePath, relative
from memfs.core.plan import Decision, Plan, Rename, Side, Sides, make_plan
from memfs.core.reconcile import Action
from memfs.state.baseline import Agreed
from memfs.state.braking import Halt
from worker import braking
from worker.braking import HALTED, SIDES, Wanted
from worker.execute import Executor
from worker.merging import settle_merge
from worker.outcomes import Outcome, record
from worker.renames import find_renames
from worker.replica import Replica

log = logging.getLogger(__name__)

DELETE_WINDOW_S = 2.0
"""A file that is gone for so long was deleted; before that a program may be saving it anew."""
_FROM_HERE = frozenset({Action.PUSH, Action.CREATE, Action.DELETE_REMOTE})
ROUNDS = 50
"""A cycle that has not settled by then is left to the next one: others want their turn."""


@dataclass(slots=True, kw_only=True)
class Decided:
    """What a look at the suspects came to."""

    plan: Plan
    agreed: list[Agreed] = field(default_factory=list)
    """Baseline rows that are true as they stand: adopted, or told anew how the file looks."""
    renamed: list[Agreed] = field(default_factory=list)
    """Baseline rows that follow their memory to where both sides have it."""
    forgotten: list[StorePath] = field(default_factory=list)
    settled: list[StorePath] = field(default_factory=list)
    pending: dict[str, str] = field(default_factory=dict)
    halt: Halt | None = None
    """Why nothing is deleted."""
    next_due: float | None = None
    """When something that waits has to be looked at, by the monotonic clock."""

    @property
    def is_idle(self) -> bool:
        """Tell whether there is nothing to execute now."""
        return not (self.renamed or self.plan.removals or self.plan.renames or self.plan.contents)

    def wait(self, path: StorePath, state: str, until: float | None) -> None:
        """Note a path that has to wait."""
        self.pending[path] = state
        if until is not None:
            self.next_due = until if self.next_due is None else min(until, self.next_due)


def decide(replica: Replica) -> Decided:
    """Reconcile every suspect; nothing is changed but the suspects' own waiting times."""
    decided = Decided(plan=Plan())
    found = find_renames(replica)
    renames = [one for one in found.to_make if not _rename_waits(replica, one, decided)]
    for row, target in found.made:
        decided.renamed.append(_moved(replica, row, target))
        decided.pending[row.path] = decided.pending[target] = "pending"
    left_alone = set(decided.pending)
    renaming = {path for one in renames for path in (one.source, one.target, one.origin)}
    decisions: list[Decision] = []
    deletions: list[Wanted] = []
    deferred: set[StorePath] = set()
    for path in sorted(replica.suspects - left_alone):
        action = replica.action(path)
        if path in replica.local.blocked:
            decided.settled.append(path)
        elif action in {Action.NOTHING, Action.ADOPT, Action.FORGET} and path not in renaming:
            _settle(replica, path, action, decided)
        elif (waits := _waits(replica, path, action)) is not None:
            decided.wait(path, *waits)
            if action in SIDES:
                deletions.append(Wanted(path, SIDES[action]))
                deferred.add(path)
        else:
            decided.pending[path] = "pending"
            decisions.append(Decision(path=path, action=action))
    decisions = _braked(replica, decisions, deletions, deferred, decided)
    if decisions or renames:
        decided.plan = make_plan(_newest_first(replica, decisions), renames, _sides(replica), deferred=deferred)
    return decided


def _braked(
    replica: Replica, decisions: list[Decision], waiting: list[Wanted], deferred: set[StorePath], decided: Decided
) -> list[Decision]:
    """Return the decisions that may be carried out: while the store is halted, no deletion."""
    due = [Wanted(one.path, SIDES[one.action]) for one in decisions if one.action in SIDES]
    lost = braking.losses(replica, due + waiting)
    decided.halt = braking.too_much(replica, lost, set(lost).intersection(due))
    if decided.halt is None:
        return decisions
    for one in due:
        decided.wait(one.path, HALTED, None)
        deferred.add(one.path)
    return [one for one in decisions if one.action not in SIDES]


def _newest_first(replica: Replica, decisions: list[Decision]) -> list[Decision]:
    """Order what came last before what has waited: an edit made behind ten thousand others is not the last to go."""
    files, memories = replica.local.files, replica.remote.memories
    pushes = [one for one in decisions if one.action in _FROM_HERE]
    pulls = [one for one in decisions if one.action not in _FROM_HERE]
    pushes.sort(key=lambda one: files[one.path].identity.mtime_ns if one.path in files else 0, reverse=True)
    pulls.sort(key=lambda one: memories[one.path].updated_at if one.path in memories else "", reverse=True)
    # Neither side waits for all of the other.
    return [one for pair in zip_longest(pulls, pushes) for one in pair if one is not None]


def _moved(replica: Replica, row: Agreed, target: StorePath) -> Agreed:
    """Return the baseline row of a memory that both sides renamed to ``target``."""
    file = replica.local.files[target]
    is_same = file.content_sha256 == row.content_sha256
    return replace(row, path=target, identity=file.identity if is_same else None, hashed_at=file.hashed_at)


def _settle(replica: Replica, path: StorePath, action: Action, decided: Decided) -> None:
    """Sort out a path on which both sides agree: the baseline follows, where it does not say so yet."""
    decided.settled.append(path)
    file, memory = replica.local.files.get(path), replica.remote.memories.get(path)
    if file is None or memory is None:
        if action is Action.FORGET:
            decided.forgotten.append(path)
        return
    row = Agreed(
        path=path, memory_id=memory.memory_id, version_id=memory.version_id, content_sha256=memory.content_sha256,
        size_bytes=memory.size_bytes, updated_at=memory.updated_at, identity=file.identity, hashed_at=file.hashed_at,
    )  # fmt: skip
    if row != replica.state.baseline.get(path):
        decided.agreed.append(row)


def _waits(replica: Replica, path: StorePath, action: Action) -> tuple[str, float | None] | None:
    """Return why an action is not due (the state that status shows, and until when), or None where it is."""
    now = replica.clock.monotonic()
    postponed = replica.postponed.get(path)
    if postponed is not None and postponed.until > now:
        return "pending", postponed.until
    if action is Action.DELETE_REMOTE:
        until = replica.local.gone_since.setdefault(path, now) + DELETE_WINDOW_S
        return None if until <= now else ("pending", until)
    if action in {Action.PUSH, Action.CREATE} and _is_refused(replica, path):
        return "refused", None
    if action is Action.CREATE:
        return _create_waits(replica, path, now)
    return None


def _create_waits(replica: Replica, path: StorePath, now: float) -> tuple[str, float | None] | None:
    if not replica.remote.is_complete:
        return "pending", None
    if path not in replica.state.baseline and replica.names.is_held_back(relative(path)):
        until = replica.local.held_since.setdefault(path, now) + HOLD_S
        return None if until <= now else ("held", until)
    return None


def _is_refused(replica: Replica, path: StorePath) -> bool:
    problem = replica.state.problems.get(path, Side.LOCAL)
    return problem is not None and bool(problem.fingerprint) and problem.fingerprint == replica.local.sha256(path)


def _rename_waits(replica: Replica, rename: Rename, decided: Decided) -> bool:
    """Tell whether a rename has to wait, and let what it would take away wait with it."""
    now = replica.clock.monotonic()
    paths = {rename.source, rename.target, rename.origin}
    waits: list[tuple[str, float | None]] = [
        ("pending", one.until) for path in paths if (one := replica.postponed.get(path)) and one.until > now
    ]
    if rename.side is Side.REMOTE and _is_refused(replica, rename.target):
        waits.append(("refused", None))
    if rename.side is Side.REMOTE and replica.names.is_held_back(relative(rename.target)):
        # A program moved the file aside while it saves: nothing is deleted for as long as the name is held back.
        until = replica.local.held_since.setdefault(rename.target, now) + HOLD_S
        waits += [("held", until)] if until > now else []
    for path in paths if waits else ():
        decided.wait(path, *waits[-1])
    return bool(waits)


def _sides(replica: Replica) -> Sides:
    return Sides(
        local={path: file.content_sha256 for path, file in replica.local.files.items()},
        remote={path: memory.content_sha256 for path, memory in replica.remote.memories.items()},
        directories=replica.local.directories,
    )


class Cycle:
    """Carries out what is decided for one store."""

    def __init__(self, replica: Replica) -> None:
        self._replica = replica
        self._executor = Executor(replica)

    def look(self) -> Decided:
        """Decide and record what is pending, without changing either side."""
        decided = decide(self._replica)
        self._note(decided)
        return decided

    async def run(self, until: float = inf) -> Decided:
        """Execute plans until nothing more can be done now, or until that moment; return the last look.

        Raises:
            MemfsError: The remote or the state cannot be worked with; what was done is recorded.
        """
        for merging in self._replica.state.merges:
            # Whoever put it in place was cancelled meanwhile.
            settle_merge(self._replica, merging)
        for _ in range(ROUNDS):
            decided = decide(self._replica)
            self._note(decided)
            if decided.is_idle or self._replica.clock.monotonic() >= until:
                break
            await self._execute(decided.plan, until)
        await self._executor.tell()
        return decided

    async def tell(self) -> None:
        """Let the mount know what else was recorded."""
        await self._executor.tell()

    async def _execute(self, plan: Plan, until: float) -> None:
        await self._executor.decisions(plan.removals, until)
        for wave in plan.renames:
            await self._executor.renames(wave, until)
        await self._executor.decisions(plan.contents, until)

    def _note(self, decided: Decided) -> None:
        replica = self._replica
        with replica.state.transaction():
            record(replica, [Outcome(agreed=row) for row in decided.agreed + decided.renamed])
            record(replica, [Outcome(dropped=path) for path in decided.forgotten])
            _settled(replica, decided.settled)
            braking.note(replica, decided.halt)
            replica.note_refused_memories()
            replica.state.set_pending(decided.pending)
            if not any(state == "pending" for state in decided.pending.values()) and replica.remote.is_verified:
                replica.state.set_synced(replica.clock.time())


def _settled(replica: Replica, paths: Iterable[StorePath]) -> None:
    for path in paths:
        replica.suspects.discard(path)
        replica.postponed.pop(path, None)
        replica.busy_since.pop(path, None)
        replica.note_written(path)
        if path not in replica.local.files and path not in replica.remote.memories:
            replica.state.end_conflict(path)
            replica.local.forget(path)
