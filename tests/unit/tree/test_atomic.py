"""Durable writes: the old bytes or the new ones, never something between, and no leftovers."""

import os
from pathlib import Path

import pytest

from memfs.tree.atomic import fsync_directory, stage, write_all
from memfs.tree.trash import make_in_trash, path_in, trash_name


def test_staging_replaces_an_older_leftover(tmp_path: Path) -> None:
    stage(tmp_path, "s1", b"older and longer")

    path = stage(tmp_path, "s1", b"new")

    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o600


def test_write_all_goes_on_after_short_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, view, offset: whole(fd, view[:2], offset))
    with (tmp_path / "a").open("wb") as file:
        write_all(file.fileno(), b"hello", 1)
    fsync_directory(tmp_path)

    assert (tmp_path / "a").read_bytes() == b"\0hello"


@pytest.mark.parametrize("path", ["/a.md", "/notes/é ü.md", "/a%2Fb~c"])
def test_a_name_in_trash_tells_where_the_bytes_were(path: str) -> None:
    name = trash_name(path, 1_785_751_200_123_456_789)

    assert name.startswith("20260803T100000.123456789Z~")
    assert path_in(name) == path


def test_a_long_path_gives_a_name_that_a_directory_can_hold() -> None:
    assert len(trash_name("/" + "é" * 500, 0)) == 240
    assert path_in("something else") is None


@pytest.mark.parametrize(
    ("when_ns", "stamp"),
    [(-(10**18), "19700101T000000.000000000Z"), (2**63 * 10**9, "99991231T235959.999999999Z")],
)
def test_a_time_that_no_calendar_has_still_makes_a_name(when_ns: int, stamp: str) -> None:
    name = trash_name("/a.md", when_ns)

    assert f"{stamp}~a.md" == name
    assert "/a.md" == path_in(name)


def test_a_second_file_of_the_same_name_does_not_displace_the_first(tmp_path: Path) -> None:
    trash = os.open(tmp_path, os.O_RDONLY)
    name = trash_name("/a~b.md", 0)

    descriptors = [make_in_trash(trash, name) for _ in range(3)]

    for descriptor in (*descriptors, trash):
        os.close(descriptor)
    found = [entry.name for entry in tmp_path.iterdir()]
    assert len(found) == 3
    assert {path_in(one) for one in found} == {"/a~b.md"}
