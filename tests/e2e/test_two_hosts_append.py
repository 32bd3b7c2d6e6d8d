"""Two mounts, two workers, one server: both append to one file at the same time, and workers are killed meanwhile."""

import os
import signal
from pathlib import Path

import pytest
from commands import Memfs
from running_up import Up, eventually, running_up

LINES = 40
KILLS = 2


@pytest.fixture
def notes(memfs: Memfs, tmp_path: Path) -> str:
    """A store of this test's own, by a name nobody else has."""
    name = f"Log {tmp_path.name}"
    assert memfs.run("stores", "create", name).code == 0
    return name


def directory_of(up: Up) -> Path:
    (only,) = (one for one in up.mount.iterdir() if one.name != ".memfs")
    return only


def log(up: Up) -> Path:
    return directory_of(up) / "log.md"


def kill_worker(up: Up) -> None:
    eventually(lambda: "worker" in up.children())
    os.kill(up.children()["worker"], signal.SIGKILL)


def test_appends_of_two_hosts_whose_workers_are_killed_end_as_all_appends(
    memfs: Memfs, notes: str, tmp_path: Path
) -> None:
    memfs.run("memories", "put", notes, "/log.md", stdin=b"first\n")
    with (
        running_up(memfs, tmp_path / "a", "--store", notes) as a,
        running_up(memfs, tmp_path / "b", "--store", notes) as b,
    ):
        eventually(lambda: log(a).read_text() == log(b).read_text() == "first\n")
        for number in range(LINES):
            for name, up in (("a", a), ("b", b)):
                with log(up).open("a") as file:
                    file.write(f"{name} {number}\n")
            if number % (LINES // KILLS) == LINES // KILLS // 2:
                kill_worker(a)
                kill_worker(b)
        expected = sorted(["first", *(f"{name} {number}" for name in "ab" for number in range(LINES))])

        eventually(lambda: sorted(log(a).read_text().splitlines()) == expected, 60)
        eventually(lambda: log(a).read_text() == log(b).read_text(), 60)

        assert ["log.md"] == [one.name for one in directory_of(a).iterdir()]
        assert ["log.md"] == [one.name for one in directory_of(b).iterdir()]
