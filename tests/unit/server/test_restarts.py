"""When a process that ended is started again."""

from typing import Any

from memfs.server.restarts import FIRST_S, LONG_LIFE_S, LONGEST_S, Restarts


def ended_after(restarts: Restarts, clock: Any, life_s: float) -> float:
    """Let a process live and end; return how long it takes until it is due."""
    restarts.started(0)
    clock.now_s += life_s
    restarts.ended(0)
    ended_s = clock.now_s
    while not restarts.due():
        clock.now_s += 0.25
    return float(clock.now_s - ended_s)


def test_the_pause_grows_to_its_bound_while_processes_do_not_live(clock: Any) -> None:
    restarts = Restarts(clock)

    pauses = [ended_after(restarts, clock, 2.0) for _ in range(8)]

    assert pauses == [1.0, 2.0, 4.0, 8.0, 16.0, LONGEST_S, LONGEST_S, LONGEST_S]


def test_after_a_long_life_it_is_short_again(clock: Any) -> None:
    restarts = Restarts(clock)
    for _ in range(5):
        ended_after(restarts, clock, 0.0)

    assert ended_after(restarts, clock, LONG_LIFE_S) == FIRST_S
    assert ended_after(restarts, clock, 0.0) == 2 * FIRST_S


def test_each_process_has_its_own_pause_and_is_due_once(clock: Any) -> None:
    restarts = Restarts(clock)
    for number in (0, 1):
        restarts.started(number)
    restarts.ended(0)
    clock.now_s += FIRST_S
    restarts.ended(1)

    assert restarts.due() == [0]
    assert restarts.due() == []
    clock.now_s += FIRST_S
    assert restarts.due() == [1]
