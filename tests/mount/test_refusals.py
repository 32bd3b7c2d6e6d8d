"""What is in the way of a mount ends it before anything is mounted: one line, one exit code."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Prepared = Callable[..., Any]


def refused(mount: Any) -> tuple[int, str]:
    """Start it and return exit code and last line."""
    mount.start()
    assert not mount.is_ready
    return mount.ended(), mount.told().splitlines()[-1]


def test_a_missing_mount_point(prepared: Prepared) -> None:
    mount = prepared()
    mount.point.rmdir()

    code, line = refused(mount)

    assert 8 == code
    assert line.startswith(f"mount_point_missing: the mount point {mount.point} does not exist")


def test_a_mount_point_that_is_a_file(prepared: Prepared) -> None:
    mount = prepared()
    mount.point.rmdir()
    mount.point.touch()

    code, line = refused(mount)

    assert 8 == code
    assert line.startswith("mount_point_missing: ")
    assert "not a directory" in line


def test_a_mount_point_with_files(prepared: Prepared) -> None:
    mount = prepared()
    (mount.point / "note.md").touch()

    code, line = refused(mount)

    assert 8 == code
    assert line.startswith("mount_point_not_empty: ")
    assert ["note.md"] == [one.name for one in mount.point.iterdir()]


def test_a_mount_point_in_use(prepared: Prepared, mounted: Any) -> None:
    code, line = refused(prepared(point=mounted.point))

    assert 8 == code
    assert line.startswith(f"mount_point_busy: memfs is already mounted at {mounted.point}")
    assert (mounted.root).is_dir()


def test_a_state_that_is_mounted_already(prepared: Prepared, mounted: Any) -> None:
    second = prepared()
    second.layout = mounted.layout

    code, line = refused(second)

    assert 9 == code
    assert line.startswith(f"already_held: process {mounted.process.pid} already mounts")
    assert not second.is_mounted()


def test_a_state_below_the_mount_point(prepared: Prepared) -> None:
    mount = prepared()
    mount.point = mount.layout.root.parent

    code, line = refused(mount)

    assert 8 == code
    assert line.startswith("state_below_mount: ")


def test_a_host_without_libfuse(prepared: Prepared, tmp_path: Path) -> None:
    mount = prepared().start(FUSE_LIBRARY_PATH=str(tmp_path / "libfuse.so.2"))

    assert 8 == mount.ended()
    assert "libfuse_missing: libfuse 2.9 is not installed (libfuse.so.2). Install it: apt-get" in mount.told()


@pytest.mark.parametrize("left", ["file", "socket"])
def test_what_a_killed_mount_left_is_no_obstacle(prepared: Prepared, left: str) -> None:
    mount = prepared()
    if left == "file":
        (mount.layout.root / "mount.lock").write_text("1 /mnt/memory\n")
    else:
        mount.layout.mount_socket.touch()

    assert mount.start().is_ready
