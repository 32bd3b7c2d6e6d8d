"""The brakes of one store: what is to be deleted is counted before anything is, and a store that loses too much halts.

A halted store deletes nothing, on neither side; everything else goes on. `decide` asks `too_much` at every look, the
cycle records what it answers, and `accept` or `restore` ends it. Runs on the control thread.
"""

import logging
from collections import Counter
from collections.abc import Collection, Iterable
from typing import NamedTuple

from memfs.core.brakes import AT_LEAST, WINDOW_S, Counted, Reason, is_too_much
from memfs.core.paths import StorePath
from memfs.core.plan import Side
from memfs.core.reconcile import Action
from memfs.state.braking import Deletion, Halt, describe
from worker.replica import Replica, Seen

log = logging.getLogger(__name__)

HALTED = "halted"
"""The state of a path whose deletion waits for somebody's decision."""
SIDES = {Action.DELETE_REMOTE: Side.REMOTE, Action.REMOVE_LOCAL: Side.LOCAL}
"""Which side an action deletes on."""


class Wanted(NamedTuple):
    """A deletion that a look came to; it may have to wait for its window."""

    path: StorePath
    side: Side


def losses(replica: Replica, wanted: Iterable[Wanted]) -> list[Wanted]:
    """Note when each deletion was first seen, and of how many memories; return those by which a memory is lost.

    What never was a memory of both sides is no loss of one, nor is what had a new path when its old one was missed.
    """
    now, baseline, seen = replica.clock.time(), replica.state.baseline, replica.deletions_seen
    replica.deletions_seen, moved = {}, dict[Side, Counter[str]]()
    for one in wanted:
        row = baseline.get(one.path)
        if row is None:
            continue
        known = seen.get((one.side, one.path))
        if known is None:
            if one.side not in moved:
                moved[one.side] = _new_there(replica, one.side)
            known = Seen(now, len(baseline), is_move=_take(moved[one.side], row.content_sha256))
        replica.deletions_seen[one.side, one.path] = known
    return [Wanted(path, side) for (side, path), one in replica.deletions_seen.items() if not one.is_move]


def _new_there(replica: Replica, side: Side) -> Counter[str]:
    """Count what is new on the other side than ``side``, where deletions come from, by digest.

    Also at a path that had other bytes: a program saved under another name and renamed it onto the memory.
    """
    there = replica.local.files if side is Side.REMOTE else replica.remote.memories
    known = {path: row.content_sha256 for path in there if (row := replica.state.baseline.get(path)) is not None}
    return Counter(one.content_sha256 for path, one in there.items() if known.get(path) != one.content_sha256)


def _take(counts: Counter[str], sha256: str) -> bool:
    counts[sha256] -= 1
    return counts[sha256] >= 0


def too_much(replica: Replica, wanted: Collection[Wanted], due: Collection[Wanted]) -> Halt | None:
    """Return why nothing may be deleted: the halt that is recorded, or one that ``wanted`` makes necessary.

    Nothing is judged before a deletion is due: a program may be saving everything anew.
    """
    braking, now = replica.state.braking, replica.clock.time()
    if braking.halt is not None or not due:
        return braking.halt
    counts = [one for one in wanted if not braking.is_accepted(one.side, one.path)]
    for reason, side in ((Reason.MANY_LOCAL, Side.REMOTE), (Reason.MANY_REMOTE, Side.LOCAL)):
        pending = [_counted(replica, one) for one in counts if one.side is side]
        done = [Counted(at=one.at, memories=one.memories) for one in braking.deletions if one.side is side]
        found = is_too_much(pending + done, now) if pending else None
        if found is not None:
            return Halt(reason=reason, deletions=found[0], memories=found[1], since=now)
    return _out_of_place(replica, counts, now)


def carried_out(replica: Replica, path: StorePath, side: Side, kept: str = "") -> Deletion | None:
    """Return what is remembered of a deletion that was made; None where no memory was lost by it."""
    row, seen = replica.state.baseline.get(path), replica.deletions_seen.get((side, path))
    if row is None or seen is None or seen.is_move:
        return None
    return Deletion(
        at=seen.at, side=side, path=path, version_id=row.version_id, content_sha256=row.content_sha256,
        memories=seen.memories, kept=kept,
    )  # fmt: skip


def note(replica: Replica, halt: Halt | None) -> None:
    """Record what a look came to; inside a transaction."""
    braking = replica.state.braking
    if halt is not None and braking.halt is None:
        braking.set_halt(halt)
        log.warning("the store %s is halted, nothing is deleted: %s", replica.attachment.name, describe(halt))
    if halt is None:
        braking.forget_deletions(replica.clock.time() - WINDOW_S)
    if not replica.is_root_new or not any(side is Side.REMOTE for side, _ in replica.deletions_seen):
        braking.set_root(*replica.root)
    for side, path in braking.accepted - replica.deletions_seen.keys():
        if side is Side.REMOTE or replica.remote.is_verified:
            braking.settle(side, path)


def _counted(replica: Replica, wanted: Wanted) -> Counted:
    seen = replica.deletions_seen[wanted.side, wanted.path]
    return Counted(at=seen.at, memories=seen.memories, is_pending=True)


def _out_of_place(replica: Replica, wanted: Iterable[Wanted], now: float) -> Halt | None:
    memories = len(replica.state.baseline)
    here = sum(1 for one in wanted if one.side is Side.REMOTE)
    if replica.is_root_new and here:
        return Halt(reason=Reason.ROOT_REPLACED, deletions=here, memories=memories, since=now)
    there = sum(1 for one in wanted if one.side is Side.LOCAL)
    if there and memories >= AT_LEAST and not replica.remote.ids():
        return Halt(reason=Reason.REMOTE_EMPTY, deletions=there, memories=memories, since=now)
    return None
