"""Who else may look: nobody, unless the mount says so; through the command itself."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memfs.core.attachment import Access, Attachment
from memfs.fuse import mountinfo
from memfs.state.attachments import attach
from memfs.state.layout import Layout

NOBODY = 65_534


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A directory that other users may pass through: pytest's own are private."""
    for above in [tmp_path, *tmp_path.parents]:
        mode = above.stat().st_mode
        if not mode & 0o001:
            above.chmod(mode | 0o001)
    return tmp_path


@contextmanager
def mounting(home: Path, until: Callable[..., None], *words: str) -> Iterator[Path]:
    layout, point = Layout(home / "state"), home / "point"
    point.mkdir()
    attach(layout, [Attachment(store_id="memstore_n", name="N", slug="n", access=Access.READ_WRITE)])
    (layout.store("memstore_n").tree / "a.md").write_text("text\n")
    command = [sys.executable, "-I", "-m", "memfs.cli", "mount", point, "--state", layout.root, *words]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            until(lambda: mountinfo.at(point) is not None)
            yield point
        finally:
            process.terminate()


def read_as_nobody(path: Path) -> tuple[int, bytes]:
    # Root becomes somebody else, with no group of its own; an ordinary user is nobody else than itself.
    nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    done = subprocess.run(["cat", path], capture_output=True, timeout=20, check=False, **nobody)
    return done.returncode, done.stdout


def test_other_users_read_what_a_mount_lets_them(home: Path, until: Callable[..., None]) -> None:
    words = ("--allow-other",) if os.geteuid() == 0 else ()
    with mounting(home, until, *words) as point:
        assert read_as_nobody(point / "n" / "a.md") == (0, b"text\n")


def test_other_users_are_kept_out_where_it_does_not(home: Path, until: Callable[..., None]) -> None:
    with mounting(home, until) as point:
        expected = (1, b"") if os.geteuid() == 0 else (0, b"text\n")
        assert read_as_nobody(point / "n" / "a.md") == expected


def test_a_umask_keeps_them_out_of_the_stores(home: Path, until: Callable[..., None]) -> None:
    words = ("--allow-other", "--umask", "077") if os.geteuid() == 0 else ("--umask", "777")
    with mounting(home, until, *words) as point:
        assert read_as_nobody(point / "n" / "a.md") == (1, b"")
