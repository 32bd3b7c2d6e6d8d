"""The guards around every test: an unexpected warning fails it, a mount that is left behind fails the run."""

import os
import re
import subprocess
import sys
from pathlib import Path

from leftovers import mounts_below

TESTS = """
import logging, pathlib, pytest

def test_quiet(): logging.info("nothing to see")

def test_noisy(): logging.warning("the remote is gone")

@pytest.mark.expect_log("remote is gone")
def test_announced(): logging.warning("the remote is gone")

@pytest.mark.expect_log("another text")
def test_announced_something_else(): logging.warning("the remote is gone")

def test_settings(): assert not [name for name in __import__("os").environ if name.startswith("MEMFS_")]
"""


def test_an_unexpected_warning_fails_its_test_and_no_setting_reaches_it(root: Path, tmp_path: Path) -> None:
    (tmp_path / "test_sample.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "conftest", "-c", root / "pyproject.toml", "-q", tmp_path]
    environment = {
        "PATH": os.environ["PATH"],
        "COLUMNS": "200",
        "PYTHONPATH": str(root / "tests"),
        "MEMFS_API_KEY": "of-the-machine",
    }

    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)

    failed = re.findall(
        r"^ERROR .*::(\w+) - Failed: unexpected log: root: the remote is gone", done.stdout, re.MULTILINE
    )
    assert sorted(failed) == ["test_announced_something_else", "test_noisy"]
    assert "5 passed, 2 errors" in done.stdout


def test_a_mount_below_the_run_is_seen_and_another_is_not() -> None:
    mountinfo = (
        "22 1 254:0 / / rw - ext4 /dev/vda rw\n"
        "40 22 0:39 / /tmp/run-1/a\\040b/mnt rw - fuse.memfs memfs rw\n"
        "41 40 0:40 / /tmp/run-1/a\\040b/mnt/notes ro - fuse.memfs memfs rw\n"
        "42 22 0:41 / /tmp/run-12/mnt rw - fuse.memfs memfs rw\n"
    )

    assert mounts_below(Path("/tmp/run-1"), mountinfo) == ["/tmp/run-1/a b/mnt", "/tmp/run-1/a b/mnt/notes"]
