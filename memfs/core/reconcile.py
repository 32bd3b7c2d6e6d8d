"""Reconcile one path: what to do about it, from what three observations say of its bytes.

The worker calls it for every dirty path, and the plan (`memfs.core.plan`) orders what it answers. Pure: a digest is
given for each side, None where nothing is there. The decision table is the one of the design, cell by cell.
"""

from enum import StrEnum

from memfs.core.attachment import Access
from memfs.core.conflicts import ConflictPolicy


class Action(StrEnum):
    """One change to one side, or to the baseline alone."""

    NOTHING = "nothing"
    ADOPT = "adopt"
    """Both sides are equal already: only the baseline moves."""
    FORGET = "forget"
    """Both sides are gone: the baseline goes too."""
    PULL = "pull"
    """Put the remote's bytes in place of local ones that the remote's history knows, or of nothing."""
    RESTORE = "restore"
    """Put the remote's bytes in place of local ones that exist nowhere else: those go to trash first."""
    PUSH = "push"
    """Update the memory with the local bytes, on the precondition that it still holds the baseline's."""
    CREATE = "create"
    """Create a memory from the local bytes."""
    MERGE = "merge"
    """Merge both edits with the baseline's bytes; where they overlap, as `CONFLICT`."""
    CONFLICT = "conflict"
    """The remote keeps the name; the local bytes go to a conflict copy beside it."""
    OVERRULE = "overrule"
    """The file keeps the name; the remote's bytes go to a conflict copy beside it."""
    DELETE_REMOTE = "delete_remote"
    """Delete the memory, on the precondition that it still holds the baseline's bytes."""
    REMOVE_LOCAL = "remove_local"
    """Move the local file to trash."""


def reconcile(
    baseline: str | None,
    local: str | None,
    remote: str | None,
    access: Access,
    policy: ConflictPolicy = ConflictPolicy.MERGE,
) -> Action:
    """Decide one path from the content_sha256 that each observation found there (None: nothing)."""
    if local == remote:
        return _equal_sides(baseline, local)
    # At this point we know that the sides differ. A read_only store never changes the remote.
    match access:
        case Access.READ_ONLY:
            return _read_only(baseline, local, remote)
        case Access.READ_WRITE:
            return _read_write(baseline, local, remote, policy)


def _equal_sides(baseline: str | None, both: str | None) -> Action:
    if both == baseline:
        return Action.NOTHING
    # The sides agree and the baseline does not know it: a lost response, a killed worker, or the same edit made twice.
    # Nothing needs to be transferred, so nothing can be lost.
    return Action.FORGET if both is None else Action.ADOPT


def _read_only(baseline: str | None, local: str | None, remote: str | None) -> Action:
    if remote is None:
        # The memory is gone, or never was. The file goes to trash, so bytes that were only here are kept.
        return Action.REMOVE_LOCAL
    if local is None or local == baseline:
        # The local bytes, if any, are a version of the memory: the remote's history keeps them.
        return Action.PULL
    # At this point we know that somebody changed the file in spite of read_only: its bytes exist nowhere else.
    return Action.RESTORE


def _read_write(baseline: str | None, local: str | None, remote: str | None, policy: ConflictPolicy) -> Action:
    if remote is None:
        # At this point we know that a file is there and no memory is. An unchanged file follows the memory's deletion;
        # an edited or a new one wins: a deletion never beats an edit.
        return Action.REMOVE_LOCAL if local == baseline else Action.CREATE
    if local is None:
        # At this point we know that a memory is there and no file is. An unchanged memory follows the file's
        # deletion; an edited or a new one wins.
        return Action.DELETE_REMOTE if remote == baseline else Action.PULL
    # At this point we know that both sides have bytes, and not the same.
    if local == baseline:
        return Action.PULL
    if remote == baseline:
        return Action.PUSH
    # At this point we know that both sides moved away from the baseline, each elsewhere, or that there is none.
    return _both_edited(baseline, policy)


def _both_edited(baseline: str | None, policy: ConflictPolicy) -> Action:
    match policy:
        case ConflictPolicy.MERGE:
            # Without a baseline there is no text that both come from.
            return Action.CONFLICT if baseline is None else Action.MERGE
        case ConflictPolicy.REMOTE:
            return Action.CONFLICT
        case ConflictPolicy.LOCAL:
            return Action.OVERRULE
