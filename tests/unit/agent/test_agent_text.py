"""Text edits are exact to the byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfs.agent.text import (
    Occurrences,
    Page,
    Replaced,
    count_lines,
    inserted,
    lines_of,
    numbered,
    page,
    replaced,
)

TEXTS = st.text(alphabet="ab\n\r\x00é", max_size=12)


@pytest.mark.parametrize(
    ("text", "lines", "count"),
    [
        ("", [""], 0),
        ("a", ["a"], 1),
        ("a\n", ["a"], 1),
        ("a\nb", ["a", "b"], 2),
        ("a\n\n", ["a", ""], 2),
        ("\n", [""], 1),
        ("a\r\nb\r\n", ["a\r", "b\r"], 2),
        ("a\rb\x0bc\x85d\u2028e", ["a\rb\x0bc\x85d\u2028e"], 1),
    ],
)
def test_lines_end_at_lf_only_and_a_final_one_opens_no_line(text: str, lines: list[str], count: int) -> None:
    assert lines == lines_of(text)
    assert count == count_lines(text)


def test_numbers_are_six_wide_and_followed_by_a_tab() -> None:
    assert numbered(["Hello World", "x"], 1) == "     1\tHello World\n     2\tx"
    assert numbered(["x"], 999_999) == "999999\tx"


@pytest.mark.parametrize(
    ("text", "line", "addition", "expected"),
    [
        ("a\nb\n", 0, "x\n", "x\na\nb\n"),
        ("a\nb\n", 1, "x\n", "a\nx\nb\n"),
        ("a\nb\n", 2, "x\n", "a\nb\nx\n"),
        ("a\nb\n", 1, "x", "a\nx\nb\n"),
        ("a\nb\n", 2, "x", "a\nb\nx\n"),
        ("a\nb", 2, "x\n", "a\nb\nx"),
        ("a\nb", 2, "x", "a\nb\nx"),
        ("a\nb", 1, "x\n\n", "a\nx\n\nb"),
        ("a\n", 1, "x\n\n\n", "a\nx\n\n\n"),
        ("a\nb\n", 1, "", "a\n\nb\n"),
        ("", 0, "x", "x"),
        ("", 0, "x\n", "x\n"),
        ("a\r\nb\r\n", 1, "x", "a\r\nx\r\nb\r\n"),
        ("a\r\nb\r\n", 0, "x", "x\r\na\r\nb\r\n"),
        ("a\r\nb", 2, "x\r\n", "a\r\nb\r\nx"),
        ("a\nb", 2, "x\r", "a\nb\nx\r"),
        ("\nb", 1, "x", "\nx\nb"),
    ],
)
def test_insert_adds_whole_lines_and_changes_nothing_else(text: str, line: int, addition: str, expected: str) -> None:
    assert expected == inserted(text, line, addition)


@given(text=TEXTS, addition=TEXTS, data=st.data())
def test_insert_keeps_every_byte_of_the_text_around_it(text: str, addition: str, data: st.DataObject) -> None:
    line = data.draw(st.integers(0, count_lines(text)))

    result = inserted(text, line, addition)

    lines = text.split("\n")
    head, tail = "\n".join(lines[:line]), "\n".join(lines[line:])
    assert result.startswith(head)
    assert result.endswith(tail)
    assert text.endswith("\n") == result.endswith("\n") or not text.removesuffix("\n") or not tail


def test_replace_changes_the_one_occurrence_and_shows_two_lines_around_it() -> None:
    done = replaced("1\n2\n3\n4\n5\n6\n7\n", "4", "x\ny")

    assert isinstance(done, Replaced)
    assert done.text == "1\n2\n3\nx\ny\n5\n6\n7\n"
    assert done.snippet == "     2\t2\n     3\t3\n     4\tx\n     5\ty\n     6\t5\n     7\t6"


@pytest.mark.parametrize(
    ("text", "old", "new", "expected"),
    [
        ("a\r\nb\r\n", "b", "c", "a\r\nc\r\n"),
        ("a\r\nb\r\n", "a\r\nb", "c", "c\r\n"),
        ("a\x00b", "\x00", "", "ab"),
        ("é", "é", "e\u0301", "e\u0301"),
        ("all", "all", "", ""),
        ("a\nb", "\n", "", "ab"),
    ],
)
def test_replace_is_exact(text: str, old: str, new: str, expected: str) -> None:
    done = replaced(text, old, new)

    assert isinstance(done, Replaced)
    assert expected == done.text


@pytest.mark.parametrize(
    ("text", "old", "count", "lines"),
    [
        ("abc", "x", 0, ()),
        ("a a\na\nb\na", "a", 4, (1, 2, 4)),
        ("aaaa", "aa", 2, (1,)),
        ("x\ny\nx\ny\n", "x\ny", 2, (1, 3)),
    ],
)
def test_replace_names_each_line_once_when_it_does_nothing(
    text: str, old: str, count: int, lines: tuple[int, ...]
) -> None:
    assert replaced(text, old, "z") == Occurrences(count=count, lines=lines)


def test_a_long_snippet_is_cut() -> None:
    done = replaced("x", "x", "line\n" * 20_000)

    assert isinstance(done, Replaced)
    assert len(done.snippet) < 50_000
    assert done.snippet.endswith("\n…")


def test_a_page_ends_at_a_whole_line() -> None:
    lines = ["12345", "12345", "12345"]

    assert page(lines, 1, 3, limit=11) == Page(lines=("12345", "12345"), first=1, last=2, cut_line=False)
    assert page(lines, 1, 3, limit=10) == Page(lines=("12345",), first=1, last=1, cut_line=False)
    assert page(lines, 2, 3, limit=4) == Page(lines=("1234",), first=2, last=2, cut_line=True)
    assert page(lines, 1, 3, limit=17) == Page(lines=tuple(lines), first=1, last=3, cut_line=False)
