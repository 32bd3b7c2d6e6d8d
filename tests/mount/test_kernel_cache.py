"""What the kernel answers by itself: no request reaches the process, and what changes is still seen."""

import os
from pathlib import Path
from typing import Any

import pytest


def listed(directory: Path) -> list[str]:
    return sorted(one.name for one in directory.iterdir())


def read(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, 4096)
    finally:
        os.close(descriptor)


@pytest.fixture
def root(mounted: Any) -> Path:
    """A store with files in it, known to the kernel; the first open told it to open by itself."""
    (mounted.root / "d").mkdir()
    for name in ("a.md", "b.md", "d/c.md"):
        (mounted.root / name).write_text(name)
        read(mounted.root / name)
    for _ in range(2):  # What it read anew has a new atime, which it asks for once.
        listed(mounted.root)
    (mounted.root / "a.md").stat()
    return mounted.root


def test_a_warm_open_read_and_close_makes_no_upcall(mounted: Any, root: Path) -> None:
    before = mounted.upcalls()

    assert [b"a.md", b"d/c.md"] * 20 == [read(root / name) for name in ["a.md", "d/c.md"] * 20]
    assert before == mounted.upcalls()


def test_a_warm_stat_makes_no_upcall(mounted: Any, root: Path) -> None:
    read(root / "a.md")
    (root / "a.md").stat()
    before = mounted.upcalls()

    assert {4} == {(root / "a.md").stat().st_size for _ in range(20)}
    assert before == mounted.upcalls()


def test_a_warm_listing_makes_no_upcall(mounted: Any, root: Path) -> None:
    before = mounted.upcalls()

    for _ in range(20):
        assert ["a.md", "b.md", "d"] == listed(root)

    assert before == mounted.upcalls()


def test_a_name_that_is_missing_is_asked_for_once(mounted: Any, root: Path) -> None:
    assert not (root / "none.md").exists()
    before = mounted.upcalls()

    assert not any((root / "none.md").exists() for _ in range(20))
    assert before == mounted.upcalls()


def test_a_name_missing_at_the_root_is_asked_for_each_time(mounted: Any) -> None:
    """Stores come and go there."""
    before = mounted.upcalls().get("lookup", 0)

    assert not any((mounted.point / "none").exists() for _ in range(3))
    assert 3 == mounted.upcalls()["lookup"] - before


def test_listings_show_at_once_what_programs_make_and_remove(root: Path) -> None:
    (root / "new.md").write_text("new")
    assert ["a.md", "b.md", "d", "new.md"] == listed(root)

    (root / "new.md").unlink()
    assert ["a.md", "b.md", "d"] == listed(root)


def test_no_lock_no_attribute_and_no_close_reaches_the_process(mounted: Any, root: Path) -> None:
    before = mounted.upcalls()
    with (root / "a.md").open("rb+") as file:
        os.lockf(file.fileno(), os.F_LOCK, 0)
        with pytest.raises(OSError, match="not supported"):
            os.getxattr(root / "a.md", "user.note")

    assert before == mounted.upcalls()


def test_created_files_keep_no_descriptor_in_the_process(mounted: Any, root: Path) -> None:
    descriptors = Path(f"/proc/{mounted.process.pid}/fd")
    before = len(list(descriptors.iterdir()))

    for number in range(300):
        (root / "made.md").write_text(str(number))
        (root / "made.md").unlink()

    assert before + 100 > len(list(descriptors.iterdir()))
