"""Waiting between tries: bounded, spread, and never shorter than the remote asked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfs.core.backoff import delay_s

ALMOST_ONE = 1 - 2**-53


@pytest.mark.parametrize(("attempt", "ceiling_s"), [(0, 0.5), (1, 1.0), (2, 2.0), (3, 4.0), (6, 30.0), (5_000, 30.0)])
def test_the_ceiling_doubles_up_to_the_cap(attempt: int, ceiling_s: float) -> None:
    assert ceiling_s == pytest.approx(delay_s(attempt, random=ALMOST_ONE, base_s=0.5, cap_s=30.0))


def test_full_jitter_may_choose_no_wait_at_all() -> None:
    assert delay_s(4, random=0.0) == 0.0


def test_the_random_value_picks_the_place_below_the_ceiling() -> None:
    assert delay_s(1, random=0.25, base_s=2.0, cap_s=30.0) == 1.0


def test_what_the_remote_asks_for_is_waited_for_in_full() -> None:
    assert delay_s(0, random=0.0, retry_after_s=7.0) == 7.0


def test_jitter_comes_after_the_wait_the_remote_asked_for() -> None:
    assert delay_s(0, random=0.5, base_s=1.0, retry_after_s=7.0) == 7.5


def test_a_remote_cannot_ask_for_more_than_the_cap() -> None:
    assert delay_s(0, random=0.0, retry_after_s=86_400.0, retry_after_cap_s=60.0) == 60.0


def test_a_negative_wish_counts_as_none() -> None:
    assert delay_s(0, random=0.0, retry_after_s=-5.0) == 0.0


@given(
    attempt=st.integers(min_value=0, max_value=10**6),
    random=st.floats(min_value=0.0, max_value=1.0, exclude_max=True),
    wish=st.none() | st.floats(min_value=0.0, max_value=1e9),
)
def test_every_wait_is_bounded_and_never_negative(attempt: int, random: float, wish: float | None) -> None:
    waited = delay_s(attempt, random=random, cap_s=30.0, retry_after_s=wish, retry_after_cap_s=60.0)

    assert 0.0 <= waited <= 90.0
