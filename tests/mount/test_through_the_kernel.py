"""Plain file work through the kernel, in both modes of opening; the semantics themselves are shown by the fs suite."""

import errno
import fcntl
import mmap
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Until = Callable[[Callable[[], bool]], None]


def listed(directory: Path) -> list[str]:
    return sorted(one.name for one in directory.iterdir())


@pytest.fixture
def root(mounted_either_way: Any) -> Path:
    return mounted_either_way.root


def test_the_root_shows_the_stores_and_takes_nothing_else(mounted_either_way: Any) -> None:
    assert [".memfs", "notes"] == listed(mounted_either_way.point)
    with pytest.raises(OSError, match="Read-only"):
        (mounted_either_way.point / "other").mkdir()


def test_what_is_written_is_read_back_and_lies_in_the_tree(root: Path, mounted_either_way: Any) -> None:
    (root / "d").mkdir()
    (root / "d" / "a.md").write_text("first")
    (root / "d" / "a.md").write_text("second")

    assert "second" == (root / "d" / "a.md").read_text()
    assert "second" == (mounted_either_way.store.tree / "d" / "a.md").read_text()


def test_a_file_is_appended_to(root: Path) -> None:
    (root / "a.md").write_text("one\n")
    with (root / "a.md").open("a") as file:
        file.write("two\n")

    assert "one\ntwo\n" == (root / "a.md").read_text()


def test_a_file_is_truncated(root: Path) -> None:
    (root / "a.md").write_text("0123456789")

    os.truncate(root / "a.md", 4)

    assert "0123" == (root / "a.md").read_text()
    assert 4 == (root / "a.md").stat().st_size


def test_a_rename_over_a_file_leaves_its_readers_what_they_had(root: Path) -> None:
    (root / "a.md").write_text("old")
    (root / "b.md").write_text("new")
    with (root / "a.md").open() as reader:
        (root / "b.md").rename(root / "a.md")

        assert "old" == reader.read()
    assert "new" == (root / "a.md").read_text()
    assert ["a.md"] == listed(root)


def test_an_unlinked_file_lives_on_for_those_who_have_it_open(root: Path) -> None:
    with (root / "a.md").open("w+") as file:
        (root / "a.md").unlink()
        file.write("still here")
        file.seek(0)

        assert "still here" == file.read()
    assert [] == listed(root)


def test_a_directory_moves_with_what_is_in_it(root: Path) -> None:
    (root / "d" / "e").mkdir(parents=True)
    (root / "d" / "e" / "a.md").write_text("deep")

    (root / "d").rename(root / "moved")

    assert "deep" == (root / "moved" / "e" / "a.md").read_text()
    assert ["moved"] == listed(root)


def test_directories_go_when_they_are_empty(root: Path) -> None:
    (root / "d").mkdir()
    (root / "d" / "a.md").touch()

    with pytest.raises(OSError, match="not empty"):
        (root / "d").rmdir()
    (root / "d" / "a.md").unlink()
    (root / "d").rmdir()

    assert [] == listed(root)


def test_times_have_nanoseconds(root: Path) -> None:
    (root / "a.md").touch()

    os.utime(root / "a.md", ns=(1_700_000_000_123_456_789, 1_700_000_001_987_654_321))

    found = (root / "a.md").stat()
    assert (1_700_000_000_123_456_789, 1_700_000_001_987_654_321) == (found.st_atime_ns, found.st_mtime_ns)


def test_the_inode_is_the_same_in_stat_and_listing(root: Path) -> None:
    (root / "a.md").touch()

    with os.scandir(root) as entries:
        assert [(root / "a.md").stat().st_ino] == [entry.inode() for entry in entries]


def test_a_thousand_names_are_listed_once_each(root: Path) -> None:
    names = [f"note-{number:04}-with-a-name-of-some-length.md" for number in range(1_000)]
    for name in names:
        (root / name).touch()

    assert names == listed(root)
    assert names == listed(root)


def test_a_mapped_file_is_written_and_read(root: Path, mounted_either_way: Any) -> None:
    (root / "a.md").write_bytes(b"x" * 8_192)
    with (root / "a.md").open("rb+") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[4_096:4_100] = b"MMAP"
        mapped.flush()

    assert b"MMAP" == (mounted_either_way.store.tree / "a.md").read_bytes()[4_096:4_100]


def test_refused_bytes_of_a_mapping_are_shown_to_nobody(root: Path, until: Until) -> None:
    (root / "a.md").write_bytes(b"x" * 8_192)
    with (root / "a.md").open("rb+") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[4_096:4_098] = b"\xff\xfe"

        with pytest.raises(OSError, match="Invalid or incomplete"):
            mapped.flush()

    until(lambda: b"x" * 8_192 == (root / "a.md").read_bytes())


@pytest.mark.parametrize(
    "make",
    [
        lambda root: (root / "link").symlink_to("a.md"),
        lambda root: os.link(root / "a.md", root / "link"),
        lambda root: os.mkfifo(root / "pipe"),
        lambda root: os.mknod(root / "socket", stat.S_IFSOCK | 0o600),
    ],
    ids=["symlink", "link", "fifo", "socket"],
)
def test_links_and_special_files_are_not_permitted(root: Path, make: Callable[[Path], None]) -> None:
    (root / "a.md").touch()

    with pytest.raises(PermissionError) as caught:
        make(root)

    assert errno.EPERM == caught.value.errno


def test_space_is_not_reserved_ahead(root: Path) -> None:
    with (root / "a.md").open("w") as file, pytest.raises(OSError, match="not supported") as caught:
        fcntl_fallocate(file.fileno())

    assert errno.ENOTSUP == caught.value.errno


def test_locks_work_between_programs_on_this_host(root: Path) -> None:
    with (root / "a.md").open("w") as one, (root / "a.md").open("w") as other:
        fcntl.flock(one, fcntl.LOCK_EX)

        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_limit_is_an_error_of_the_call(root: Path) -> None:
    with pytest.raises(OSError, match="too large") as caught:
        (root / "a.md").write_bytes(b"x" * 102_401)

    assert errno.EFBIG == caught.value.errno


def test_a_name_that_no_memory_may_have_is_refused(root: Path) -> None:
    with pytest.raises(OSError, match="multibyte") as caught:
        os.close(os.open(os.fsencode(root) + b"/\xff.md", os.O_CREAT | os.O_WRONLY))

    assert errno.EILSEQ == caught.value.errno


def test_the_figures_of_the_file_system_tell_how_full_the_store_is(root: Path) -> None:
    (root / "a.md").touch()

    found = os.statvfs(root)

    assert (10_000, 9_999, 255) == (found.f_files, found.f_ffree, found.f_namemax)


def test_files_and_directories_are_made_durable(root: Path) -> None:
    (root / "a.md").write_text("x")
    for path, flags in ((root / "a.md", os.O_RDWR), (root, os.O_RDONLY | os.O_DIRECTORY)):
        descriptor = os.open(path, flags)
        os.fsync(descriptor)
        os.fdatasync(descriptor)
        os.close(descriptor)

    assert "x" == (root / "a.md").read_text()


def fcntl_fallocate(descriptor: int) -> None:
    """Call fallocate itself: posix_fallocate writes zeros where it is not supported."""
    import ctypes  # noqa: PLC0415  (this one call needs it)

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.fallocate(descriptor, 0, ctypes.c_int64(0), ctypes.c_int64(4_096)):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
