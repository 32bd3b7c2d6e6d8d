"""Limits are errors at the moment of the call; local-only names are exempt."""

import errno
import os

import pytest
from fs.files import Files, refuses
from fs.worlds import World, until


def test_more_bytes_than_a_memory_holds_are_refused_and_not_written(files: Files, home: str) -> None:
    with files.open(f"{home}/a.md", os.O_WRONLY | os.O_CREAT) as file:
        file.write(b"x" * 102_400)
        with refuses(errno.EFBIG):
            file.write(b"x", 102_400)
        with refuses(errno.EFBIG):
            file.write(b"x", 1 << 40)

    assert files.stat(f"{home}/a.md").size == 102_400


def test_an_append_past_a_memory_is_refused(files: Files, home: str) -> None:
    """The kernel may cut a write at a page, and then writes the part that fits."""
    files.write(f"{home}/a.md", b"x" * 102_300)

    with files.open(f"{home}/a.md", os.O_WRONLY | os.O_APPEND) as file:
        file.write(b"y" * 50)
        with refuses(errno.EFBIG):
            file.write(b"z" * 51)

    assert files.read(f"{home}/a.md").rstrip(b"z") == b"x" * 102_300 + b"y" * 50
    assert files.stat(f"{home}/a.md").size <= 102_400


