"""Cursors: what was put in comes out, in its own listing only."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfs.core.errors import InvalidRequest
from memfs.server.store import cursors

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@given(TEXTS, TEXTS)
def test_a_text_comes_back_in_its_own_listing(listing: str, key: str) -> None:
    cursor = cursors.encode(listing, (key,))

    assert key == cursors.decode_text(listing, cursor)
    with pytest.raises(InvalidRequest):
        cursors.decode_text(listing + "x", cursor)
    with pytest.raises(InvalidRequest):
        cursors.decode_moment(listing, cursor)


@given(st.integers(-(2**62), 2**62), TEXTS)
def test_a_moment_comes_back(at_us: int, identifier: str) -> None:
    cursor = cursors.encode("versions", (at_us, identifier))

    assert cursors.decode_moment("versions", cursor) == (at_us, identifier)
    assert cursor.isascii()


@given(TEXTS)
def test_any_other_text_is_refused(text: str) -> None:
    for cursor in (text, f"page_{text}"):
        with pytest.raises(InvalidRequest):
            cursors.decode_moment("versions", cursor)


def forged(*key: object) -> str:
    whole = json.loads(base64.urlsafe_b64decode(cursors.encode("memories", ("x",)).removeprefix("page_") + "=="))
    return "page_" + base64.urlsafe_b64encode(json.dumps([whole[0], *key]).encode()).decode().rstrip("=")


@pytest.mark.parametrize("key", [(), (1,), (None,), ("a", "b"), ("\ud800",), (["a"],)])
def test_a_forged_text_is_refused(key: tuple[object, ...]) -> None:
    with pytest.raises(InvalidRequest):
        cursors.decode_text("memories", forged(*key))


@pytest.mark.parametrize("key", [(2**63, "x"), (-(2**70), "x"), (1.5, "x"), (1, 2), ("1", "x")])
def test_a_forged_moment_is_refused(key: tuple[object, ...]) -> None:
    with pytest.raises(InvalidRequest):
        cursors.decode_moment("memories", forged(*key))
