"""The directory of common counts: one for each server, and none of a server that is gone."""

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from memfs.server.counting import counting_directory

KILLED = """
import os, signal, sys, tempfile
tempfile.tempdir = sys.argv[1]
from memfs.server.counting import counting_directory
with counting_directory() as directory:
    (directory / "counter.db").write_text("1")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def _below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_it_is_gone_afterwards(tmp_path: Path) -> None:
    with counting_directory() as directory:
        (directory / "counter.db").write_text("1")
        assert directory.stat().st_mode & 0o777 == 0o700

    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_server_left_is_removed_and_that_of_a_living_one_kept(tmp_path: Path) -> None:
    for _ in range(2):
        subprocess.run([sys.executable, "-c", KILLED, tmp_path], check=False, timeout=20)
    (tmp_path / "memfs-metrics-a-file").touch()
    (tmp_path / "another").mkdir()
    (tmp_path / "memfs-metrics-link").symlink_to(tmp_path / "another")
    with counting_directory() as living:
        (living / "counter.db").write_text("1")
        with counting_directory() as mine:
            left = sorted(path.name for path in tmp_path.iterdir())

            assert left == sorted(["another", living.name, mine.name, "memfs-metrics-a-file", "memfs-metrics-link"])
            assert (living / "counter.db").read_text() == "1"
