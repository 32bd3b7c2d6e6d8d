"""Each upcall in the words of the file system, in both modes of opening."""

import ctypes
import errno
import os
import stat
from types import SimpleNamespace
from typing import Any

import pytest

from memfs.core.errors import NotFound
from memfs.fuse import replies as replies_module
from memfs.fuse.announcing import Announcer
from memfs.fuse.operations import Operations
from memfs.fuse.options import OpenUpcalls
from memfs.fuse.structures import FileInfo, Stat
from memfs.vfs.values import Attributes, SetAttributes

ATTRIBUTES = Attributes(7, 70, stat.S_IFREG | 0o644, 1, 5, 1, 2, 1_000_000_001, 2_000_000_002, 3_000_000_003, 8)


class Recorder:
    """A file system that notes what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def lookup(self, parent: int, name: bytes) -> Attributes:
        if name == b"gone":
            raise FileNotFoundError(errno.ENOENT, "gone")
        if name == b"lost":
            raise NotFound("lost")
        if name == b"locked":
            raise PermissionError(errno.EACCES, "locked")
        return ATTRIBUTES._replace(nodeid=parent + 1)

    def create(self, *arguments: object) -> tuple[Attributes, int]:
        self.asked.append(("create", *arguments))
        return ATTRIBUTES, 42

    def open(self, *arguments: object) -> int:
        self.asked.append(("open", *arguments))
        return 43

    def setattr(self, *arguments: object) -> Attributes:
        self.asked.append(("setattr", *arguments))
        return ATTRIBUTES

    def write(self, *arguments: object) -> int:
        self.asked.append(("write", *arguments))
        return 3

    def release(self, *arguments: object) -> None:
        self.asked.append(("release", *arguments))

    def forget(self, *arguments: object) -> None:
        self.asked.append(("forget", *arguments))

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: self.asked.append((name, *arguments))


def made(open_upcalls: OpenUpcalls = OpenUpcalls.AUTO, minor: int = 45) -> tuple[Operations, Recorder]:
    recorder = Recorder()
    operations = Operations(recorder, open_upcalls, Announcer())  # a double
    operations.init(None, SimpleNamespace(contents=SimpleNamespace(proto_minor=minor)))
    return operations, recorder


def file_info(flags: int = 0, fh: int = 0) -> Any:
    return ctypes.pointer(FileInfo(flags=flags, fh=fh))


@pytest.mark.parametrize(
    ("wanted", "minor", "kernel_opens"),
    [
        (OpenUpcalls.AUTO, 45, True),
        (OpenUpcalls.AUTO, 29, True),
        (OpenUpcalls.AUTO, 28, False),
        (OpenUpcalls.ALWAYS, 45, False),
    ],
)
def test_the_kernel_opens_by_itself_where_it_can_and_may(wanted: OpenUpcalls, minor: int, kernel_opens: bool) -> None:
    operations, _ = made(wanted, minor)

    assert kernel_opens == operations.kernel_opens


@pytest.mark.parametrize("name", [b"gone", b"lost"])
def test_a_missing_name_is_known_to_be_absent_below_the_root(name: bytes) -> None:
    operations, _ = made()

    assert operations.lookup(5, name) is None


def test_a_missing_name_of_the_root_is_asked_again_each_time() -> None:
    operations, _ = made()

    with pytest.raises(FileNotFoundError):
        operations.lookup(1, b"gone")


def test_another_failure_of_a_lookup_is_not_absence() -> None:
    operations, _ = made()

    with pytest.raises(PermissionError):
        operations.lookup(5, b"locked")


def test_a_created_file_keeps_no_handle_where_the_kernel_never_releases_it() -> None:
    operations, recorder = made()
    info = file_info(os.O_WRONLY)

    operations.create(1, b"a.md", 0o644, info)

    assert [("create", 1, b"a.md", 0o644, os.O_WRONLY), ("release", 7, 42)] == recorder.asked
    assert (0, 1) == (info.contents.fh, info.contents.keep_cache)


def test_a_created_file_keeps_its_handle_where_opens_are_upcalls() -> None:
    operations, recorder = made(OpenUpcalls.ALWAYS)
    info = file_info(os.O_WRONLY)

    operations.create(1, b"a.md", 0o644, info)

    assert ["create"] == [asked[0] for asked in recorder.asked]
    assert (42, 1) == (info.contents.fh, info.contents.keep_cache)


def test_an_interrupted_create_leaves_no_handle_and_no_lookup() -> None:
    operations, recorder = made(OpenUpcalls.ALWAYS)

    operations.forget_created((ATTRIBUTES, file_info(fh=42)))

    assert [("release", 7, 42), ("forget", 7, 1)] == recorder.asked


def test_open_is_left_to_the_kernel_or_keeps_the_cached_pages() -> None:
    by_itself, _ = made()
    asking, recorder = made(OpenUpcalls.ALWAYS)
    info = file_info(os.O_RDWR)

    for refused in (by_itself.open, by_itself.opendir):
        with pytest.raises(OSError, match="not implemented") as caught:
            refused(7, file_info())
        assert errno.ENOSYS == caught.value.errno

    asking.open(7, info)

    assert [("open", 7, os.O_RDWR)] == recorder.asked
    assert (43, 1) == (info.contents.fh, info.contents.keep_cache)


def test_setattr_passes_on_only_what_is_to_change() -> None:
    operations, recorder = made()
    wanted = Stat(st_mode=0o600, st_size=9)
    wanted.st_mtimespec.tv_sec, wanted.st_mtimespec.tv_nsec = 3, 5

    operations.setattr(7, ctypes.pointer(wanted), 8 | 32 | 256, file_info(fh=42))
    operations.setattr(7, ctypes.pointer(wanted), 1, None)

    assert [
        ("setattr", 7, SetAttributes(size=9, mtime_ns=3_000_000_005), 42),
        ("setattr", 7, SetAttributes(mode=0o600), None),
    ] == recorder.asked


def test_a_write_carries_its_bytes_and_the_flags_of_its_descriptor() -> None:
    operations, recorder = made()
    buffer = ctypes.create_string_buffer(b"a\0b")

    operations.write(7, ctypes.addressof(buffer), 3, 11, file_info(os.O_WRONLY | os.O_APPEND))

    assert [("write", 7, b"a\0b", 11, os.O_WRONLY | os.O_APPEND, 0)] == recorder.asked


def test_links_and_special_files_are_refused_by_the_directory_they_would_be_in() -> None:
    operations, recorder = made()

    operations.refuse_node(3, b"pipe", stat.S_IFIFO, 0)
    operations.refuse_symlink(b"target", 4, b"link")
    operations.refuse_link(9, 5, b"link")

    assert [("refuse_special", 3), ("refuse_special", 4), ("refuse_special", 5)] == recorder.asked


def test_what_the_kernel_should_never_ask_is_not_in_the_table() -> None:
    operations, _ = made()
    table = operations.table()

    absent = {
        "flush", "access", "getxattr", "setxattr", "listxattr", "removexattr", "getlk", "setlk", "flock", "fallocate",
    }  # fmt: skip

    assert set() == {name for name in absent if getattr(table, name)}
    assert table.lookup
    assert table.init


def test_attributes_fill_the_structure_that_the_kernel_is_answered_with(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = replies_module.Replies()
    monkeypatch.setattr(replies_module.lib, "reply_entry", lambda _request, _entry: 0)

    answers.entry(1, ATTRIBUTES)

    attr = answers._entry.attr
    assert (7, 70, 0o100644, 1, 5, 1, 2, 8) == (
        answers._entry.ino, attr.st_ino, attr.st_mode, attr.st_nlink, attr.st_size, attr.st_uid, attr.st_gid,
        attr.st_blocks,
    )  # fmt: skip
    assert (1, 1) == (attr.st_atimespec.tv_sec, attr.st_atimespec.tv_nsec)
    assert (3, 3) == (attr.st_ctimespec.tv_sec, attr.st_ctimespec.tv_nsec)
