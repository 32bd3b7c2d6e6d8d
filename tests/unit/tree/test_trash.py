"""The trash: names tell the path, ages begin when a file was displaced, nothing takes another's place."""

import os
import time
from pathlib import Path

import pytest

from memfs.tree.trash import displaced, empty, keep_in_trash, trash_name

LONG_AGO_NS = 1_000_000_000


@pytest.fixture
def trash(tmp_path: Path) -> Path:
    return tmp_path


def test_what_is_kept_is_listed_with_its_path_and_its_own_age(trash: Path) -> None:
    before = time.time()
    kept = keep_in_trash(trash, trash_name("/d/nöte.md", LONG_AGO_NS), b"text\n")
    os.utime(trash / kept, (1.0, 1.0))

    (found,) = displaced(trash)

    assert (kept, "/d/nöte.md", 5) == (found.name, found.path, found.size_bytes)
    assert found.since >= before - 1


def test_two_texts_of_one_moment_are_both_kept(trash: Path) -> None:
    names = [keep_in_trash(trash, trash_name("/note.md", LONG_AGO_NS), text) for text in (b"one\n", b"two\n")]

    assert 2 == len(set(names))
    assert [b"one\n", b"two\n"] == [(trash / name).read_bytes() for name in names]
    assert {"/note.md"} == {one.path for one in displaced(trash)}


def test_a_path_that_its_name_does_not_tell_whole_is_not_told(trash: Path) -> None:
    keep_in_trash(trash, trash_name("/" + "long/" * 60 + "note.md", LONG_AGO_NS), b"text\n")
    (trash / "something else").write_text("text\n")
    (trash / "directory").mkdir()

    assert ["", ""] == [one.path for one in displaced(trash)]


def test_emptying_deletes_what_is_there_long_enough(trash: Path) -> None:
    keep_in_trash(trash, trash_name("/note.md", LONG_AGO_NS), b"text\n")

    assert 0 == empty(trash, time.time() - 60)
    assert 1 == len(displaced(trash))
    assert 1 == empty(trash, time.time() + 1)
    assert [] == displaced(trash)


def test_what_a_full_disk_does_not_take_leaves_nothing(trash: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int, _content: bytes, _offset: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("memfs.tree.trash.write_all", full)
    with pytest.raises(OSError, match="No space"):
        keep_in_trash(trash, trash_name("/note.md", LONG_AGO_NS), b"text\n")

    assert [] == displaced(trash)
