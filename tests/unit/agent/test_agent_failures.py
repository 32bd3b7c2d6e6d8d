"""Every system error becomes words that name the memory path, and nothing of the host."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from memfs.agent import MemoryTool, ToolFailure
from memfs.agent.commands import command_of
from memfs.agent.failures import failure_of
from memfs.core.errors import UsageError

Ask = Callable[..., tuple[object, bool]]
Files = Callable[[Path], dict[str, bytes]]

COMMANDS = [
    {"command": "view", "path": "/memories/a.md"},
    {"command": "create", "path": "/memories/a.md", "file_text": "x"},
    {"command": "str_replace", "path": "/memories/a.md", "old_str": "x"},
    {"command": "insert", "path": "/memories/a.md", "insert_line": 0, "insert_text": "x"},
    {"command": "delete", "path": "/memories/a.md"},
    {"command": "rename", "old_path": "/memories/a.md", "new_path": "/memories/b.md"},
]


@pytest.mark.parametrize("sent", COMMANDS, ids=lambda sent: str(sent["command"]))
@pytest.mark.parametrize("number", sorted(errno.errorcode), ids=lambda number: errno.errorcode[number])
def test_every_error_of_the_system_is_told_in_words(sent: dict[str, object], number: int) -> None:
    error = OSError(number, os.strerror(number), "/host/path/a.md")

    text = failure_of(command_of(sent), error).text

    assert "/memories/" in text
    assert "/host" not in text
    assert "Errno" not in text
    assert "OSError" not in text
    assert text.startswith(("Error: ", "The path "))


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (errno.EROFS, "its store is attached read-only; it can be viewed, not changed"),
        (errno.EFBIG, "it would be larger than a memory may be (100 KB of text); split it over several files"),
        (errno.ENOSPC, "the store is full; delete or merge memories that are no longer needed"),
        (errno.ENAMETOOLONG, "its path is too long or too deep; use shorter names and fewer directories"),
        (errno.EACCES, "permission is denied"),
        (errno.ENOTCONN, "the memory directory is not mounted any more; tell the user"),
        (errno.EIO, "the file system answered: Input/output error"),
    ],
)
def test_the_words_say_what_to_do(number: int, reason: str) -> None:
    error = OSError(number, os.strerror(number))

    assert failure_of(command_of(COMMANDS[1]), error).text == f"Error: /memories/a.md cannot be created: {reason}"


def test_an_error_without_a_number_is_a_timeout() -> None:
    assert failure_of(command_of(COMMANDS[0]), TimeoutError()).text == (
        "Error: /memories/a.md cannot be viewed: the memory directory did not answer in time; try again"
    )


def test_what_vanishes_between_look_and_act_has_the_documented_text(
    ask: Ask, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a.md").write_bytes(b"x")

    def vanish(*_: object) -> None:
        raise FileNotFoundError(errno.ENOENT, "gone", str(root))

    for name in ("read", "remove", "move"):
        monkeypatch.setattr("memfs.agent.directory.Directory." + name, vanish)

    assert ask(**COMMANDS[0]) == ("The path /memories/a.md does not exist. Please provide a valid path.", True)
    assert ask(**COMMANDS[2]) == ("Error: The path /memories/a.md does not exist. Please provide a valid path.", True)
    for sent in COMMANDS[3:]:
        assert ask(**sent) == ("Error: The path /memories/a.md does not exist", True)


def test_a_root_that_is_missing_is_a_usage_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        MemoryTool(tmp_path / "no")

    assert str(error.value) == (
        f"the memory directory {tmp_path / 'no'} cannot be opened: No such file or directory. "
        "Make it, or mount the stores first"
    )


def test_a_root_that_is_a_file_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(UsageError, match="Not a directory"):
        MemoryTool(tmp_path / "file")


def test_a_root_that_went_away_is_told_on_every_command(ask: Ask, root: Path) -> None:
    root.rmdir()

    for sent in COMMANDS:
        assert ask(**sent) == (
            "Error: The directory of /memories cannot be opened (No such file or directory); tell the user",
            True,
        )


def test_a_root_may_be_a_link_because_who_started_the_tool_chose_it(root: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(root)

    MemoryTool(tmp_path / "link").run({"command": "create", "path": "/memories/a.md", "file_text": "x"})

    assert (root / "a.md").read_bytes() == b"x"


TOP = (
    "/memories holds one directory for each attached store and nothing else. "
    "Work inside one of them: /memories/notes, /memories/team"
)


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        (
            {"command": "create", "path": "/memories/a.md", "file_text": "x"},
            f"Error: /memories/a.md cannot be created: {TOP}",
        ),
        ({"command": "delete", "path": "/memories/notes"}, f"Error: /memories/notes cannot be deleted: {TOP}"),
        ({"command": "delete", "path": "/memories/.memfs"}, f"Error: /memories/.memfs cannot be deleted: {TOP}"),
        ({"command": "delete", "path": "/memories/no"}, "Error: The path /memories/no does not exist"),
        (
            {"command": "rename", "old_path": "/memories/notes", "new_path": "/memories/mine"},
            f"Error: /memories/notes cannot be renamed: {TOP}",
        ),
        (
            {"command": "rename", "old_path": "/memories/notes/a.md", "new_path": "/memories/a.md"},
            f"Error: /memories/a.md cannot be created: {TOP}",
        ),
    ],
)
def test_the_directories_of_the_stores_are_not_changed_and_nothing_in_them_is_lost(
    mount_root: Path, asking: Callable[[MemoryTool], Ask], files: Files, sent: dict[str, object], text: str
) -> None:
    """Deleting a store's directory would delete its memories one by one before the mount refuses the last step."""
    before = files(mount_root)

    assert asking(MemoryTool(mount_root))(**sent) == (text, True)
    assert before == files(mount_root)


def test_a_new_top_level_directory_of_a_mount_is_told_apart_from_a_read_only_store(
    mount_root: Path, asking: Callable[[MemoryTool], Ask], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    ask = asking(MemoryTool(mount_root))
    monkeypatch.setattr(os, "mkdir", refuse)

    assert ask("create", path="/memories/new/a.md", file_text="x") == (
        f"Error: /memories/new/a.md cannot be created: {TOP}",
        True,
    )
    assert ask("create", path="/memories/notes/new/a.md", file_text="x") == (
        (
            "Error: /memories/notes/new/a.md cannot be created: "
            "its store is attached read-only; it can be viewed, not changed"
        ),
        True,
    )


def test_a_mount_that_went_away_is_not_written_under(mount_root: Path) -> None:
    tool = MemoryTool(mount_root)
    mount_root.chmod(0o755)

    with pytest.raises(ToolFailure) as failure:
        tool.run({"command": "create", "path": "/memories/notes/new.md", "file_text": "x"})

    assert failure.value.text == "Error: The directory of /memories is not mounted any more; tell the user"
    assert not (mount_root / "notes" / "new.md").exists()
