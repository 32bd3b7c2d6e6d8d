"""content_sha256 is over the exact bytes; a memory holds UTF-8 text up to its limit."""

import pytest

from memfs.core.digest import check_content, content_sha256
from memfs.core.errors import ContentTooLarge, InvalidContent
from memfs.core.limits import Limits

SMALL = Limits(memory_bytes=4)


def test_the_digest_is_of_the_bytes_as_they_are() -> None:
    assert "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" == content_sha256(b"")
    assert content_sha256(b"a\r\n") != content_sha256(b"a\n")
    assert content_sha256("é".encode()) != content_sha256("e\u0301".encode())


@pytest.mark.parametrize("content", [b"", b"a\x00b", b"a\r\n", b"\xef\xbb\xbfa", "é\u2028".encode(), b"x" * 102_400])
def test_text_is_kept_byte_by_byte(content: bytes) -> None:
    assert content == check_content(content, Limits(), "/a.md").encode()


def test_one_byte_too_many_is_refused() -> None:
    with pytest.raises(ContentTooLarge, match=r"/a\.md has 102401 bytes"):
        check_content(b"x" * 102_401, Limits(), "/a.md")


@pytest.mark.parametrize("content", [b"\xff", b"ab\xc3", b"\xed\xa0\x80", b"\xc0\x80"])
def test_what_is_no_utf_8_is_refused_without_showing_it(content: bytes) -> None:
    with pytest.raises(InvalidContent, match=r"/a\.md is not UTF-8 text") as refused:
        check_content(content, SMALL, "/a.md")

    assert repr(content) not in str(refused.value)
