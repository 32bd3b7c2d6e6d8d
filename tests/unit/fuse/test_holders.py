"""Who uses a directory, and who serves it, read from /proc."""

import os
from pathlib import Path

import pytest

from memfs.fuse import holders, lock


def test_an_open_file_and_a_working_directory_hold_what_they_lie_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    used, entered, beside = tmp_path / "used", tmp_path / "entered", tmp_path / "use"
    for directory in (used, entered, beside):
        directory.mkdir()
    monkeypatch.chdir(entered)

    with (used / "note.md").open("w"):
        found = [holders.holders(directory) for directory in (used, entered, beside)]

    (name,) = found[0]
    assert name.endswith(f"({os.getpid()})")
    assert [[name], [name], []] == found


def test_a_message_names_three_holders_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holders, "holders", lambda _point: [f"bash ({pid})" for pid in range(1, 6)])

    assert "held by bash (1), bash (2), bash (3) and 2 more" == holders.told(Path("/mnt/memory"))


def test_a_message_does_not_guess_whom_it_cannot_see(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holders, "holders", lambda _point: [])

    assert "held by a program of another user, or by one that comes and goes" == holders.told(Path("/mnt/memory"))


def test_the_process_that_serves_a_mount_is_found_by_its_lock(tmp_path: Path) -> None:
    with lock.held(tmp_path / "state", tmp_path / "point"):
        assert os.getpid() == holders.server_of(tmp_path / "point", lock.NAME)
        assert holders.server_of(tmp_path / "other", lock.NAME) is None

    assert holders.server_of(tmp_path / "point", lock.NAME) is None