@pytest.mark.parametrize("content", [b"\xff", b"a\xc3(", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\x80\x80\x80\x80a"])
def test_bytes_that_cannot_be_text_are_refused(content: bytes, files: Files, home: str) -> None:
    with files.open(f"{home}/a.md", os.O_WRONLY | os.O_CREAT) as file, refuses(errno.EILSEQ):
        file.write(content)

    assert files.read(f"{home}/a.md") == b""


def test_a_sequence_cut_between_two_writes_is_text(files: Files, home: str) -> None:
    content = "Grüße, 日本, 🐈".encode()
    with files.open(f"{home}/a.md", os.O_RDWR | os.O_CREAT) as file:
        for position in range(len(content)):
            file.write(content[position : position + 1], position)
        file.sync()

    assert files.read(f"{home}/a.md") == content


def test_a_sequence_that_stays_cut_is_told_at_fsync(files: Files, home: str) -> None:
    with files.open(f"{home}/a.md", os.O_RDWR | os.O_CREAT) as file:
        file.write(b"Gr\xc3")
        with refuses(errno.EILSEQ):
            file.sync()
        file.write(b"\xbc\xc3\x9fe", 3)
        file.sync()


@pytest.mark.parametrize(
    "name",
    ["a\x01", "a\u200db", "a\u2028b", "e\u0301", "line\nbreak", "tab\t"],
    ids=["control", "format", "separator", "not-nfc", "newline", "tab"],
)
def test_a_name_that_no_memory_may_have_is_refused(name: str, files: Files, home: str) -> None:
    with refuses(errno.EILSEQ):
        files.create(f"{home}/{name}")
    with refuses(errno.EILSEQ):
        files.mkdir(f"{home}/{name}")

    assert files.listdir(home) == []


def test_a_name_that_is_not_utf8_is_refused(files: Files, home: str) -> None:
    with refuses(errno.EILSEQ):
        files.create(home.encode() + b"/\xff")


def test_a_name_has_at_most_255_bytes(files: Files, home: str) -> None:
    files.create(f"{home}/{'é' * 127}")

    with refuses(errno.ENAMETOOLONG):
        files.create(f"{home}/{'é' * 128}")


def test_a_path_has_at_most_20_segments(files: Files, home: str) -> None:
    path = home
    for _ in range(18):
        path += "/d"
        files.mkdir(path)
    files.create(f"{path}/20.md")
    files.mkdir(f"{path}/20")

    with refuses(errno.ENAMETOOLONG):
        files.create(f"{path}/20/21.md")


def test_a_path_has_at_most_1024_bytes(files: Files, home: str) -> None:
    path = home
    for _ in range(4):
        path += "/" + "d" * 240
        files.mkdir(path)
    left = 1024 - len(path.removeprefix("notes")) - 1
    files.create(f"{path}/{'x' * left}")

    with refuses(errno.ENAMETOOLONG):
        files.create(f"{path}/{'y' * (left + 1)}")


def test_the_marker_of_the_sdk_is_no_memory(files: Files) -> None:
    with refuses(errno.EILSEQ):
        files.create("notes/.anthropic-memory-store")


@pytest.mark.parametrize("name", [".a.md.swp", "a.md~", "#a.md#", ".#a.md", ".nfs0001", ".DS_Store"])
def test_a_local_only_name_may_hold_anything(name: str, files: Files, home: str) -> None:
    content = b"\xff\xfe" * 100_000

    with files.open(f"{home}/{name}", os.O_RDWR | os.O_CREAT) as file:
        file.write(content)
        file.sync()

    assert files.read(f"{home}/{name}") == content


def test_below_a_local_only_directory_anything_goes(files: Files, home: str) -> None:
    files.mkdir(f"{home}/.git")
    files.mkdir(f"{home}/__pycache__")

    files.write(f"{home}/.git/pack", b"\xff" * 200_000)
    files.write(home.encode() + b"/.git/\xff\x01", b"\xff")
    files.write(f"{home}/__pycache__/a.pyc", b"\xa7\x0d")

    assert files.read(f"{home}/__pycache__/a.pyc") == b"\xa7\x0d"


def test_a_full_store_takes_no_more_memories_until_one_goes(files: Files) -> None:
    assert files.statfs("full").files_free == 0

    with refuses(errno.ENOSPC):
        files.create("full/one-more.md")
    files.write("full/local~", b"not counted")
    files.mkdir("full/directories-are-not-counted")
    with refuses(errno.ENOSPC):
        files.rename("full/local~", "full/one-more.md")
    files.write("full/00000.md", b"what is there can be changed")
    files.rename("full/local~", "full/00000.md")
    files.unlink("full/00001.md")
    files.create("full/one-more.md")
    with refuses(errno.ENOSPC):
        files.create("full/two-more.md")

    files.rename("full/one-more.md", "full/00001.md")
    files.rmdir("full/directories-are-not-counted")
    assert files.read("full/00000.md") == b"not counted"
    assert files.statfs("full").files_free == 0


def test_a_full_store_can_still_be_edited_by_programs_that_save_by_rename(files: Files) -> None:
    files.write("full/sedAb12Cd", b"edited")
    files.rename("full/sedAb12Cd", "full/00000.md")
    files.write("full/00001.md.tmp", b"new")
    with refuses(errno.ENOSPC):
        files.rename("full/00001.md.tmp", "full/one-more.md")

    files.unlink("full/00001.md.tmp")
    assert files.read("full/00000.md") == b"edited"
    assert files.statfs("full").files_free == 0


def test_a_store_with_too_many_memories_refuses_to_save_what_was_held_back_and_nothing_else(
    world: World, files: Files
) -> None:
    """More than fit come in by pulls, which nothing refuses, and by names that are held back."""
    world.pull("full/pulled.md", b"")
    until(lambda: files.exists("full/pulled.md"))
    for name in ("empty.tmp", "one.tmp", "saved"):
        files.mkdir(f"full/{name}")
    files.create("full/one.tmp/a.md")

    files.rename("full/empty.tmp", "full/empty")
    with refuses(errno.ENOSPC):
        files.rename("full/one.tmp", "full/one")
    with refuses(errno.ENOSPC):
        files.rename("full/one.tmp", "full/saved")
    files.rename("full/one.tmp", "full/other.tmp")

    files.unlink("full/other.tmp/a.md")
    world.remove("full/pulled.md")
    for name in ("empty", "other.tmp", "saved"):
        files.rmdir(f"full/{name}")
    assert files.statfs("full").files_free == 0


def test_what_a_file_without_a_name_may_hold_does_not_change_with_its_directory(files: Files, home: str) -> None:
    files.mkdir(f"{home}/.git")
    files.mkdir(f"{home}/d")
    with (
        files.open(f"{home}/.git/x", os.O_RDWR | os.O_CREAT) as local_only,
        files.open(f"{home}/d/x", os.O_RDWR | os.O_CREAT) as memory,
    ):
        files.unlink(f"{home}/.git/x")
        files.unlink(f"{home}/d/x")
        files.rename(f"{home}/.git", f"{home}/e")
        files.rename(f"{home}/d", f"{home}/d~")

        local_only.write(b"\xff\xfe")
        with refuses(errno.EILSEQ):
            memory.write(b"\xff\xfe")


def test_free_memories_are_counted(files: Files, home: str) -> None:
    before = files.statfs(home)
    files.create(f"{home}/a.md")
    files.create(f"{home}/b.md")
    files.create(f"{home}/c~")
    files.rename(f"{home}/a.md", f"{home}/b.md")
    files.mkdir(f"{home}/d")
    after = files.statfs(home)

    assert (before.files, before.name_max) == (10_000, 255)
    assert after.files_free == before.files_free - 1
