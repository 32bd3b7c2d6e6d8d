"""`memfs up` whose processes are killed or stopped from outside: what it leaves, and what the other commands say."""

import os
import signal
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
