"""Reconcile one path: the whole decision table, each cell under both kinds of access."""

from itertools import product

import pytest

from memfs.core.attachment import Access
from memfs.core.conflicts import ConflictPolicy
from memfs.core.reconcile import Action, reconcile

RW, RO = Access.READ_WRITE, Access.READ_ONLY
GONE = None
B, L, R = "b" * 64, "1" * 64, "2" * 64

TABLE = [
    # what is known, access, baseline, local, remote, expected action
    ("nothing anywhere", RW, GONE, GONE, GONE, Action.NOTHING),
    ("a memory that nobody changed", RW, B, B, B, Action.NOTHING),
    ("the same bytes made on both sides", RW, GONE, L, L, Action.ADOPT),
    ("the same edit on both sides, or a lost response", RW, B, L, L, Action.ADOPT),
    ("deleted on both sides", RW, B, GONE, GONE, Action.FORGET),
    ("edited remotely", RW, B, B, R, Action.PULL),
    ("edited locally", RW, B, L, B, Action.PUSH),
    ("edited on both sides, differently", RW, B, L, R, Action.MERGE),
    ("created locally", RW, GONE, L, GONE, Action.CREATE),
    ("created on both sides, differently", RW, GONE, L, R, Action.CONFLICT),
    ("created remotely", RW, GONE, GONE, R, Action.PULL),
    ("deleted locally", RW, B, GONE, B, Action.DELETE_REMOTE),
    ("deleted locally, edited remotely: the edit wins", RW, B, GONE, R, Action.PULL),
    ("deleted remotely", RW, B, B, GONE, Action.REMOVE_LOCAL),
    ("edited locally, deleted remotely: the edit wins", RW, B, L, GONE, Action.CREATE),
    ("read_only: nothing anywhere", RO, GONE, GONE, GONE, Action.NOTHING),
    ("read_only: a memory that nobody changed", RO, B, B, B, Action.NOTHING),
    ("read_only: the file is already what the memory is", RO, GONE, L, L, Action.ADOPT),
    ("read_only: the file is already what the memory became", RO, B, L, L, Action.ADOPT),
    ("read_only: gone on both sides", RO, B, GONE, GONE, Action.FORGET),
    ("read_only: edited remotely", RO, B, B, R, Action.PULL),
    ("read_only: a local edit is put back", RO, B, L, B, Action.RESTORE),
    ("read_only: a local edit gives way to a remote one", RO, B, L, R, Action.RESTORE),
    ("read_only: a local file goes", RO, GONE, L, GONE, Action.REMOVE_LOCAL),
    ("read_only: a local file gives way to a new memory", RO, GONE, L, R, Action.RESTORE),
    ("read_only: created remotely", RO, GONE, GONE, R, Action.PULL),
    ("read_only: a deleted file comes back", RO, B, GONE, B, Action.PULL),
    ("read_only: a deleted file comes back as edited remotely", RO, B, GONE, R, Action.PULL),
    ("read_only: deleted remotely", RO, B, B, GONE, Action.REMOVE_LOCAL),
    ("read_only: edited locally, deleted remotely", RO, B, L, GONE, Action.REMOVE_LOCAL),
]


@pytest.mark.parametrize(
    ("access", "baseline", "local", "remote", "expected"),
    [pytest.param(*row[1:], id=row[0].replace(" ", "-")) for row in TABLE],
)
def test_each_cell_has_its_action(
    access: Access, baseline: str | None, local: str | None, remote: str | None, expected: Action
) -> None:
    assert expected == reconcile(baseline, local, remote, access)


@pytest.mark.parametrize(
    ("policy", "edited", "created"),
    [
        (ConflictPolicy.MERGE, Action.MERGE, Action.CONFLICT),
        (ConflictPolicy.REMOTE, Action.CONFLICT, Action.CONFLICT),
        (ConflictPolicy.LOCAL, Action.OVERRULE, Action.OVERRULE),
    ],
)
def test_the_policy_decides_where_both_sides_have_bytes_of_their_own(
    policy: ConflictPolicy, edited: Action, created: Action
) -> None:
    assert edited == reconcile(B, L, R, RW, policy)
    assert created == reconcile(GONE, L, R, RW, policy)


@pytest.mark.parametrize("policy", ConflictPolicy)
@pytest.mark.parametrize("row", [row for row in TABLE if row[5] not in {Action.MERGE, Action.CONFLICT}])
def test_the_policy_decides_nothing_else(
    row: tuple[str, Access, str, str, str, Action], policy: ConflictPolicy
) -> None:
    _, access, baseline, local, remote, expected = row

    assert expected == reconcile(baseline, local, remote, access, policy)


def _pattern(contents: tuple[str | None, ...]) -> tuple[int, ...]:
    """Name each content by the order of its first appearance: two triples of one pattern are one cell."""
    seen: dict[str, int] = {}
    return tuple(0 if one is None else seen.setdefault(one, len(seen) + 1) for one in contents)


def test_the_table_covers_every_cell_exactly_once() -> None:
    cells = {(access, _pattern(triple)) for access in Access for triple in product((GONE, "x", "y", "z"), repeat=3)}

    covered = [(row[1], _pattern(row[2:5])) for row in TABLE]

    assert cells == set(covered)
    assert len(covered) == len(set(covered))


@pytest.mark.parametrize("triple", list(product((GONE, B, L, R), repeat=3)))
def test_a_read_only_store_never_changes_the_remote(triple: tuple[str | None, str | None, str | None]) -> None:
    changing = {Action.PUSH, Action.CREATE, Action.DELETE_REMOTE, Action.MERGE, Action.CONFLICT, Action.OVERRULE}

    assert changing.isdisjoint(reconcile(*triple, RO, policy) for policy in ConflictPolicy)
