"""What became of one action, as a value, and how it is recorded.

Actions run side by side and return an `Outcome`; `record` takes several in at once, inside one transaction, on the
control thread: the views follow what was done, the baseline follows where both sides agree now.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from memfs.api.models import Memory
from memfs.core.paths import StorePath
from memfs.core.plan import Side
from memfs.state.baseline import Agreed
from memfs.state.braking import Deletion
from memfs.state.problems import Conflict
from worker.replica import Replica
from worker.views import LocalFile, described


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Why an action did not work out, for the problems of its path."""

    path: StorePath
    side: Side
    code: str
    message: str
    fingerprint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one action came to; every field that is not given says nothing."""

    agreed: Agreed | None = None
    dropped: StorePath | None = None
    """A path that has no baseline any more."""
    files: tuple[tuple[StorePath, LocalFile | None], ...] = ()
    """What is in the tree now."""
    answered: Memory | None = None
    """What the remote said that a memory is now."""
    deletion: Deletion | None = None
    """What the brakes have to remember."""
    deleted: str = ""
    """The id of a memory that is gone."""
    news: frozenset[StorePath] = frozenset()
    """Paths about which the remote was asked again."""
    made: tuple[str, ...] = ()
    pruned: tuple[str, ...] = ()
    conflict: Conflict | None = None
    trouble: Trouble | None = None
    read_again: tuple[StorePath, ...] = ()
    postponed: StorePath | None = None
    wait_s: float | None = None
    """How long ``postponed`` has to wait; None: longer each time."""
    busy: StorePath | None = None
    """A path that a program is in the middle of writing."""
    wants_listing: bool = False


def record(replica: Replica, outcomes: Iterable[Outcome]) -> None:
    """Take outcomes in; inside a transaction of the replica's state."""
    for outcome in outcomes:
        _record_tree(replica, outcome)
        _record_remote(replica, outcome)
        _record_baseline(replica, outcome)
        _record_waiting(replica, outcome)


def _record_tree(replica: Replica, outcome: Outcome) -> None:
    now = replica.clock.monotonic()
    for path, file in outcome.files:
        replica.suspects.add(path)
        if file is None:
            replica.local.drop(path, now)
        else:
            replica.local.put(path, file)
    replica.local.directories.update(StorePath(path) for path in outcome.made)
    replica.local.directories.difference_update(StorePath(path) for path in outcome.pruned)
    replica.state.made(*outcome.made)
    replica.state.unmade(*outcome.pruned)


def _record_remote(replica: Replica, outcome: Outcome) -> None:
    replica.suspect(outcome.news)
    if outcome.answered is not None:
        replica.far.take(outcome.answered.path, described(outcome.answered))
    if outcome.deleted:
        replica.suspect(replica.remote.drop(outcome.deleted))
    replica.wants_listing = replica.wants_listing or outcome.wants_listing


def _record_baseline(replica: Replica, outcome: Outcome) -> None:
    state = replica.state
    if outcome.deletion is not None:
        state.braking.add(outcome.deletion)
    _remember_replaced(replica, outcome)
    if outcome.dropped is not None:
        state.baseline.drop(outcome.dropped)
        if outcome.dropped not in replica.local.files:
            state.end_conflict(outcome.dropped)
        state.touch(outcome.dropped)
    if outcome.agreed is not None:
        path = outcome.agreed.path
        state.baseline.put(outcome.agreed)
        for side in Side:
            state.problems.drop(path, side)
        replica.postponed.pop(path, None)
        replica.busy_since.pop(path, None)
        replica.suspects.add(path)
        state.touch(path)
    if outcome.conflict is not None:
        state.conflicts.put(outcome.conflict)
        state.touch(outcome.conflict.path, outcome.conflict.copy_path)


def _remember_replaced(replica: Replica, outcome: Outcome) -> None:
    """Remember what the version held that is no more the baseline of its memory."""
    baseline, agreed = replica.state.baseline, outcome.agreed
    paths = {outcome.dropped, agreed and agreed.path, agreed and baseline.path_of(agreed.memory_id)} - {None}
    for path in paths:
        row = baseline.get(StorePath(path or ""))
        if row is not None and (agreed is None or row.version_id != agreed.version_id):
            replica.state.replaced.put(row, replica.clock.time())


def _record_waiting(replica: Replica, outcome: Outcome) -> None:
    trouble = outcome.trouble
    if trouble is not None:
        replica.put_problem(trouble.path, trouble.side, trouble.code, trouble.message, trouble.fingerprint)
        replica.suspects.add(trouble.path)
    for path in outcome.read_again:
        replica.look_again(path)
    if outcome.busy is not None:
        replica.busy_since.setdefault(outcome.busy, replica.clock.monotonic())
        replica.postpone(outcome.busy, outcome.wait_s)
    if outcome.postponed is not None:
        replica.postpone(outcome.postponed, outcome.wait_s)
