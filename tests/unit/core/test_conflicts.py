"""Conflict names: where the losing bytes go, and that they cannot flood a store."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfs.core import paths
from memfs.core.conflicts import conflict_path, is_conflict_copy
from memfs.core.paths import StorePath

SHA = "0123456789abcdef" * 4
OTHER = "fedcba9876543210" * 4


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/note.md", "/note.conflict-01234567.md"),
        ("/a/b/note.md", "/a/b/note.conflict-01234567.md"),
        ("/Makefile", "/Makefile.conflict-01234567"),
        ("/.bashrc", "/.bashrc.conflict-01234567"),
        ("/archive.tar.gz", "/archive.tar.conflict-01234567.gz"),
        ("/ends.", "/ends.conflict-01234567."),
        ("/a b/ñandú.txt", "/a b/ñandú.conflict-01234567.txt"),
    ],
)
def test_the_mark_stands_before_the_extension(path: str, expected: str) -> None:
    assert expected == conflict_path(StorePath(path), SHA)


def test_the_same_bytes_get_the_same_name_and_others_another() -> None:
    path = StorePath("/note.md")

    assert conflict_path(path, SHA) == conflict_path(path, SHA)
    assert conflict_path(path, SHA) != conflict_path(path, OTHER)


def test_a_conflict_about_a_copy_is_a_copy_of_the_original() -> None:
    copy = conflict_path(StorePath("/d/note.md"), SHA)

    assert conflict_path(StorePath("/d/note.md"), OTHER) == conflict_path(copy, OTHER)
    assert copy == conflict_path(copy, SHA)


@pytest.mark.parametrize("digits", [8, 16, 32, 64])
def test_a_copy_is_known_by_its_name(digits: int) -> None:
    assert is_conflict_copy(conflict_path(StorePath("/note.md"), SHA, digits=digits))


@pytest.mark.parametrize("path", ["/note.md", "/note.conflict-1.md", "/conflict-01234567", "/x.conflict-01234567.a.b"])
def test_a_name_that_only_resembles_a_copy_is_none(path: str) -> None:
    assert not is_conflict_copy(StorePath(path))


def test_a_long_name_is_shortened_on_a_character_boundary() -> None:
    path = StorePath("/" + "é" * 125 + ".md")  # 253 bytes

    copy = conflict_path(path, SHA)

    assert StorePath("/" + "é" * 117 + ".conflict-01234567.md") == copy
    assert 255 >= len(copy[1:].encode())


def test_an_endless_extension_is_part_of_the_stem() -> None:
    copy = conflict_path(StorePath("/a." + "x" * 250), SHA)

    assert copy.endswith("x.conflict-01234567")
    assert 255 == len(copy[1:].encode())


def test_a_directory_without_room_sends_the_copy_upwards() -> None:
    deep = "/".join(["d" * 250] * 4)  # 1,003 bytes

    copy = conflict_path(StorePath(f"/{deep}/note-12345678.md"), SHA)

    assert StorePath("/" + "/".join(["d" * 250] * 3) + "/note-12345678.conflict-01234567.md") == copy


NAMES = st.text(st.sampled_from("ab.é漢~-"), min_size=1, max_size=90).filter(lambda name: name not in {".", ".."})


@given(st.lists(NAMES, min_size=1, max_size=20))
def test_every_copy_has_a_path_that_a_store_and_a_directory_can_hold(names: list[str]) -> None:
    path = "/" + "/".join(names)
    if len(path.encode()) > 1024:
        return

    copy = conflict_path(paths.parse(path), SHA)

    assert copy == paths.check_local(paths.parse(copy))
    assert is_conflict_copy(copy)
