"""`memfs up` whose processes are killed or stopped from outside: what it leaves, and what the other commands say."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from commands import Memfs
from running_up import eventually, is_mounted, running_up


@pytest.fixture
def notes(memfs: Memfs, tmp_path: Path) -> str:
    """A store of this test's own, by a name nobody else has."""
    name = f"Silent {tmp_path.name}"
    assert memfs.run("stores", "create", name).code == 0
    return name


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_a_mount_that_is_dead_when_all_is_to_stop_is_cleared(memfs: Memfs, notes: str, tmp_path: Path) -> None:
    """Its process was killed, and the signal comes while `up` waits to start it again; read-only mounts lie in it."""
    with running_up(memfs, tmp_path, "--store", notes, "--store", f"{other_store(memfs, notes)}:ro") as up:
        os.kill(up.children()["mount"], signal.SIGKILL)
        eventually(lambda: "the mount ended" in up.told())
        code = up.stop(signal.SIGTERM)

    assert code == 0
    assert "everything is synced" in up.told()
    assert not is_mounted(up.mount)
    assert str(up.mount) not in Path("/proc/self/mountinfo").read_text()
    assert [] == list(up.mount.iterdir())


def other_store(memfs: Memfs, name: str) -> str:
    assert memfs.run("stores", "create", f"Other {name}").code == 0
    return f"Other {name}"


def test_a_worker_that_does_not_answer_is_told_soon(memfs: Memfs, notes: str, tmp_path: Path) -> None:
    quick = tmp_path / "quick.toml"
    quick.write_text("[worker]\ndrain_timeout_s = 1\n")
    with running_up(memfs, tmp_path, "--store", notes) as up:
        state, worker = ("--state", up.state), up.children()["worker"]
        eventually(lambda: json.loads(up.status().out)["stores"][0]["last_sync_at"] is not None)
        with stopped(worker):
            told = [
                memfs.run(*words, *state)
                for words in (
                    ("status", "--wait", "--timeout", "1"),
                    ("drain", "--timeout", "1"),
                    ("sync", "--once", "-c", quick),
                )
            ]
        after = memfs.run("drain", *state)

    for one in told:
        assert 9 == one.code
        assert f"memfs: the worker that runs (process {worker}) does not answer. " in one.err
        assert 1 == len(one.err.splitlines())
    assert f"mount   {up.mount}" in told[0].out
    assert "synced" in told[0].out
    assert (0, "") == (after.code, after.err)


def test_a_request_without_a_time_of_its_own_is_not_waited_for_for_ever(
    memfs: Memfs, notes: str, tmp_path: Path
) -> None:
    with running_up(memfs, tmp_path, "--store", notes) as up:
        eventually(lambda: json.loads(up.status().out)["stores"][0]["last_sync_at"] is not None)
        (slug,) = (one["slug"] for one in json.loads(up.status().out)["stores"])
        with stopped(up.children()["worker"]):
            told = memfs.run("resolve", f"{slug}/a.md", "--take", "local", "--state", up.state)

    assert 9 == told.code
    assert "does not answer" in told.err


def test_status_tells_of_a_mount_that_does_not_answer(memfs: Memfs, notes: str, tmp_path: Path) -> None:
    with running_up(memfs, tmp_path, "--store", f"{notes}:ro") as up:
        mount = up.children()["mount"]
        with stopped(mount):
            told = memfs.run("status", "--state", up.state)
            as_json = json.loads(up.status().out)
        os.kill(mount, signal.SIGKILL)
        dead = memfs.run("status", "--state", up.state)

    assert (0, "") == (told.code, told.err)
    assert f"mount   {up.mount}, which does not answer (process {mount})\n" in told.out
    assert (str(up.mount), None) == (as_json["mount_point"], as_json["stores"][0]["read_only_by"])
    assert "mount   not mounted\n" in dead.out
