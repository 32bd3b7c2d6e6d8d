"""Making, removing and listing names."""

import errno
import os

from fs.files import Files, refuses
from fs.worlds import World


def test_the_root_lists_the_stores(files: Files) -> None:
    assert files.listdir("") == [".memfs", "full", "manual", "notes", "old", "other"]


def test_a_new_file_and_directory_are_listed(files: Files, home: str) -> None:
    files.create(f"{home}/a.md")
    files.mkdir(f"{home}/d")
    files.create(f"{home}/d/b.md")

    assert files.listdir(home) == ["a.md", "d"]
    assert files.listdir(f"{home}/d") == ["b.md"]


def test_a_name_is_taken_once(files: Files, home: str) -> None:
    files.create(f"{home}/a")

    with refuses(errno.EEXIST):
        files.create(f"{home}/a")
    with refuses(errno.EEXIST):
        files.mkdir(f"{home}/a")
    with refuses(errno.ENOTDIR):
        files.create(f"{home}/a/b")


def test_what_was_removed_is_gone(files: Files, home: str) -> None:
    files.create(f"{home}/a")
    files.mkdir(f"{home}/d")

    files.unlink(f"{home}/a")
    files.rmdir(f"{home}/d")

    assert files.listdir(home) == []
    with refuses(errno.ENOENT):
        files.stat(f"{home}/a")
    with refuses(errno.ENOENT):
        files.unlink(f"{home}/a")


def test_each_removal_wants_its_kind(files: Files, home: str) -> None:
    files.create(f"{home}/a")
    files.mkdir(f"{home}/d")
    files.create(f"{home}/d/b")

    with refuses(errno.EISDIR):
        files.unlink(f"{home}/d")
    with refuses(errno.ENOTDIR):
        files.rmdir(f"{home}/a")
    with refuses(errno.ENOTEMPTY):
        files.rmdir(f"{home}/d")


def test_a_file_that_is_removed_while_open_lives_on(files: Files, home: str) -> None:
    files.write(f"{home}/a.md", b"still here")
    with files.open(f"{home}/a.md", os.O_RDWR) as file:
        files.unlink(f"{home}/a.md")
        file.write(b"STILL", 0)

        assert file.read() == b"STILL here"
        assert file.stat().nlink == 0
        file.truncate(5)
        assert file.stat().size == 5
    assert not files.exists(f"{home}/a.md")


def test_a_name_that_comes_again_is_another_file(world: World, files: Files, home: str) -> None:
    files.write(f"{home}/a.md", b"old")
    with files.open(f"{home}/a.md", os.O_RDONLY) as old:
        files.unlink(f"{home}/a.md")
        files.write(f"{home}/a.md", b"new")

        assert old.read() == b"old"
        assert files.read(f"{home}/a.md") == b"new"
        assert old.stat().inode != files.stat(f"{home}/a.md").inode
    assert files.stat(f"{home}/a.md").inode == world.tree(f"{home}/a.md").stat().st_ino


def test_names_may_be_any_text(files: Files, home: str) -> None:
    names = ["-", "a b", "é", "日本語", "back\\slash", "'quotes\"", "#", "emoji 🐈"]
    for name in names:
        files.write(f"{home}/{name}", name.encode())

    assert files.listdir(home) == sorted(names)
    assert [files.read(f"{home}/{name}") for name in names] == [name.encode() for name in names]


def test_a_listing_neither_skips_nor_repeats_while_others_come_and_go(files: Files, home: str) -> None:
    stays = {f"stays{number:04d}".encode() for number in range(1000)}
    for name in stays:
        files.create(os.fsencode(home) + b"/" + name)
    for number in range(300):
        files.create(f"{home}/goes{number}")

    seen: list[bytes] = []
    for position, name in enumerate(files.iterate(home)):
        seen.append(name)
        if position < 300:
            files.unlink(f"{home}/goes{position}")
            files.create(f"{home}/comes{position}")

    untouched = [name for name in seen if name.startswith(b"stays")]
    assert len(untouched) == 1000
    assert set(untouched) == stays


def test_everything_can_be_removed_while_it_is_listed(files: Files, home: str) -> None:
    files.mkdir(f"{home}/d")
    for number in range(500):
        files.create(f"{home}/d/{number}")

    for name in files.iterate(f"{home}/d"):
        files.unlink(os.fsencode(f"{home}/d/") + name)

    assert files.listdir(f"{home}/d") == []
    files.rmdir(f"{home}/d")


def test_links_and_special_files_are_refused(files: Files, home: str) -> None:
    files.create(f"{home}/a")

    with refuses(errno.EPERM):
        files.symlink("a", f"{home}/b")
    with refuses(errno.EPERM):
        files.link(f"{home}/a", f"{home}/b")
    with refuses(errno.EPERM):
        files.mkfifo(f"{home}/b")


def test_what_is_neither_file_nor_directory_is_not_shown(world: World, files: Files, home: str) -> None:
    world.tree(home).joinpath("link").symlink_to("/etc")

    assert files.listdir(home) == []
    with refuses(errno.ENOENT):
        files.stat(f"{home}/link")


def test_a_new_name_changes_its_directory_times(files: Files, home: str) -> None:
    files.utime(home, 0, 0)
    assert files.stat(home).mtime_ns == 0

    files.create(f"{home}/a")

    assert files.stat(home).mtime_ns > 0
