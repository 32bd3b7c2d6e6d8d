"""Ownership: one process at a time may change a tree."""

from pathlib import Path
from typing import Protocol

import pytest

from memfs.core.errors import AlreadyHeld
from memfs.core.tree_requests import Answer, Outcome, Ping, Remove, Replace
from memfs.tree.atomic import stage
from memfs.tree.local import identity_of
from memfs.tree.owner import DirectOwner, OwnerLock


class Directories(Protocol):
    tree: Path
    staging: Path
    trash: Path
    owner_lock: Path


def test_a_held_lock_is_refused_and_given_back(directories: Directories) -> None:
    first, second = OwnerLock(directories.owner_lock), OwnerLock(directories.owner_lock)
    first.acquire()

    with pytest.raises(AlreadyHeld, match="memstore_one"):
        second.acquire(timeout_s=0.05)

    first.release()
    second.acquire()
    second.release()


def test_a_direct_owner_changes_the_tree_and_lets_go_of_it(directories: Directories) -> None:
    stage(directories.staging, "s1", b"new")
    owner = DirectOwner(lambda _store_id: directories)

    answer = owner.ask(Replace(store_id="memstore_one", path="/a.md", staged="s1", expect=None))

    assert Answer(identity=identity_of((directories.tree / "a.md").stat())) == answer
    with OwnerLock(directories.owner_lock):
        assert (directories.tree / "a.md").read_text() == "new"


def test_a_direct_owner_leaves_a_mounted_tree_alone(directories: Directories) -> None:
    stage(directories.staging, "s1", b"new")
    request = Replace(store_id="memstore_one", path="/a.md", staged="s1", expect=None)

    with OwnerLock(directories.owner_lock), pytest.raises(AlreadyHeld):
        DirectOwner(lambda _store_id: directories).ask(request)

    assert list(directories.tree.iterdir()) == []


def test_a_failure_is_an_answer(directories: Directories) -> None:
    (directories.tree / "a.md").write_text("old")
    (directories.trash / "kept").write_text("taken")
    expect = identity_of((directories.tree / "a.md").stat())
    request = Remove(store_id="memstore_one", path="/a.md", expect=expect, trash="kept")

    answer = DirectOwner(lambda _store_id: directories).ask(request)

    assert (Outcome.CHANGED, 17) == (answer.outcome, answer.errno)
    assert "File exists" in answer.error


def test_what_concerns_a_mount_only_is_done_without_one(directories: Directories) -> None:
    assert Answer() == DirectOwner(lambda _store_id: directories).ask(Ping())
