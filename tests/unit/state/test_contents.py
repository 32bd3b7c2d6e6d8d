"""base/: contents by digest, never another content than the name says."""

from pathlib import Path

import pytest

from memfs.core.digest import content_sha256
from memfs.state.contents import Contents

TEXT = b"one\r\ntwo\x00\n"
SHA = content_sha256(TEXT)


@pytest.fixture
def contents(tmp_path: Path) -> Contents:
    return Contents(tmp_path)


def test_a_content_is_found_by_its_digest(contents: Contents) -> None:
    contents.put(SHA, TEXT)
    contents.put(SHA, TEXT)

    assert TEXT == contents.get(SHA)
    assert contents.get("0" * 64) is None


def test_a_torn_content_is_as_good_as_absent(contents: Contents, tmp_path: Path) -> None:
    (tmp_path / SHA).write_bytes(TEXT[:4])

    assert contents.get(SHA) is None
    contents.put(SHA, TEXT)
    assert TEXT == contents.get(SHA)


def test_what_nobody_needs_is_pruned(contents: Contents, tmp_path: Path) -> None:
    other = content_sha256(b"other")
    contents.put(SHA, TEXT)
    contents.put(other, b"other")

    assert 1 == contents.prune({SHA})
    assert [SHA] == [one.name for one in tmp_path.iterdir()]


def test_what_a_killed_process_left_is_cleared_apart(contents: Contents, tmp_path: Path) -> None:
    contents.put(SHA, TEXT)
    (tmp_path / f".{SHA}.left").write_bytes(b"half")

    assert 0 == contents.prune({SHA})
    assert 1 == contents.clear_partials()
    assert [SHA] == [one.name for one in tmp_path.iterdir()]
