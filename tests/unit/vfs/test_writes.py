"""Recent writes: when may a pull displace a file?"""

import pytest

from memfs.core.tree_requests import Identity, Outcome
from memfs.vfs.writes import QUIET_NS, Writes

FIRST = Identity(7, 10, 1000, 1000)
LATER = Identity(7, 14, 2000, 2000)
LAST = Identity(7, 20, 3000, 3000)
NOW = 50 * QUIET_NS


def test_an_unknown_file_is_judged_by_its_identity() -> None:
    assert Writes().judge(FIRST, FIRST, NOW) is Outcome.APPLIED
    assert Writes().judge(FIRST, LATER, NOW) is Outcome.CHANGED


@pytest.mark.parametrize(
    ("ago", "outcome"),
    [(0, Outcome.BUSY), (QUIET_NS - 1, Outcome.BUSY), (QUIET_NS, Outcome.APPLIED), (-1, Outcome.APPLIED)],
)
def test_a_lately_written_file_is_busy(ago: int, outcome: Outcome) -> None:
    writes = Writes()
    writes.changed(7, NOW - ago)

    assert writes.judge(FIRST, FIRST, NOW) is outcome


@pytest.mark.parametrize("expected", [FIRST, LATER])
def test_appends_since_are_no_change(expected: Identity) -> None:
    writes = Writes()
    writes.appending(FIRST)
    writes.appending(LATER)

    assert writes.judge(expected, LAST, NOW) is Outcome.APPLIED


def test_an_observation_before_another_write_is_a_change() -> None:
    writes = Writes()
    writes.appending(FIRST)
    writes.changed(7, NOW - 2 * QUIET_NS)
    writes.appending(LATER)

    assert writes.judge(FIRST, LAST, NOW) is Outcome.CHANGED
    assert writes.judge(LATER, LAST, NOW) is Outcome.APPLIED


def test_an_observation_in_the_tick_of_another_write_is_a_change() -> None:
    writes = Writes()
    writes.appending(LATER)

    assert writes.judge(LATER._replace(size=12), LAST, NOW) is Outcome.CHANGED


def test_another_inode_is_a_change() -> None:
    writes = Writes()
    writes.appending(FIRST._replace(inode=8))

    assert writes.judge(FIRST, LAST._replace(inode=8), NOW) is Outcome.CHANGED


def test_appends_do_not_end_the_wait_for_a_writer() -> None:
    writes = Writes()
    writes.changed(7, NOW)
    writes.appending(FIRST)

    assert writes.judge(FIRST, LATER, NOW + 1) is Outcome.BUSY


def test_old_knowledge_is_dropped_not_kept_for_ever() -> None:
    writes = Writes()
    for inode in range(10_000):
        writes.changed(inode, NOW)

    assert len(writes._records) <= 4096
    assert writes.judge(FIRST._replace(inode=9_999), FIRST._replace(inode=9_999), NOW) is Outcome.BUSY
