"""Each thing that is in the way of a mount is found before mounting, has a class of its own and says what to do."""

import os
from pathlib import Path

import pytest

from memfs.core.errors import (
    AlreadyHeld,
    DeviceMissing,
    FusermountMissing,
    MountPointBusy,
    MountPointMissing,
    MountPointNotEmpty,
    MountRefused,
    NotMounted,
    StaleMount,
    StateBelowMount,
)
from memfs.fuse import checks, lock, mountinfo, outside
from memfs.fuse.mountinfo import Mount
from memfs.fuse.outside import Pulse
from memfs.fuse.unmounting import unmount


class Host:
    """A host with one mount, whose pulse and way to end are set."""

    def __init__(self, mount: Mount, pulse: Pulse, *, clears: bool = True) -> None:
        self.mounts, self.pulse, self.clears = [mount], pulse, clears
        self.done: list[str] = []

    def read(self) -> list[Mount]:
        return self.mounts

    def look(self, _point: Path, _timeout_s: float) -> Pulse:
        self.done.append("look")
        return self.pulse

    def clear(self, _point: Path, device: str) -> None:
        self.done.append(f"clear {device}")
        if self.clears:
            self.mounts = []


@pytest.fixture
def point(tmp_path: Path) -> Path:
    point = tmp_path / "point"
    point.mkdir()
    return point


def on_host(monkeypatch: pytest.MonkeyPatch, host: Host) -> None:
    monkeypatch.setattr(mountinfo, "read", host.read)
    for name in ("look", "clear"):
        monkeypatch.setattr(outside, name, getattr(host, name))


def ours(point: Path) -> Mount:
    return Mount(mount_id=9, device="0:39", mount_point=point, kind="fuse.memfs", source="memfs")


def test_an_empty_directory_is_fine(point: Path) -> None:
    checks.check_mount_point(point)


def test_a_missing_mount_point_says_how_to_make_it(point: Path) -> None:
    with pytest.raises(MountPointMissing, match="does not exist") as caught:
        checks.check_mount_point(point / "none")

    assert f"Make it: mkdir -p {point / 'none'}" == caught.value.remedy


def test_a_file_is_no_mount_point(point: Path) -> None:
    (point / "file").touch()

    with pytest.raises(MountPointMissing, match="not a directory"):
        checks.check_mount_point(point / "file")


def test_a_mount_never_hides_files(point: Path) -> None:
    (point / "file").touch()

    with pytest.raises(MountPointNotEmpty, match="would hide 'file'"):
        checks.check_mount_point(point)


