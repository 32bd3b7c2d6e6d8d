"""Truncate: by path and by descriptor, shorter and longer."""

import errno
import os

import pytest
from fs.files import Files, refuses


@pytest.mark.parametrize(("size", "left"), [(0, b""), (3, b"012"), (10, b"0123456789"), (12, b"0123456789\0\0")])
def test_a_file_is_cut_or_grown(size: int, left: bytes, files: Files, home: str) -> None:
    files.write(f"{home}/a.md", b"0123456789")

    files.truncate(f"{home}/a.md", size)

    assert files.read(f"{home}/a.md") == left
    assert files.stat(f"{home}/a.md").size == size


def test_an_open_file_is_cut(files: Files, home: str) -> None:
    files.write(f"{home}/a.md", b"0123456789")
    with files.open(f"{home}/a.md", os.O_RDWR) as file:
        file.truncate(4)
        file.write(b"!", 4)

        assert file.read() == b"0123!"


def test_o_trunc_empties_an_existing_file(files: Files, home: str) -> None:
    files.write(f"{home}/a.md", b"0123456789")

    files.open(f"{home}/a.md", os.O_WRONLY | os.O_TRUNC).close()

    assert files.read(f"{home}/a.md") == b""


def test_a_directory_cannot_be_cut(files: Files, home: str) -> None:
    with refuses(errno.EISDIR):
        files.truncate(home, 0)


def test_a_file_cannot_grow_past_a_memory(files: Files, home: str) -> None:
    files.write(f"{home}/a.md", b"text")

    files.truncate(f"{home}/a.md", 102_400)
    with refuses(errno.EFBIG):
        files.truncate(f"{home}/a.md", 102_401)

    assert files.stat(f"{home}/a.md").size == 102_400
