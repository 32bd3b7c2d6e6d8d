"""Text: a piece is refused only if nothing around it could make it UTF-8."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfs.core.errors import InvalidContent
from memfs.vfs.text import refuse_impossible, refuse_incomplete


@given(st.text(), st.data())
def test_every_cut_of_a_text_is_let_through(text: str, data: st.DataObject) -> None:
    content = text.encode()
    start = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(start, len(content)))

    refuse_impossible(content[start:end])


@pytest.mark.parametrize(
    "content",
    [
        b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5", b"\xf0\x80", b"a\x80", b"\x80\x80\x80\x80",
        b"\xc3a", b"\xe2\x82a", b"ok \xc3\xa9 then \xc3 alone", b"\xff\xfea\x00",
    ],
)  # fmt: skip
def test_what_can_never_be_text_is_refused(content: bytes) -> None:
    with pytest.raises(InvalidContent):
        refuse_impossible(content)


@pytest.mark.parametrize("content", [b"", b"\0", b"\x80", b"\xa9\x82\xac", b"\xe2\x82", b"\x9f\x98\x80 hi \xf0\x9f"])
def test_a_sequence_may_be_cut_at_the_edges(content: bytes) -> None:
    refuse_impossible(content)


def test_a_whole_file_must_be_complete() -> None:
    refuse_incomplete("Grüße".encode(), "a.md")

    with pytest.raises(InvalidContent, match=r"a\.md is no UTF-8 text \(byte 2\)"):
        refuse_incomplete(b"Gr\xc3", "a.md")