def test_a_foreign_mount_is_named_and_never_touched(point: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host(Mount(mount_id=9, device="0:39", mount_point=point, kind="fuse.sshfs", source="host:/x"), Pulse.DEAD)
    on_host(monkeypatch, host)

    with pytest.raises(MountPointBusy, match=r"host:/x \(fuse\.sshfs\) is mounted"):
        checks.check_mount_point(point)

    assert [] == host.done


def test_a_living_mount_of_ours_is_busy(point: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host(ours(point), Pulse.ALIVE)
    on_host(monkeypatch, host)

    with pytest.raises(MountPointBusy, match="already mounted") as caught:
        checks.check_mount_point(point)

    assert f"Unmount it first: memfs unmount {point}" == caught.value.remedy
    assert ["look"] == host.done


def test_a_silent_mount_of_ours_is_left_to_the_user(point: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host(ours(point), Pulse.SILENT)
    on_host(monkeypatch, host)

    with pytest.raises(MountPointBusy, match="does not answer"):
        checks.check_mount_point(point)

    assert ["look"] == host.done


def test_a_dead_mount_of_ours_is_aborted_and_detached(point: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host(ours(point), Pulse.DEAD)
    on_host(monkeypatch, host)

    checks.check_mount_point(point)

    assert ["look", "clear 0:39"] == host.done


def test_a_dead_mount_that_stays_is_told(point: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_host(monkeypatch, Host(ours(point), Pulse.DEAD, clears=False))

    with pytest.raises(StaleMount, match="could not be cleared"):
        checks.check_mount_point(point)


@pytest.mark.parametrize(("pulse", "done"), [(Pulse.DEAD, ["look", "look", "clear 0:39"]), (Pulse.ALIVE, ["look"])])
def test_what_is_dead_of_ours_is_cleared_and_what_lives_stays(
    point: Path, monkeypatch: pytest.MonkeyPatch, pulse: Pulse, done: list[str]
) -> None:
    host = Host(ours(point), pulse)
    on_host(monkeypatch, host)

    checks.clear_stale(point)

    assert done == host.done


def test_a_dead_mount_that_cannot_be_cleared_is_no_success(point: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_host(monkeypatch, Host(ours(point), Pulse.DEAD, clears=False))

    with pytest.raises(StaleMount, match="could not be cleared"):
        checks.clear_stale(point)


def test_what_is_mounted_at_a_mount_point_is_not_touched_to_locate_it(
    point: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were it touched, the symbolic link that stands for the mount here would be followed."""
    link = point / "link"
    link.symlink_to(point)
    on_host(monkeypatch, Host(ours(link), Pulse.DEAD))

    assert link == checks.locate(link)


def test_symbolic_links_to_a_mount_point_are_followed(point: Path) -> None:
    (point / "real").mkdir()
    (point / "one").symlink_to("two")
    (point / "two").symlink_to(point / "real")

    assert point / "real" == checks.locate(point / "one")
    assert point / "real" == checks.locate(point / "real" / ".." / "one")


def test_a_loop_of_links_is_no_mount_point(point: Path) -> None:
    (point / "one").symlink_to("two")
    (point / "two").symlink_to("one")

    with pytest.raises(MountPointMissing, match="loop"):
        checks.locate(point / "one")


@pytest.mark.parametrize("state", ["point", "point/state", "link/state"])
def test_a_state_below_its_mount_is_refused(point: Path, state: str) -> None:
    (point.parent / "link").symlink_to(point)

    with pytest.raises(StateBelowMount, match="lies below the mount point"):
        checks.check_state(point.parent / state, point)


@pytest.mark.parametrize("below", ["point", "point/stores/one/tree"])
def test_a_mount_point_in_the_state_is_refused(point: Path, below: str) -> None:
    """The mount would hide a part of its state, and wait for itself when it reads it."""
    with pytest.raises(MountRefused, match="lies in the state directory"):
        checks.check_state(point.parent, point.parent / below)


def test_a_state_beside_its_mount_is_fine(point: Path) -> None:
    checks.check_state(point.parent / "point-state", point)


def test_a_missing_device_says_what_to_do(point: Path) -> None:
    with pytest.raises(DeviceMissing, match="modprobe fuse"):
        checks.check_host(allow_other=False, device=point / "fuse")


def test_a_device_that_may_not_be_opened_is_told(point: Path) -> None:
    with pytest.raises(DeviceMissing, match="cannot be opened: Is a directory"):
        checks.check_host(allow_other=False, device=point)


@pytest.fixture
def ordinary_user(point: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Become someone without privileges on a host with fusermount; returns a device that can be opened."""
    monkeypatch.setattr(os, "geteuid", lambda: 1_000)
    binaries = point.parent / "bin"
    binaries.mkdir()
    (binaries / "fusermount").touch(0o755)
    monkeypatch.setenv("PATH", str(binaries))
    device = point.parent / "fuse"
    device.touch()
    return device


def test_an_ordinary_user_needs_fusermount(ordinary_user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checks.check_host(allow_other=False, device=ordinary_user)
    monkeypatch.setenv("PATH", "")

    with pytest.raises(FusermountMissing, match="apt-get install fuse"):
        checks.check_host(allow_other=False, device=ordinary_user)


def test_an_ordinary_user_lets_others_in_only_where_the_host_allows_it(ordinary_user: Path, point: Path) -> None:
    conf = point / "fuse.conf"
    conf.write_text("#user_allow_other\n")

    with pytest.raises(MountRefused, match="user_allow_other"):
        checks.check_host(allow_other=True, device=ordinary_user, fuse_conf=conf)
    with pytest.raises(MountRefused, match="user_allow_other"):
        checks.check_host(allow_other=True, device=ordinary_user, fuse_conf=point / "none")

    conf.write_text("# others\nuser_allow_other\n")
    checks.check_host(allow_other=True, device=ordinary_user, fuse_conf=conf)


def test_a_second_mount_of_a_state_is_refused_and_named(point: Path) -> None:
    state = point / "state"

    with (
        lock.held(state, Path("/mnt/memory")),
        pytest.raises(AlreadyHeld, match=f"process {os.getpid()}.*/mnt/memory"),
        lock.held(state, Path("/mnt/second")),
    ):
        pytest.fail("two mounts of one state")

    with lock.held(state, Path("/mnt/second")):
        assert f"{os.getpid()} /mnt/second\n" == (state / lock.NAME).read_text()


def test_unmounting_what_is_not_mounted_says_so(point: Path) -> None:
    with pytest.raises(NotMounted, match="not mounted at"):
        unmount(point)


def test_unmounting_a_foreign_mount_is_refused(point: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host(Mount(mount_id=9, device="0:39", mount_point=point, kind="tmpfs", source="tmpfs"), Pulse.ALIVE)
    on_host(monkeypatch, host)

    with pytest.raises(NotMounted):
        unmount(point)

    assert [] == host.done
