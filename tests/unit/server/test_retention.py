"""What may go and what stays, as a table of values."""

import pytest

from memfs.core.errors import UsageError
from memfs.server.store.retention import History, Retention, most_to_go

DAY_US = 86_400_000_000
HORIZON = 100 * DAY_US
OLD, NEW = HORIZON - 1, HORIZON


@pytest.mark.parametrize(
    ("is_live", "versions", "newest_at", "most"),
    [
        (True, 1, OLD, 0),
        (True, 10, OLD, 0),
        (True, 11, OLD, 1),
        (True, 250, NEW, 240),
        (False, 1, OLD, 1),
        (False, 12, OLD, 12),
        (False, 12, NEW, 0),
    ],
)
def test_a_living_memory_keeps_its_newest_and_a_deleted_one_everything_until_its_deletion_is_old(
    *, is_live: bool, versions: int, newest_at: int, most: int
) -> None:
    history = History(is_live=is_live, versions=versions, newest_at=newest_at)

    assert most_to_go(history, Retention(), HORIZON) == most


def test_the_horizon_is_so_many_days_ago() -> None:
    assert Retention(days=45).horizon(100 * DAY_US) == 55 * DAY_US


@pytest.mark.parametrize(("days", "newest"), [(29, 10), (0, 10), (-1, 10), (30, 9), (30, 0)])
def test_less_than_the_floors_is_refused(days: int, newest: int) -> None:
    with pytest.raises(UsageError, match="or more"):
        Retention(days=days, keep_newest=newest)
