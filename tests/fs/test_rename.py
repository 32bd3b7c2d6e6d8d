"""Renames: atomic, keeping identity, refused where what results could not be."""

import errno
import os

import pytest
from fs.files import Files, refuses
from fs.worlds import World


def test_a_renamed_file_keeps_bytes_and_identity(files: Files, home: str) -> None:
    files.write(f"{home}/a.md", b"text")
    before = files.stat(f"{home}/a.md")
    files.mkdir(f"{home}/d")

    files.rename(f"{home}/a.md", f"{home}/d/b.md")

    assert files.read(f"{home}/d/b.md") == b"text"
    assert files.stat(f"{home}/d/b.md").inode == before.inode
    assert files.listdir(home) == ["d"]


def test_an_open_file_follows_its_rename(files: Files, home: str) -> None:
    files.write(f"{home}/a.md", b"text")
    with files.open(f"{home}/a.md", os.O_RDWR) as file:
        files.rename(f"{home}/a.md", f"{home}/b.md")
        file.write(b"TEXT", 0)

    assert files.read(f"{home}/b.md") == b"TEXT"


def test_a_rename_replaces_a_file_and_its_readers_keep_it(files: Files, home: str) -> None:
    files.write(f"{home}/a.md", b"new")
    files.write(f"{home}/b.md", b"the old text")
    with files.open(f"{home}/b.md", os.O_RDONLY) as reader:
        files.rename(f"{home}/a.md", f"{home}/b.md")

        assert reader.read() == b"the old text"
    assert files.read(f"{home}/b.md") == b"new"
    assert files.listdir(home) == ["b.md"]


def test_a_renamed_directory_takes_along_all_below(files: Files, home: str) -> None:
    files.mkdir(f"{home}/a")
    files.mkdir(f"{home}/a/b")
    files.write(f"{home}/a/b/c.md", b"text")
    with files.open(f"{home}/a/b/c.md", os.O_RDWR) as file:
        files.rename(f"{home}/a", f"{home}/z")
        file.write(b"TEXT", 0)

    assert files.read(f"{home}/z/b/c.md") == b"TEXT"
    assert not files.exists(f"{home}/a")
    files.create(f"{home}/z/b/d.md")
    files.mkdir(f"{home}/a")
    assert files.listdir(f"{home}/a") == []


def test_an_empty_directory_may_be_replaced(files: Files, home: str) -> None:
    files.mkdir(f"{home}/a")
    files.create(f"{home}/a/x")
    files.mkdir(f"{home}/b")

    files.rename(f"{home}/a", f"{home}/b")

    assert files.listdir(home) == ["b"]
    assert files.listdir(f"{home}/b") == ["x"]


@pytest.mark.parametrize(
    ("source", "target", "number"),
    [
        ("dir", "file", errno.ENOTDIR),
        ("file", "dir", errno.EISDIR),
        ("dir", "full", errno.ENOTEMPTY),
        ("gone", "file", errno.ENOENT),
        ("full", "full/sub/below", errno.EINVAL),
        ("file", "gone/x", errno.ENOENT),
    ],
)
def test_what_does_not_go_together_is_refused(source: str, target: str, number: int, files: Files, home: str) -> None:
    files.create(f"{home}/file")
    files.mkdir(f"{home}/dir")
    files.mkdir(f"{home}/full")
    files.mkdir(f"{home}/full/sub")
    if source == "full":
        # The kernel itself keeps a directory out of itself.
        number = errno.EINVAL

    with refuses(number):
        files.rename(f"{home}/{source}", f"{home}/{target}")

    assert files.listdir(home) == ["dir", "file", "full"]


def test_a_rename_onto_itself_changes_nothing(files: Files, home: str) -> None:
    files.write(f"{home}/a.md", b"text")

    files.rename(f"{home}/a.md", f"{home}/a.md")

    assert files.read(f"{home}/a.md") == b"text"


def test_a_rename_never_leads_to_another_store(files: Files, home: str) -> None:
    files.create(f"{home}/a.md")

    with refuses(errno.EXDEV):
        files.rename(f"{home}/a.md", "other/a.md")


def test_a_local_only_file_that_is_no_text_cannot_become_a_memory(files: Files, home: str) -> None:
    files.write(f"{home}/a.md~", b"\xff\xfe")
    files.write(f"{home}/b.md~", b"x" * 102_401)
    files.write(f"{home}/c.md~", b"fine")

    with refuses(errno.EILSEQ):
        files.rename(f"{home}/a.md~", f"{home}/a.md")
    with refuses(errno.EFBIG):
        files.rename(f"{home}/b.md~", f"{home}/b.md")
    files.rename(f"{home}/c.md~", f"{home}/c.md")

    assert files.listdir(home) == ["a.md~", "b.md~", "c.md"]


def test_a_directory_of_local_only_files_cannot_become_one_of_memories(files: Files, home: str) -> None:
    files.mkdir(f"{home}/.git")
    files.mkdir(f"{home}/.git/objects")
    files.write(f"{home}/.git/objects/pack", b"\xff")

    with refuses(errno.EILSEQ):
        files.rename(f"{home}/.git", f"{home}/x")

    files.unlink(f"{home}/.git/objects/pack")
    files.rename(f"{home}/.git", f"{home}/x")
    with refuses(errno.EILSEQ):
        files.write(f"{home}/x/objects/pack", b"\xff")


def test_a_file_may_become_local_only_and_hold_anything_then(files: Files, home: str) -> None:
    files.write(f"{home}/a.md", b"text")
    files.rename(f"{home}/a.md", f"{home}/a.md~")

    files.write(f"{home}/a.md~", b"\xff" * 200_000)

    assert files.stat(f"{home}/a.md~").size == 200_000


def test_a_rename_may_not_make_any_path_too_long_or_too_deep(files: Files, home: str) -> None:
    files.mkdir(f"{home}/d")
    files.mkdir(f"{home}/d/{'n' * 250}")
    files.mkdir(f"{home}/long")
    path = f"{home}/long"
    for letter in "abcd":
        path = f"{path}/{letter * 240}"
        files.mkdir(path)
    deep = f"{home}/deep"
    files.mkdir(deep)
    for _ in range(17):
        deep += "/x"
        files.mkdir(deep)

    with refuses(errno.ENAMETOOLONG):
        files.rename(f"{home}/d", f"{path}/d")
    with refuses(errno.ENAMETOOLONG):
        files.rename(f"{home}/d", f"{deep}/d")
    with refuses(errno.EILSEQ):
        files.rename(f"{home}/d", f"{home}/e\u0301")

    assert files.listdir(f"{home}/d") == ["n" * 250]


def test_an_atomic_save_is_one_new_file_at_the_path(world: World, files: Files, home: str) -> None:
    files.write(f"{home}/a.md", b"old")
    with files.open(f"{home}/.a.md.tmp", os.O_WRONLY | os.O_CREAT | os.O_EXCL) as temporary:
        temporary.write(b"new")
        temporary.sync()

    files.rename(f"{home}/.a.md.tmp", f"{home}/a.md")

    assert files.read(f"{home}/a.md") == b"new"
    assert [one.name for one in world.tree(home).iterdir()] == ["a.md"]
