"""What `memfs run` and its sandbox hand each other comes through as it was."""

import os

from memfs.sandbox import messages
from memfs.sandbox.plan import Plan


def test_a_plan_comes_through_one_word_whatever_its_names_are() -> None:
    odd = os.fsdecode(b"/tmp/\xff\n\"'")
    plan = Plan(
        command=["sh", odd], directory=odd, hidden=["/a", odd], has_network=True, has_terminal=False, uid=1, gid=2
    )

    assert plan == Plan.decoded(plan.encoded())
    assert plan.encoded().isascii()


def test_a_message_comes_whole_with_its_sender() -> None:
    ours, theirs = messages.pair()
    with ours, theirs:
        assert not messages.is_waiting(ours)
        messages.send(theirs, "ended", code=3)
        messages.send(theirs, "stopped", number=20)

        assert messages.is_waiting(ours)
        assert {"kind": "ended", "code": 3, "process": os.getpid()} == messages.receive(ours)
        assert "stopped" == messages.receive(ours)["kind"]


def test_an_end_that_went_away_is_told_as_a_message() -> None:
    ours, theirs = messages.pair()
    with ours:
        theirs.close()

        assert "gone" == messages.receive(ours)["kind"]
