"""`memfs status --wait`, with a real worker and server: 0 once nothing is pending, else 1 with what is left."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from commands import MEMFS, STOP_TIMEOUT_S, Memfs, serving

from memfs.state.attachments import attached
from memfs.state.layout import Layout


@pytest.fixture
def name(memfs: Memfs, tmp_path: Path) -> str:
    name = f"waiting {tmp_path.name}"
    assert 0 == memfs.run("stores", "create", name).code
    return name


@contextmanager
def syncing(memfs: Memfs, state: Path, *words: str | Path) -> Iterator[None]:
    worker = subprocess.Popen(
        [MEMFS, "sync", "--state", state, *words], env=dict(memfs.environ), stderr=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        worker.terminate()
        worker.wait(STOP_TIMEOUT_S)


def tree_of(state: Path) -> Path:
    (only,) = attached(Layout(state))
    return Layout(state).store(only.store_id).tree


def wait(memfs: Memfs, state: Path, timeout_s: float = 30.0) -> tuple[int, str, str]:
    printed = memfs.run("status", "--wait", "--timeout", str(timeout_s), "--state", state)
    return printed.code, printed.out, printed.err


def test_it_returns_once_everything_is_on_the_remote(memfs: Memfs, name: str, tmp_path: Path) -> None:
    state = tmp_path / "state"
    with syncing(memfs, state, "--store", name):
        assert 0 == wait(memfs, state)[0]
        (tree_of(state) / "a.md").write_text("text\n")
        code, out, err = wait(memfs, state)
        pushed = memfs.run("memories", "get", name, "/a.md").out

    assert (0, "", "text\n") == (code, err, pushed)
    assert "synced" in out


def test_a_worker_that_is_about_to_start_is_waited_for(memfs: Memfs, name: str, tmp_path: Path) -> None:
    state = tmp_path / "state"
    waiting = subprocess.Popen(
        [MEMFS, "status", "--wait", "--state", state], env=dict(memfs.environ), stdout=subprocess.DEVNULL
    )
    with syncing(memfs, state, "--store", name):
        code = waiting.wait(60)

    assert 0 == code


def test_without_a_worker_nothing_is_certain(memfs: Memfs, name: str, tmp_path: Path) -> None:
    state = tmp_path / "state"
    assert 0 == memfs.run("sync", "--once", "--store", name, "--state", state).code

    code, out, err = wait(memfs, state, 0)

    assert (1, True) == (code, "not running" in out)
    assert "no worker runs" in err


def test_what_the_remote_never_takes_is_named(memfs: Memfs, name: str, tmp_path: Path) -> None:
    state = tmp_path / "state"
    with syncing(memfs, state, "--store", name):
        assert 0 == wait(memfs, state)[0]
        (tree_of(state) / "bad.md").write_bytes(b"\xff")
        code, _, err = wait(memfs, state)

    assert 1 == code
    assert "1 path is not synced: " in err
    assert "/bad.md" in err


def test_what_is_left_after_the_timeout_is_named(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with serving(tmp_path / "data") as server:
        memfs = Memfs.at_home(tmp_path, MEMFS_BASE_URL=server.url, MEMFS_API_KEY=server.key)
        assert 0 == memfs.run("stores", "create", "Notes").code
        assert 0 == memfs.run("sync", "--once", "--store", "Notes", "--state", state).code
    quick = tmp_path / "quick.toml"
    quick.write_text("[worker]\ndrain_timeout_s = 1\n")
    with syncing(memfs, state, "--store", "Notes", "-c", quick):
        (tree_of(state) / "a.md").write_text("text\n")
        code, out, err = wait(memfs, state, 3)

    assert 1 == code
    assert "remote_unavailable" in out
    assert "1 path is not synced: notes/a.md" in err
