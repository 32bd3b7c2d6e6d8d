"""Moments and ids only grow, whatever the clock does and however many threads ask."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from memfs.server.store.stamps import Stamps, identifier, microseconds, moment

MOMENTS = st.integers(0, 2**56 - 1)


def test_a_clock_that_stands_still_or_steps_back_does_not_repeat_a_moment() -> None:
    clock = iter([100, 100, 50, 101, 200])
    stamps = Stamps(lambda: next(clock))

    assert [stamps.next() for _ in range(5)] == [100, 101, 102, 103, 200]


def test_the_moments_of_an_earlier_run_are_not_repeated() -> None:
    stamps = Stamps(lambda: 100, last_us=500)

    assert [stamps.next(), stamps.next()] == [501, 502]


def test_no_two_threads_get_the_same_moment() -> None:
    stamps = Stamps(lambda: 7)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: stamps.next(), range(400)))

    assert len(set(found)) == 400


@given(st.lists(MOMENTS, min_size=2, unique=True))
def test_ids_sort_as_their_moments_do(moments: list[int]) -> None:
    ids = [identifier("mem", at_us) for at_us in sorted(moments)]

    assert ids == sorted(ids)


def test_two_ids_of_one_moment_differ() -> None:
    assert len({identifier("mem", 7) for _ in range(100)}) == 100


@given(MOMENTS)
def test_an_id_has_one_shape(at_us: int) -> None:
    assert re.fullmatch("mem_01[1-9A-HJ-NP-Za-km-z]{22}", identifier("mem", at_us))


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_moment_survives_the_way_into_the_database_and_back(at: datetime) -> None:
    assert at == moment(microseconds(at))
