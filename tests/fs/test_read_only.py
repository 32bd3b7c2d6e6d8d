"""Nothing changes at the root, in a read_only store or in an archived one."""

import errno
import os

import pytest
from fs.files import READ_ONLY_ERRNOS, Files, refuses


@pytest.mark.parametrize("store", ["manual", "old"])
def test_a_store_that_may_not_change_is_read(store: str, files: Files) -> None:
    assert files.read(f"{store}/guide.md") == b"guide\n"
    assert files.listdir(store) == ["d", "guide.md"]
    assert files.read(f"{store}/d/deep.md") == b"deep\n"
    assert not files.stat(store).mode & 0o222
    assert not files.stat(f"{store}/d").mode & 0o222
    assert not files.stat(f"{store}/guide.md").mode & 0o222


@pytest.mark.parametrize("store", ["manual", "old"])
def test_a_store_that_may_not_change_refuses_every_change(store: str, files: Files) -> None:
    with refuses(*READ_ONLY_ERRNOS):
        files.write(f"{store}/guide.md", b"text")
    with refuses(*READ_ONLY_ERRNOS), files.open(f"{store}/guide.md", os.O_WRONLY | os.O_APPEND) as file:
        file.write(b"text")
    with refuses(*READ_ONLY_ERRNOS):
        files.create(f"{store}/new.md")
    with refuses(*READ_ONLY_ERRNOS):
        files.create(f"{store}/local~")
    with refuses(*READ_ONLY_ERRNOS):
        files.mkdir(f"{store}/new")
    with refuses(*READ_ONLY_ERRNOS):
        files.unlink(f"{store}/guide.md")
    with refuses(*READ_ONLY_ERRNOS):
        files.rmdir(f"{store}/d")
    with refuses(*READ_ONLY_ERRNOS):
        files.rename(f"{store}/guide.md", f"{store}/other.md")
    with refuses(*READ_ONLY_ERRNOS):
        files.truncate(f"{store}/guide.md", 0)
    with refuses(errno.EROFS):
        files.chmod(f"{store}/guide.md", 0o644)
    with refuses(errno.EROFS):
        files.utime(f"{store}/guide.md", 0, 0)
    with refuses(*READ_ONLY_ERRNOS):
        files.symlink("x", f"{store}/link")

    assert files.read(f"{store}/guide.md") == b"guide\n"


def test_the_root_refuses_every_change(files: Files) -> None:
    with refuses(*READ_ONLY_ERRNOS):
        files.create("file")
    with refuses(*READ_ONLY_ERRNOS):
        files.mkdir("store")
    with refuses(*READ_ONLY_ERRNOS):
        files.rmdir("notes")
    with refuses(*READ_ONLY_ERRNOS):
        files.rename("notes", "renamed")
    with refuses(*READ_ONLY_ERRNOS):
        files.rename("notes", "other")
    with refuses(errno.EROFS):
        files.chmod("", 0o777)
    with refuses(*READ_ONLY_ERRNOS):
        files.symlink("x", "link")

    assert files.listdir("") == [".memfs", "full", "manual", "notes", "old", "other"]


def test_nothing_is_moved_into_or_out_of_a_read_only_store(files: Files, home: str) -> None:
    """EXDEV where the kernel mounts the store read-only, too; `mv` then copies, and meets EROFS there."""
    files.create(f"{home}/a")

    with refuses(*READ_ONLY_ERRNOS, errno.EXDEV):
        files.rename(f"{home}/a", "manual/a")
    with refuses(*READ_ONLY_ERRNOS, errno.EXDEV):
        files.rename("manual/guide.md", f"{home}/guide.md")

    assert files.listdir(home) == ["a"]
    assert files.listdir("manual") == ["d", "guide.md"]


def test_the_root_counts_the_memories_of_all_stores(files: Files) -> None:
    assert files.statfs("").files == 50_000
