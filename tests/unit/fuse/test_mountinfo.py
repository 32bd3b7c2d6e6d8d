"""What is mounted where, read without touching it."""

from pathlib import Path

import pytest

from memfs.fuse import mountinfo

TABLE = rb"""22 27 0:21 / /proc rw,relatime - proc proc rw
41 27 0:39 / /mnt/memory rw,nosuid,nodev shared:7 master:2 - fuse.memfs memfs rw,user_id=0,group_id=0
42 27 0:40 / /mnt/with\040space\134and\011tab rw - fuse memfs rw
43 27 0:41 / /mnt/other rw - fuse.sshfs host:/dir rw
44 27 0:42 / /mnt/memory rw - tmpfs tmpfs rw
"""


def test_a_mount_of_ours_is_told_from_a_foreign_one() -> None:
    assert [False, True, True, False, False] == [mount.is_ours for mount in mountinfo.parse(TABLE)]


def test_the_kernels_escapes_are_undone() -> None:
    assert Path("/mnt/with space\\and\ttab") == mountinfo.parse(TABLE)[2].mount_point


def test_the_optional_fields_of_a_line_do_not_shift_the_others() -> None:
    mount = mountinfo.parse(TABLE)[1]

    assert (41, "0:39", "fuse.memfs", "memfs") == (mount.mount_id, mount.device, mount.kind, mount.source)


def test_what_is_below_a_directory_that_was_mounted_over_is_there_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    over = TABLE + b"45 27 0:43 / /mnt rw - tmpfs tmpfs rw\n"
    monkeypatch.setattr(mountinfo, "read", lambda: mountinfo.parse(over))
    assert mountinfo.at(Path("/mnt/memory")) is None
    assert mountinfo.at(Path("/mnt")) is not None

    again = over + b"46 45 0:44 / /mnt/memory rw - fuse.memfs memfs rw\n"
    monkeypatch.setattr(mountinfo, "read", lambda: mountinfo.parse(again))
    found = mountinfo.at(Path("/mnt/memory"))
    assert found is not None
    assert 46 == found.mount_id


def test_of_mounts_on_one_directory_the_topmost_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mountinfo, "read", lambda: mountinfo.parse(TABLE))

    found = mountinfo.at(Path("/mnt/memory"))

    assert found is not None
    assert "tmpfs" == found.kind
    assert mountinfo.at(Path("/mnt")) is None


def test_this_machines_own_table_is_read() -> None:
    assert Path("/proc") in [mount.mount_point for mount in mountinfo.read()]


def test_directories_of_a_mount_that_are_mounted_over_themselves_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = rb"""
45 41 0:39 /manual /mnt/memory/manual ro,nosuid - fuse.memfs memfs rw,user_id=0
46 41 0:39 /a\040b /mnt/memory/a\040b rw - fuse.memfs memfs rw
47 41 0:39 /manual /mnt/elsewhere ro - fuse.memfs memfs rw
48 41 0:43 / /mnt/memory/notes rw - tmpfs tmpfs rw
49 41 0:39 /d /mnt/memory/manual/d rw - fuse.memfs memfs rw"""
    monkeypatch.setattr(mountinfo, "read", lambda: mountinfo.parse(TABLE + parts))

    found = mountinfo.inside(mountinfo.parse(TABLE)[1])

    assert [("manual", True), ("a b", False)] == [(one.mount_point.name, one.is_read_only) for one in found]
    assert "ro,nosuid rw,user_id=0" == found[0].options


def test_a_mount_is_the_same_one_whatever_its_options_become() -> None:
    before = mountinfo.parse(TABLE)[1]
    (after,) = mountinfo.parse(TABLE.splitlines()[1].replace(b"nosuid,nodev shared:7", b"nosuid"))

    assert before == after
    assert before.options != after.options
