"""Three-way merges: what overlaps is a conflict, everything else of both sides is in the outcome, byte for byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfs.core.limits import Limits
from memfs.core.merge import merge, nearest_base

LIMITS = Limits()


def merged(base: str, remote: str, local: str, limits: Limits = LIMITS) -> str | None:
    content = merge(base.encode(), remote.encode(), local.encode(), limits)
    return None if content is None else content.decode()


@pytest.mark.parametrize(
    ("about", "base", "remote", "local", "expected"),
    [
        ("two appends", "a\n", "a\nr\n", "a\nl\n", "a\nr\nl\n"),
        ("two appends to nothing", "", "r\n", "l\n", "r\nl\n"),
        ("appends of what is there already", "x\n", "x\nx\n", "x\ny\n", "x\nx\ny\n"),
        ("an append that has the other's already", "a\n", "a\nr\n", "a\nr\nl\n", "a\nr\nl\n"),
        ("appends after edits of different lines", "a\nb\nc\n", "A\nb\nc\nr\n", "a\nb\nc\nl\n", "A\nb\nc\nr\nl\n"),
        ("appends without a newline in the end", "a\n", "a\nr", "a\nl", "a\nr\nl"),
        ("appends to a text without a newline in the end", "a", "a\nr\n", "a\nl\n", "a\nr\nl\n"),
        ("the same, with CRLF", "a", "a\r\nr", "a\r\nl\r\n", "a\r\nr\r\nl\r\n"),
        ("appends into the last line", "a", "ar", "al", None),
        ("edits of different lines", "a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n", "A\nb\nC\n"),
        ("edits of different lines with CRLF", "a\r\nb\r\nc\r\n", "A\r\nb\r\nc\r\n", "a\r\nb\r\nC", "A\r\nb\r\nC"),
        ("edits of one line", "a\n", "r\n", "l\n", None),
        ("edits of neighbouring lines", "a\nb\n", "A\nb\n", "a\nB\n", None),
        ("the same edit and another", "a\nb\nc\n", "A\nb\nc\n", "A\nb\nC\n", "A\nb\nC\n"),
        ("insertions at one place within", "a\nb\n", "a\nr\nb\n", "a\nl\nb\n", None),
        ("an insertion and an append", "a\nb\n", "i\na\nb\n", "a\nb\nl\n", "i\na\nb\nl\n"),
        ("a deletion and an append", "a\nb\nc\n", "b\nc\n", "a\nb\nc\nl\n", "b\nc\nl\n"),
        ("a deletion where the other edits", "a\nb\n", "a\n", "a\nB\n", None),
        ("everything deleted, and an append", "a\n", "", "a\nl\n", None),
        ("only the last newline taken, and an append", "a\n", "a", "a\nl\n", None),
        ("separators that are no newline", "a\u2028\nb\nc\n", "a\u2028\nb\nC\n", "A\u2028\nb\nc\n", "A\u2028\nb\nC\n"),
    ],
)  # fmt: skip
def test_each_pair_of_edits_has_its_outcome(
    about: str, base: str, remote: str, local: str, expected: str | None
) -> None:
    assert expected == merged(base, remote, local), about


def test_what_would_be_no_memory_is_a_conflict() -> None:
    small = Limits(memory_bytes=6)

    assert "a\nr\nl\n" == merged("a\n", "a\nr\n", "a\nl\n", small)
    assert merged("a\n", "a\nrr\n", "a\nl\n", small) is None
    assert merge(b"a\n", b"a\nr\n", b"a\n\xff\n", LIMITS) is None
    assert merge(b"a\n", b"a\n\xff\n", b"a\nl\n", LIMITS) is None


def test_the_longest_text_that_both_begin_with_is_merged_by() -> None:
    """A push whose answer was lost is in both: without it, its lines would be appended twice."""
    baseline, sent = b"a\n", b"a\nsent\n"

    assert sent == nearest_base([baseline, sent], b"a\nsent\nr\n", b"a\nsent\nl\n")
    assert baseline == nearest_base([baseline, sent], b"a\nr\n", b"a\nsent\nl\n")
    assert baseline == nearest_base([baseline, sent], b"edited\n", b"a\nsent\nl\n")


@pytest.mark.timeout(20)
@pytest.mark.parametrize("line", ["\n", "x\n", "- \n"])
def test_texts_of_equal_lines_do_not_take_for_ever(line: str) -> None:
    base = line * (50_000 // len(line))

    assert merged("top\n" + base, "TOP\n" + base * 2, line + base + "end\n") is None
    assert (
        merged("".join(f"{number % 60}\n" for number in range(30_000)), "9\n" + line * 30_000, f"{line}8\n" * 10_000)
        is None
    )


# ------------------------------------------------------------------------------------------------ whatever the texts

LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n", "d\r\n", "- e\n"]), max_size=9)
ENDINGS = st.sampled_from(["", "", "no newline"])
TEXTS = st.builds(lambda lines, ending: "".join(lines) + ending, LINES, ENDINGS)


@given(TEXTS, TEXTS)
def test_a_change_of_one_side_is_that_side(base: str, other: str) -> None:
    assert other == merged(base, other, base)
    assert other == merged(base, base, other)
    assert other == merged(base, other, other)


@given(TEXTS, TEXTS, TEXTS)
def test_merging_again_changes_nothing(base: str, remote: str, local: str) -> None:
    """A worker that was killed once the merge was in place merges again."""
    once = merged(base, remote, local)
    if once is not None:
        assert once == merged(base, remote, once)


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_appends_after_a_merge_stay_once(base: str, remote: str, local: str, more: str) -> None:
    once = merged(base, remote, local)
    if once is not None and (not once or once.endswith("\n")):
        assert once + more == merged(base, remote, once + more)


UNIQUE = st.lists(st.integers(0, 999), max_size=12, unique=True)


@given(UNIQUE, st.data())
def test_edits_of_different_places_merge_alike_in_either_order(numbers: list[int], data: st.DataObject) -> None:
    """Each side edits lines of its own, with a line that nobody edits between any two."""
    base = [f"{number}\n" for number in numbers]
    whose = [data.draw(st.sampled_from("rl-")) if place % 2 else "-" for place in range(len(base))]
    remote, local, both = (
        "".join(f"edited {line}" if side in sides else line for line, side in zip(base, whose, strict=True))
        for sides in ("r", "l", "rl")
    )

    assert both == merged("".join(base), remote, local) == merged("".join(base), local, remote)


@given(UNIQUE, st.data())
def test_no_line_that_only_one_side_added_is_lost(numbers: list[int], data: st.DataObject) -> None:
    base = [f"{number}\n" for number in numbers]

    def edited(side: str) -> list[str]:
        lines = [line for line in base if data.draw(st.integers(0, 5)) > 0]
        for count in range(data.draw(st.integers(0, 3))):
            lines.insert(data.draw(st.integers(0, len(lines))), f"{side}{count}\n")
        return lines

    remote, local = edited("r"), edited("l")
    found = merged("".join(base), "".join(remote), "".join(local))

    if found is not None:
        lines = found.splitlines(keepends=True)
        added = [line for line in remote + local if line not in base]
        kept = [line for line in base if line in remote and line in local]
        assert sorted(added + kept) == sorted(lines)


@given(TEXTS, LINES, LINES)
def test_appends_of_both_are_both_there(base: str, remote: list[str], local: list[str]) -> None:
    theirs, ours = "".join(f"r {line}" for line in remote), "".join(f"l {line}" for line in local)
    if not base.endswith("\n"):
        base += "\n"

    assert base + theirs + ours == merged(base, base + theirs, base + ours)
