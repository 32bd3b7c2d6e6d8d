"""The brakes: which deletions are too many, and of what."""

import pytest

from memfs.core.brakes import WINDOW_S, Counted, is_too_much

NOW = 10_000.0


def deletions(count: int, memories: int, *, at: float = NOW, is_pending: bool = False) -> list[Counted]:
    return [Counted(at=at, memories=memories - number, is_pending=is_pending) for number in range(count)]


@pytest.mark.parametrize(
    ("count", "memories", "is_much"),
    [
        (0, 0, False), (0, 5, False),
        (1, 1, False),  # the only memory may go
        (1, 2, False), (2, 2, True), (2, 3, False), (3, 3, True),  # all of two or more may not
        (8, 9, False), (9, 9, True), (8, 8, True),
        (9, 26, True), (9, 27, False), (9, 28, False),  # more than eight and more than a third
        (3333, 10_000, False), (3334, 10_000, True),
    ],
)  # fmt: skip
def test_too_much_is_everything_or_a_third_and_more_than_a_few(count: int, memories: int, *, is_much: bool) -> None:
    expected = (count, memories) if is_much else None

    assert expected == is_too_much(deletions(count, memories), NOW)
    assert expected == is_too_much(deletions(count, memories, is_pending=True), NOW)


def test_what_was_carried_out_before_the_window_does_not_count() -> None:
    long_ago, lately = deletions(2, 4, at=NOW - WINDOW_S), deletions(1, 2, at=NOW - 1)

    assert is_too_much(long_ago + lately, NOW) is None
    assert is_too_much(long_ago + deletions(2, 2), NOW) == (2, 2)


def test_deletions_one_by_one_count_together_against_the_store_before_the_first() -> None:
    spread = [Counted(at=NOW - 60 * number, memories=21 + number) for number in range(9)]

    assert is_too_much(spread, NOW) is None
    assert is_too_much([*spread, Counted(at=NOW, memories=20, is_pending=True)], NOW) == (10, 29)


def test_a_pending_deletion_counts_however_long_ago_it_was_seen() -> None:
    assert is_too_much(deletions(3, 3, at=NOW - 10 * WINDOW_S, is_pending=True), NOW) == (3, 3)


def test_what_was_made_since_does_not_hide_that_everything_else_went() -> None:
    """The store had three memories when the first went; a new one was made before the last did."""
    assert is_too_much([Counted(at=NOW - 1, memories=3), *deletions(2, 4)], NOW) == (3, 3)
