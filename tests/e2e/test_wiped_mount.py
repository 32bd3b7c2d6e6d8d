"""`rm -rf` of everything in a mount: the remote keeps it, status says so, and a person decides."""

import json
import shutil
from pathlib import Path

import pytest
from commands import Memfs
from running_up import Up, eventually, running_up

TEXTS = {f"d{number % 2}/{number}.md": f"text {number}\n" for number in range(6)}


@pytest.fixture
def notes(memfs: Memfs, tmp_path: Path) -> str:
    """A store of this test's own, by a name nobody else has, with some memories."""
    name = f"Wiped {tmp_path.name}"
    assert memfs.run("stores", "create", name).code == 0
    for path, content in TEXTS.items():
        memfs.run("memories", "put", name, f"/{path}", stdin=content.encode())
    return name


def directory_of(up: Up) -> Path:
    (only,) = (one for one in up.mount.iterdir() if one.name != ".memfs")
    return only


def texts(up: Up) -> dict[str, str]:
    root = directory_of(up)
    return {str(one.relative_to(root)): one.read_text() for one in root.rglob("*") if one.is_file()}


def remote(memfs: Memfs, store: str) -> set[str]:
    return {one["path"] for one in json.loads(memfs.run("memories", "list", store, "--json").out)}


@pytest.mark.parametrize(("decision", "expected"), [("--restore", TEXTS), ("--accept", {})])
def test_a_wiped_mount_waits_for_a_decision(
    memfs: Memfs, notes: str, tmp_path: Path, decision: str, expected: dict[str, str]
) -> None:
    with running_up(memfs, tmp_path, "--store", notes) as up:
        eventually(lambda: texts(up) == TEXTS)
        for one in directory_of(up).iterdir():
            shutil.rmtree(one)
        eventually(lambda: json.loads(up.status().out)["stores"][0]["state"] == "halted")
        told = json.loads(up.status().out)["stores"][0]
        assert (6, 6) == (told["halt"]["deletions"], told["halt"]["memories"])
        assert {f"/{path}" for path in TEXTS} == remote(memfs, notes)
        (directory_of(up) / "new.md").write_text("everything else syncs\n")
        eventually(lambda: "/new.md" in remote(memfs, notes))

        assert 0 == memfs.run("resume", told["slug"], decision, "--state", up.state).code

        everything = {"new.md": "everything else syncs\n", **expected}
        eventually(lambda: texts(up) == everything)
        eventually(lambda: remote(memfs, notes) == {f"/{path}" for path in everything})
        eventually(lambda: json.loads(up.status().out)["stores"][0]["state"] == "synced")
