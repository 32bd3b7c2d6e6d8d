"""File operations are whole or not at all, and never overwrite what they did not read."""

import errno
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memfs.agent import MemoryTool, descent, directory, placement
from memfs.agent.directory import Changed, Directory, Kind

Ask = Callable[..., tuple[object, bool]]
Files = Callable[[Path], dict[str, bytes]]


def names(where: Path) -> list[str]:
    return sorted(path.name for path in where.iterdir())


@pytest.fixture(params=["by the kernel", "by reservation"])
def never_overwriting(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways of renaming onto nothing; our own mount knows only the second."""
    if request.param == "by reservation":
        monkeypatch.setattr(placement, "_renamed_atomically", lambda *_: False)


@pytest.mark.usefixtures("never_overwriting")
def test_rename_moves_files_and_directories_and_makes_parents(ask: Ask, root: Path, files: Files) -> None:
    (root / "a.md").write_bytes(b"a")
    (root / "dir").mkdir()
    (root / "dir" / "b.md").write_bytes(b"b")
    (root / "link").symlink_to("a.md")

    for old, new in (("a.md", "x/y/a.md"), ("dir", "x/dir"), ("link", "x/link")):
        assert ask("rename", old_path=f"/memories/{old}", new_path=f"/memories/{new}")[1] is False

    assert files(root) == {
        "x": b"/", "x/dir": b"/", "x/dir/b.md": b"b", "x/link": b"-> a.md", "x/y": b"/", "x/y/a.md": b"a",
    }  # fmt: skip


@pytest.mark.usefixtures("never_overwriting")
@pytest.mark.parametrize("old", [b"a.md", b"dir"])
@pytest.mark.parametrize("new", [b"b.md", b"full", b"empty"])
def test_a_target_that_appears_at_the_last_moment_is_not_overwritten(
    root: Path, files: Files, old: bytes, new: bytes
) -> None:
    """`move` is called without the check before it: as if the target came right after the check."""
    (root / "a.md").write_bytes(b"a")
    (root / "b.md").write_bytes(b"b")
    (root / "empty").mkdir()
    for name in ("dir", "full"):
        (root / name).mkdir()
        (root / name / "in.md").write_bytes(b"in")
    before = files(root)

    with pytest.raises(FileExistsError):
        Directory(root).move([old], [new])

    assert before == files(root)


@pytest.mark.usefixtures("never_overwriting")
def test_of_many_who_create_one_file_exactly_one_succeeds(root: Path) -> None:
    start = threading.Barrier(8)
    made: list[bytes] = []

    def create(number: int) -> None:
        start.wait()
        try:
            Directory(root).create([b"deep", b"a.md"], b"%d" % number)
        except FileExistsError:
            return
        made.append(b"%d" % number)

    threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert made == [(root / "deep" / "a.md").read_bytes()]
    assert names(root / "deep") == ["a.md"]


@pytest.mark.parametrize("old", ["a.md", "dir"])
def test_a_rename_that_fails_leaves_no_reservation_and_no_new_directory(
    ask: Ask, root: Path, files: Files, monkeypatch: pytest.MonkeyPatch, old: str
) -> None:
    (root / "a.md").write_bytes(b"a")
    (root / "dir").mkdir()
    before = files(root)

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))

    monkeypatch.setattr(placement, "_renamed_atomically", lambda *_: False)
    monkeypatch.setattr(os, "rename", refuse)

    content, is_error = ask("rename", old_path=f"/memories/{old}", new_path="/memories/x/y/z")

    assert is_error
    assert str(content).startswith(f"Error: /memories/{old} cannot be renamed to /memories/x/y/z: it would be larger")
    assert before == files(root)


def test_a_reservation_that_somebody_wrote_to_stays(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "a.md").write_bytes(b"a")

    def write_and_refuse(*_: object, **__: object) -> None:
        (root / "b.md").write_bytes(b"somebody's")
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(placement, "_renamed_atomically", lambda *_: False)
    monkeypatch.setattr(os, "rename", write_and_refuse)

    with pytest.raises(OSError, match="Input/output"):
        Directory(root).move([b"a.md"], [b"b.md"])

    assert (root / "b.md").read_bytes() == b"somebody's"


def test_a_full_disk_below_the_reservation_still_lets_nothing_be_overwritten(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reservation is a second name: where there is no room for it, the target is looked at instead."""
    (root / "a.md").write_bytes(b"a")
    (root / "b.md").write_bytes(b"b")

    def no_room(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with Directory(root).descent.directory(()) as fd:
        monkeypatch.setattr(placement, "_renamed_atomically", lambda *_: False)
        monkeypatch.setattr(os, "open", no_room)
        with pytest.raises(FileExistsError):
            placement.move_onto_nothing(fd, b"a.md", fd, b"b.md")
        placement.move_onto_nothing(fd, b"a.md", fd, b"c.md")

    assert names(root) == ["b.md", "c.md"]


def test_a_kernel_that_knows_no_noreplace_is_found_out(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "a.md").write_bytes(b"a")
    monkeypatch.setattr(placement, "_renameat2", None)

    Directory(root).move([b"a.md"], [b"b.md"])

    assert names(root) == ["b.md"]


@pytest.mark.parametrize("failing", ["write", "fsync", "rename"])
def test_a_failed_write_leaves_the_old_bytes_and_no_temporary_file(
    ask: Ask, root: Path, files: Files, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    (root / "a.md").write_bytes(b"old")
    before = files(root)

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, failing, refuse)
        edited = ask("str_replace", path="/memories/a.md", old_str="old", new_str="new")
        created = ask("create", path="/memories/x/b.md", file_text="b") if failing != "rename" else edited

    assert edited[1]
    assert created[1]
    assert "the store is full" in str(edited[0])
    assert before == files(root)


def test_an_edit_keeps_the_mode_and_new_files_are_private(ask: Ask, root: Path) -> None:
    (root / "a.md").write_bytes(b"old")
    (root / "a.md").chmod(0o664)

    ask("str_replace", path="/memories/a.md", old_str="old", new_str="new")
    ask("create", path="/memories/d/b.md", file_text="b")

    assert stat.S_IMODE((root / "a.md").stat().st_mode) == 0o664
    assert stat.S_IMODE((root / "d" / "b.md").stat().st_mode) == 0o600
    assert stat.S_IMODE((root / "d").stat().st_mode) == 0o700


def test_the_temporary_name_is_never_a_memory(root: Path) -> None:
    """A process that dies in the middle leaves a name that is neither synced nor counted."""
    from memfs.core.names import Names  # noqa: PLC0415  (one test looks at another room)

    with Directory(root).descent.directory(()) as fd, placement.staged(fd, b"x", 0o600) as name:
        assert name.startswith(b".tmp-")
        assert Names().is_local_only(name.decode())
        assert names(root) == [name.decode()]


def test_replace_refuses_when_the_file_is_no_longer_what_was_read(root: Path) -> None:
    (root / "a.md").write_bytes(b"old")
    files = Directory(root)
    found = files.read([b"a.md"])
    (root / "a.md").write_bytes(b"newer")

    with pytest.raises(Changed):
        files.replace([b"a.md"], b"mine", found)

    assert names(root) == ["a.md"]
    assert (root / "a.md").read_bytes() == b"newer"


def test_an_edit_that_was_overtaken_is_made_on_the_new_text(
    ask: Ask, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a.md").write_bytes(b"one\n")
    overtakers = iter([b"zero\none\n"])
    real = directory.staged

    def overtaken(*args: Any) -> object:
        for content in overtakers:
            (root / "a.md").write_bytes(content)
        return real(*args)

    monkeypatch.setattr(directory, "staged", overtaken)

    ask("str_replace", path="/memories/a.md", old_str="one", new_str="two")

    assert (root / "a.md").read_bytes() == b"zero\ntwo\n"


def test_an_edit_gives_up_on_a_file_that_never_rests(ask: Ask, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "a.md").write_bytes(b"one\n")

    def changed(*_: object) -> None:
        raise Changed

    monkeypatch.setattr(Directory, "replace", changed)

    assert ask("insert", path="/memories/a.md", insert_line=0, insert_text="x") == (
        "Error: /memories/a.md cannot be edited: another program keeps changing it; view it and try again",
        True,
    )


def test_many_agents_in_one_process_lose_no_line(root: Path, asking: Callable[[MemoryTool], Ask]) -> None:
    (root / "log.md").write_bytes(b"")
    agents = [asking(MemoryTool(root)) for _ in range(6)]

    def write(ask: Ask, agent: int) -> None:
        for line in range(5):
            ask("insert", path="/memories/log.md", insert_line=0, insert_text=f"{agent} {line}\n")

    threads = [threading.Thread(target=write, args=(ask, agent)) for agent, ask in enumerate(agents)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    lines = (root / "log.md").read_text().splitlines()
    assert sorted(lines) == sorted(f"{agent} {line}" for agent in range(6) for line in range(5))


def test_special_files_are_neither_read_nor_waited_for(ask: Ask, root: Path) -> None:
    os.mkfifo(root / "pipe")

    assert ask("view", path="/memories/pipe") == ("Error: /memories/pipe is neither a file nor a directory", True)
    assert ask("view", path="/memories")[0] == (
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n"
        "0.5K\t/memories"
    )
    with pytest.raises(PermissionError):
        Directory(root).read([b"pipe"])


def test_a_directory_that_came_after_the_look_is_not_read_and_leaves_no_descriptor(root: Path) -> None:
    (root / "dir").mkdir()
    files = Directory(root)
    before = names(Path("/proc/self/fd"))

    with pytest.raises(IsADirectoryError):
        files.read([b"dir"])

    assert before == names(Path("/proc/self/fd"))


def test_a_file_too_large_to_be_text_for_a_model_is_not_read(
    ask: Ask, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a.md").write_bytes(b"12345")
    monkeypatch.setattr(directory, "READ_BYTES", 4)

    assert ask("view", path="/memories/a.md") == (
        "Error: /memories/a.md cannot be viewed: it is too large to be read here",
        True,
    )


def test_delete_goes_on_when_something_in_the_directory_went_by_itself(
    ask: Ask, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "dir").mkdir()
    (root / "dir" / "a.md").write_bytes(b"a")
    vanishings = iter([FileNotFoundError(errno.ENOENT, "gone")])
    real = directory.shutil.rmtree

    def vanishing(*args: Any, **options: Any) -> None:
        for error in vanishings:
            raise error
        real(*args, **options)

    monkeypatch.setattr(directory.shutil, "rmtree", vanishing)

    assert ask("delete", path="/memories/dir") == ("Successfully deleted /memories/dir", False)
    assert names(root) == []


def test_kind_tells_what_is_there(root: Path) -> None:
    (root / "file").write_bytes(b"")
    (root / "dir").mkdir()
    (root / "link").symlink_to("file")
    os.mkfifo(root / "pipe")
    files = Directory(root)

    assert files.kind([]) is Kind.DIRECTORY
    assert files.kind([b"dir"]) is Kind.DIRECTORY
    assert files.kind([b"file"]) is Kind.FILE
    assert files.kind([b"link"]) is Kind.LINK
    assert files.kind([b"pipe"]) is Kind.SPECIAL
    assert files.kind([b"no"]) is Kind.NOTHING
    assert files.kind([b"file", b"no"]) is Kind.NOTHING


def test_a_directory_that_cannot_be_synced_is_left_alone_but_a_failing_disk_is_not(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = errno.EINVAL

    def refuse(_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", refuse)
    with Directory(root).descent.directory(()) as fd:
        descent.sync_directory(fd)
        number = errno.EIO
        with pytest.raises(OSError, match="Input/output"):
            descent.sync_directory(fd)
