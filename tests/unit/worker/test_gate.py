"""The gate before the remote: shut after a failure, longer after each, as long as the remote asks."""

from fakes import FakeClock

from memfs.core.errors import RateLimited, RemoteUnavailable
from worker.gate import Gate, Pause

AWAY = RemoteUnavailable("nobody answers")


def shut_for(gate: Gate, clock: FakeClock) -> float:
    return gate.opens_at - clock.monotonic()


def test_it_shuts_longer_after_each_failure_and_starts_over_after_a_success() -> None:
    clock = FakeClock()
    gate = Gate(clock.monotonic, lambda: 0.5)
    waits = []
    for _ in range(3):
        assert gate.is_open
        gate.failed(AWAY)
        waits.append(shut_for(gate, clock))
        clock.advance(waits[-1])
    gate.worked()
    gate.failed(AWAY)

    assert [0.25, 0.5, 1.0] == waits
    assert 0.25 == shut_for(gate, clock)


def test_calls_that_failed_together_count_once() -> None:
    clock = FakeClock()
    gate = Gate(clock.monotonic, lambda: 0.5)
    gate.failed(AWAY)
    gate.failed(AWAY)

    assert 0.25 == shut_for(gate, clock)


def test_it_stays_shut_for_as_long_as_the_remote_asks() -> None:
    clock = FakeClock()
    gate = Gate(clock.monotonic, lambda: 0.0)
    gate.failed(RateLimited("slow down", retry_after_s=20.0))

    clock.advance(19.9)
    assert not gate.is_open
    clock.advance(0.1)
    assert gate.is_open


def test_a_pause_gets_longer_until_its_cap_and_starts_over() -> None:
    clock = FakeClock()
    pause = Pause(clock.monotonic, 1.0, 3.0)
    waits = []
    for _ in range(3):
        pause.begin()
        assert pause.is_on
        waits.append(pause.until - clock.monotonic())
        clock.advance(waits[-1])
        assert not pause.is_on
    pause.reset()
    pause.begin()

    assert [1.0, 2.0, 3.0] == waits
    assert 1.0 == pause.until - clock.monotonic()
