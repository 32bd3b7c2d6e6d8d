"""How many requests a caller may make: buckets that fill as time passes, each caller's own."""

import pytest

from memfs.core.errors import RateLimited
from memfs.server import rates as module
from memfs.server.rates import Rates


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def granted(rates: Rates, actor: str, tries: int) -> int:
    count = 0
    for _ in range(tries):
        try:
            rates.take(actor)
        except RateLimited:
            continue
        count += 1
    return count


def test_a_minutes_requests_may_come_at_once_and_then_as_time_passes() -> None:
    clock = Clock()
    rates = Rates(60, clock)

    assert granted(rates, "a", 100) == 60
    clock.now_s += 5
    assert granted(rates, "a", 100) == 5
    clock.now_s += 3_600
    assert granted(rates, "a", 100) == 60


def test_a_share_of_less_than_one_request_is_granted_in_its_time() -> None:
    """One request a minute, shared by two processes, is one in two minutes of each, not none."""
    clock = Clock()
    rates = Rates(0.5, clock)

    assert granted(rates, "a", 10) == 1
    clock.now_s += 60
    assert granted(rates, "a", 10) == 0
    clock.now_s += 60
    assert granted(rates, "a", 10) == 1


def test_each_caller_has_a_bucket_of_its_own() -> None:
    rates = Rates(2, Clock())

    assert (granted(rates, "a", 5), granted(rates, "b", 5)) == (2, 2)


@pytest.mark.parametrize(("per_minute", "wait_s"), [(1, 60.0), (2, 30.0), (60, 1.0), (6_000, 1.0)])
def test_a_refusal_says_when_to_come_again_in_whole_seconds(per_minute: int, wait_s: float) -> None:
    clock = Clock()
    rates = Rates(per_minute, clock)
    granted(rates, "a", per_minute)

    with pytest.raises(RateLimited) as refused:
        rates.take("a")

    assert refused.value.retry_after_s == wait_s
    clock.now_s += wait_s
    assert granted(rates, "a", 1) == 1


def test_refused_requests_do_not_put_the_next_one_off() -> None:
    clock = Clock()
    rates = Rates(1, clock)
    granted(rates, "a", 1)
    for _ in range(59):
        clock.now_s += 1
        assert granted(rates, "a", 1) == 0
    clock.now_s += 1.001

    assert granted(rates, "a", 1) == 1


def test_without_a_number_there_is_no_limit() -> None:
    assert granted(Rates(None, Clock()), "a", 1_000) == 1_000


def test_callers_who_are_gone_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_KEPT", 10)
    clock = Clock()
    rates = Rates(60, clock)
    for number in range(100):
        rates.take(f"caller {number}")
        clock.now_s += 2

    assert len(rates._buckets) <= 11
