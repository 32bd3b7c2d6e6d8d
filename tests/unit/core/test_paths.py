"""Store paths: section 5 of the Memory Stores API, with its test vectors (section 9)."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfs.core import paths
from memfs.core.errors import InvalidPath, InvalidRequest, PathTooLong
from memfs.core.limits import Limits

BYTES_1024 = "/" + "/".join(["x" * 92] * 10) + "/" + "y" * 93


@pytest.mark.parametrize(
    "text",
    [
        "/a",
        "/a/b.md",
        "/A/a",
        "/with space",
        "/ends with a dot.",
        "/back\\slash",
        "/100%_sure",
        "/.hidden",
        "/...",
        "/.anthropic-memory-store/below",
        "/é",  # composed: NFC
        "/日本語/ノート.md",
        "/😀.md",
        "/\ue000",  # private use
        "/" + "s" * 300,  # a segment that only the wire can hold
        "/" + "/".join("abcdefghijklmnopqrst"),
        BYTES_1024,
        "/" + "é" * 511 + "x",
    ],
)
def test_a_store_path_is_taken_as_it_is(text: str) -> None:
    assert text == paths.parse(text)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", InvalidPath),
        ("a", InvalidPath),
        ("/", InvalidPath),
        ("/a/", InvalidPath),
        ("//a", InvalidPath),
        ("/a//b", InvalidPath),
        ("/.", InvalidPath),
        ("/a/../b", InvalidPath),
        ("/e\u0301", InvalidPath),  # NFD
        ("/\u212b", InvalidPath),  # the Ångström sign: NFC is another character
        ("/a\u200db", InvalidPath),  # ZWJ
        ("/a\u00adb", InvalidPath),  # soft hyphen
        ("/\ufeffa", InvalidPath),  # BOM
        ("/a\u202eb", InvalidPath),  # right-to-left override
        ("/a\u2028b", InvalidPath),
        ("/a\u2029b", InvalidPath),
        ("/a\x00b", InvalidPath),
        ("/a\nb", InvalidPath),
        ("/a\x7fb", InvalidPath),
        ("/a\x85b", InvalidPath),
        ("/a\udc80b", InvalidPath),  # lone surrogate
        ("/.anthropic-memory-store", InvalidPath),
        ("/" + "/".join("abcdefghijklmnopqrstu"), PathTooLong),
        (BYTES_1024 + "z", PathTooLong),
        ("/" + "é" * 512, PathTooLong),
    ],
)
def test_what_is_no_store_path_is_refused(text: str, error: type[InvalidRequest]) -> None:
    with pytest.raises(InvalidRequest) as refused:
        paths.parse(text)

    assert error is type(refused.value)


def test_the_vectors_stand_on_the_edge() -> None:
    assert 1024 == len(BYTES_1024)
    assert 20 == "/".join("abcdefghijklmnopqrst").count("/") + 1


def test_the_message_of_a_refusal_fits_on_a_line_and_shows_no_raw_character() -> None:
    with pytest.raises(InvalidPath) as refused:
        paths.parse("/\u202e" + "é" * 5_000)

    text = str(refused.value)
    assert len(text) < 300
    assert "\u202e" not in text


def test_other_limits_may_be_handed_in() -> None:
    limits = Limits(path_bytes=4, segments=2)

    assert "/a/b" == paths.parse("/a/b", limits)
    with pytest.raises(PathTooLong):
        paths.parse("/abcd", limits)
    with pytest.raises(PathTooLong):
        paths.parse("/a/b/c", Limits(segments=2))


def test_a_directory_holds_no_segment_past_255_bytes() -> None:
    assert "/" + "é" * 127 + "x" == paths.check_local(paths.parse("/" + "é" * 127 + "x"))
    with pytest.raises(PathTooLong):
        paths.check_local(paths.parse("/" + "é" * 128))


@pytest.mark.parametrize(
    ("relative", "error"),
    [
        (b"a/\xff", InvalidPath),
        (b"a\n", InvalidPath),
        (b"s" * 256, PathTooLong),
        (b"a/" * 20 + b"a", PathTooLong),
        ("e\u0301".encode(), InvalidPath),
    ],
)
def test_a_file_that_can_be_no_memory_is_refused(relative: bytes, error: type[InvalidRequest]) -> None:
    with pytest.raises(error):
        paths.from_local(relative)


def test_a_path_is_taken_apart_by_segments() -> None:
    path = paths.from_local(b"a/b/c.md")

    assert "/a/b/c.md" == path
    assert ["a", "b", "c.md"] == paths.segments(path)
    assert "a/b/c.md" == paths.relative(path)
    assert "c.md" == paths.name_of(path)
    assert ["/a/b", "/a"] == paths.ancestors(path)
    assert [] == paths.ancestors(paths.parse("/a"))


@pytest.mark.parametrize(
    ("path", "above", "expected"),
    [
        ("/a/b", "/a", True),
        ("/a/b", "/a/", True),
        ("/a/b/c", "/a", True),
        ("/a/b", "/", True),
        ("/a", "/a", False),
        ("/ab", "/a", False),
        ("/aXb/c", "/a_b", False),
    ],
)
def test_below_is_decided_by_whole_segments(path: str, above: str, expected: bool) -> None:
    assert expected == paths.is_below(path, above)


@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=40))
def test_a_text_is_refused_or_names_one_file_that_leads_back_to_it(text: str) -> None:
    try:
        path = paths.check_local(paths.parse("/" + text))
    except InvalidRequest:
        return

    assert path == paths.from_local(paths.relative(path).encode())
    assert unicodedata.is_normalized("NFC", path)
    assert not {"", ".", ".."} & set(paths.segments(path))


@given(st.binary(max_size=40))
def test_any_bytes_of_a_directory_entry_are_a_path_or_refused(relative: bytes) -> None:
    try:
        path = paths.from_local(relative)
    except InvalidRequest:
        return

    assert relative == paths.relative(path).encode()
