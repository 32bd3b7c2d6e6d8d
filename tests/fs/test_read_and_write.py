"""Reading, writing and appending: what was written is what is read, at once and durably."""

import os

from fs.files import Files, refuses
from fs.worlds import World


def test_what_was_written_is_read(files: Files, home: str) -> None:
    files.write(f"{home}/a.md", "Grüße\n".encode())

    assert files.read(f"{home}/a.md") == "Grüße\n".encode()
    assert files.stat(f"{home}/a.md").size == 8


def test_a_write_is_in_the_tree_at_once(world: World, files: Files, home: str) -> None:
    files.write(f"{home}/a.md", b"text")

    assert world.tree(f"{home}/a.md").read_bytes() == b"text"


def test_what_is_rewritten_is_read_anew(files: Files, home: str) -> None:
    files.write(f"{home}/a.md", b"a long first text")
    assert files.read(f"{home}/a.md") == b"a long first text"

    files.write(f"{home}/a.md", b"short")

    assert files.read(f"{home}/a.md") == b"short"


def test_two_descriptors_see_the_same_bytes(files: Files, home: str) -> None:
    files.write(f"{home}/a.md", b"0123456789")
    with files.open(f"{home}/a.md", os.O_RDWR) as writer, files.open(f"{home}/a.md", os.O_RDONLY) as reader:
        writer.write(b"abc", 3)

        assert reader.read() == b"012abc6789"
        assert reader.read(4, 2) == b"2abc"
        assert reader.read(10, 100) == b""


def test_a_memory_as_large_as_allowed_is_kept(files: Files, home: str) -> None:
    content = b"0123456789" * 10_240

    files.write(f"{home}/a.md", content)

    assert files.read(f"{home}/a.md") == content


def test_a_hole_reads_as_nul_which_is_text(files: Files, home: str) -> None:
    with files.open(f"{home}/a.md", os.O_RDWR | os.O_CREAT) as file:
        file.write(b"end", 5000)
        file.sync()

        assert file.read() == b"\0" * 5000 + b"end"


def test_appends_go_to_the_end_whatever_the_offset(files: Files, home: str) -> None:
    files.write(f"{home}/log.md", b"one\n")
    with (
        files.open(f"{home}/log.md", os.O_WRONLY | os.O_APPEND) as first,
        files.open(f"{home}/log.md", os.O_WRONLY | os.O_APPEND) as second,
    ):
        first.write(b"two\n")
        second.write(b"three\n")
        first.write(b"four\n")

    assert files.read(f"{home}/log.md") == b"one\ntwo\nthree\nfour\n"


def test_fsync_of_file_and_directory_succeeds(files: Files, home: str) -> None:
    with files.open(f"{home}/a.md", os.O_WRONLY | os.O_CREAT) as file:
        file.write(b"text")
        file.sync()
    with files.open(home, os.O_RDONLY) as directory:
        directory.sync()


def test_a_directory_cannot_be_written(files: Files, home: str) -> None:
    with refuses(21):
        files.open(home, os.O_WRONLY)


def test_many_files_can_be_open_and_read_again(files: Files, home: str) -> None:
    for number in range(600):
        files.write(f"{home}/{number}.md", b"%d" % number)

    assert [files.read(f"{home}/{number}.md") for number in range(600)] == [b"%d" % n for n in range(600)]
