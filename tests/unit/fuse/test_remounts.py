"""The kernel holds what is read-only, and lets go before it is to forget a name at the root."""

import errno
import os
from pathlib import Path

import pytest

from memfs.fuse import mountinfo, outside
from memfs.fuse.mountinfo import Mount
from memfs.fuse.remounts import Remounts
from memfs.vfs.values import ROOT

POINT = Path("/mnt/memory")
WHOLE = Mount(mount_id=1, device="0:9", mount_point=POINT, kind="fuse.memfs", source="memfs", options="rw rw")


def part(name: str, options: str = "ro rw") -> Mount:
    return Mount(
        mount_id=2, device="0:9", mount_point=POINT / name, kind="fuse.memfs", source="memfs", root=f"/{name}",
        options=options,
    )  # fmt: skip


class Host:
    """A table of mounts that the steps of `mount_calls` change, or fail to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, code: int | None = 0, uid: int = 0) -> None:
        self.mounts, self.steps, self.code = [WHOLE], list[object](), code
        self.wanted: list[str] = []
        self.told: list[frozenset[str]] = []
        monkeypatch.setattr(mountinfo, "read", lambda: list(self.mounts))
        monkeypatch.setattr(outside, "call", self.call)
        monkeypatch.setattr(os, "geteuid", lambda: uid)
        self.remounts = Remounts(WHOLE, lambda: self.wanted, self.told.append, self.entry, self.inode)

    def call(self, step: str, point: Path, *names: str, timeout_s: float) -> int | None:
        assert (POINT, True) == (point, timeout_s > 0)
        self.steps.append((step, *names))
        if self.code == 0 and step == "down":
            self.mounts = [one for one in self.mounts if one is WHOLE or one.mount_point.name not in names]
        if self.code == 0 and step == "read-only":
            self.mounts += [part(name) for name in names]
        return self.code

    def entry(self, parent: int, name: bytes) -> int:
        self.steps.append(("forget", parent, name))
        return 0

    def inode(self, nodeid: int) -> int:
        self.steps.append(("forget", nodeid))
        return -errno.ENOENT


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    return Host(monkeypatch)


def test_what_is_read_only_is_held_and_what_no_longer_is_let_go(host: Host) -> None:
    host.wanted = ["manual", "more"]
    host.remounts.settle()
    host.wanted = ["more"]
    host.remounts.settle()
    host.remounts.settle()

    assert [("read-only", "manual", "more"), ("down", "manual")] == host.steps
    assert [{"manual", "more"}, {"more"}, {"more"}] == host.told
    assert ["more"] == host.remounts.names()


def test_a_mount_that_was_made_half_is_made_anew(host: Host) -> None:
    """Its process was killed between mounting and making that read-only."""
    host.mounts.append(part("manual", "rw rw"))
    host.wanted = ["manual"]

    host.remounts.settle()

    assert [("down", "manual"), ("read-only", "manual")] == host.steps
    assert ["manual"] == host.remounts.names()


def test_what_others_mounted_below_is_left_alone(host: Host) -> None:
    tmpfs = Mount(mount_id=3, device="0:8", mount_point=POINT / "notes", kind="tmpfs", source="tmpfs")
    moved = Mount(
        mount_id=4, device="0:9", mount_point=POINT / "notes", kind="fuse.memfs", source="memfs", root="/other"
    )
    host.mounts += [tmpfs, moved]

    host.remounts.settle()
    host.remounts.forget_entry(ROOT, b"notes")

    assert [("forget", ROOT, b"notes")] == host.steps


def test_a_name_at_the_root_is_forgotten_only_once_nothing_is_mounted_there(host: Host) -> None:
    host.wanted = ["manual"]
    host.remounts.settle()

    assert 0 == host.remounts.forget_entry(ROOT, b"manual")
    assert 0 == host.remounts.forget_entry(7, b"manual")
    assert -errno.ENOENT == host.remounts.forget_inode(ROOT)
    assert -errno.ENOENT == host.remounts.forget_inode(7)

    assert [
        ("read-only", "manual"),
        ("down", "manual"),
        ("forget", ROOT, b"manual"),
        ("forget", 7, b"manual"),
        ("forget", ROOT),
        ("read-only", "manual"),
        ("forget", 7),
    ] == host.steps


def test_names_change_while_nothing_is_mounted_and_until_they_are_forgotten(host: Host) -> None:
    host.wanted = ["manual", "more"]
    host.remounts.settle()

    with host.remounts.moving(frozenset({b"manual", b"notes"})):
        host.steps.append("changed")
        host.wanted = ["notes", "more"]
    host.remounts.settle()
    host.remounts.forget_entry(ROOT, b"manual")
    host.remounts.forget_inode(ROOT)
    host.remounts.await_forgotten(0.0)  # Gives up.
    host.remounts.forget_entry(ROOT, b"notes")
    host.remounts.await_forgotten(20.0)
    host.remounts.forget_inode(ROOT)

    assert [
        ("read-only", "manual", "more"),
        ("down", "manual"),
        "changed",
        ("forget", ROOT, b"manual"),
        ("forget", ROOT),
        ("forget", ROOT, b"notes"),
        ("forget", ROOT),
        ("read-only", "notes"),
    ] == host.steps
    assert ["more", "notes"] == host.remounts.names()


def test_a_change_that_fails_leaves_all_as_it_was(host: Host) -> None:
    host.wanted = ["manual"]
    host.remounts.settle()

    with pytest.raises(BlockingIOError), host.remounts.moving(frozenset({b"manual"})):
        raise BlockingIOError

    assert ["manual"] == host.remounts.names()


@pytest.mark.expect_log("still holds read-only")
def test_a_mount_that_stays_is_told_of(host: Host) -> None:
    host.wanted = ["manual"]
    host.remounts.settle()
    host.code = errno.EBUSY

    with host.remounts.moving(frozenset({b"manual"})):
        pass

    assert [("read-only", "manual"), ("down", "manual")] == host.steps


def test_an_ordinary_user_leaves_it_to_the_mount(monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host(monkeypatch, uid=1_000)
    host.wanted = ["manual"]

    host.remounts.settle()

    assert ([], []) == (host.steps, host.remounts.names())


def test_root_without_the_privilege_tries_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host(monkeypatch, code=errno.EPERM)
    host.wanted = ["manual"]

    host.remounts.settle()
    host.remounts.settle()

    assert [("read-only", "manual")] == host.steps
    assert [frozenset()] == host.told


@pytest.mark.expect_log("which stores are read-only")
@pytest.mark.parametrize("code", [errno.EINVAL, None])
def test_a_kernel_that_cannot_be_told_is_told_of(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, code: int | None
) -> None:
    host = Host(monkeypatch, code=code)
    host.wanted = ["manual"]

    host.remounts.settle()

    why = "it takes too long" if code is None else "Invalid argument"
    assert [f"the kernel could not be told which stores are read-only: {why}"] == caplog.messages
    assert [("read-only", "manual")] * 3 == host.steps
    assert [frozenset()] == host.told


def test_a_mount_that_is_gone_is_left_alone(host: Host) -> None:
    host.wanted, host.mounts = ["manual"], []

    host.remounts.settle()

    assert ([], []) == (host.steps, host.told)
