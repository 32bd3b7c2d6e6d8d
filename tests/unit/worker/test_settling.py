"""When a change is over: quiet for a while, or changing for too long."""

from worker.settling import LONGEST_S, QUIET_S, Settling


def test_a_path_is_due_once_it_was_quiet() -> None:
    settling: Settling[str] = Settling()
    settling.mark("a", 10.0)

    assert [] == settling.take_due(10.0 + QUIET_S / 2)
    assert 10.0 + QUIET_S == settling.next_due()
    assert ["a"] == settling.take_due(10.0 + QUIET_S)
    assert settling.next_due() is None


def test_each_change_begins_the_quiet_anew() -> None:
    settling: Settling[str] = Settling()
    settling.mark("a", 10.0)
    settling.mark("a", 10.2)

    assert [] == settling.take_due(10.3)
    assert ["a"] == settling.take_due(10.2 + QUIET_S)


def test_a_path_that_changes_all_the_time_is_due_nevertheless() -> None:
    settling: Settling[str] = Settling()
    for tick in range(100):
        settling.mark("a", 10.0 + tick * 0.1)

    assert 10.0 + LONGEST_S == settling.next_due()
    assert ["a"] == settling.take_due(10.0 + LONGEST_S)


def test_paths_settle_on_their_own_and_all_may_be_taken() -> None:
    settling: Settling[str] = Settling()
    settling.mark("a", 10.0)
    settling.mark("b", 11.0)

    assert "b" in settling
    assert ["a"] == settling.take_due(11.0)
    assert ["b"] == settling.take_all()
    assert 0 == len(settling)


def test_what_is_waited_for_is_taken_before_it_settles_where_it_changed() -> None:
    settling: Settling[str] = Settling()
    settling.mark("a", 10.0)
    settling.mark("b", 10.0)

    assert ["b"] == settling.take_due(10.0, {"b", "c"})
    assert ["a"] == settling.take_all()
