"""The six commands over a real mount: the root with its stores, one store, a read-only store, the limits, the end.

The mount is a process of its own. Needs /dev/fuse, as every test of the mount does.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import many_agents
import pytest

from memfs.agent import MemoryTool, ToolFailure
from memfs.core.attachment import Access, Attachment
from memfs.core.limits import Limits
from memfs.state.attachments import attach
from memfs.state.layout import Layout

TOP = (
    "/memories holds one directory for each attached store and nothing else. "
    "Work inside one of them: /memories/docs, /memories/notes, /memories/team"
)


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Path]:
    """Mount three stores, of which docs is read-only and has one memory."""
    state, point = Layout(tmp_path / "state"), tmp_path / "mount"
    attach(state, [_store("notes"), _store("team"), _store("docs", Access.READ_ONLY)])
    (state.store("memstore_docs").tree / "guide.md").write_bytes(b"read me\n")
    point.mkdir()
    with _mounted(state, point):
        yield point


@contextmanager
def _mounted(state: Layout, point: Path) -> Iterator[None]:
    command = [sys.executable, "-m", "memfs.cli", "mount", str(point), "--state", str(state.root)]
    address = f"@memfs-test-{os.getpid()}-{point.parent.name}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready:
        ready.bind("\0" + address[1:])
        ready.settimeout(20)
        with subprocess.Popen(command, stderr=subprocess.PIPE, env=os.environ | {"NOTIFY_SOCKET": address}) as process:
            try:
                assert b"READY=1" in ready.recv(4096)
                yield
            finally:
                subprocess.run(["fusermount", "-u", "-z", str(point)], check=False, capture_output=True, timeout=10)
                process.terminate()
                _, errors = process.communicate(timeout=20)
                assert [line for line in errors.splitlines() if b" INFO " not in line] == []


def _store(name: str, access: Access = Access.READ_WRITE) -> Attachment:
    return Attachment(store_id=f"memstore_{name}", name=name, slug=name, access=access)


def told(tool: MemoryTool, command: str, **fields: object) -> str:
    """Return what the model reads, marked with a ! where it is an error."""
    try:
        return str(tool.run({"command": command, **fields}))
    except ToolFailure as failure:
        return f"! {failure.text}"


def test_the_six_commands_work_in_every_store_of_a_mount(mount: Path) -> None:
    tool = MemoryTool(mount)

    assert told(tool, "create", path="/memories/notes/a/todo.md", file_text="one\r\ntwo") == (
        "File created successfully at: /memories/notes/a/todo.md"
    )
    assert told(tool, "str_replace", path="/memories/notes/a/todo.md", old_str="one") == (
        "The memory file has been edited.\n     1\t\r\n     2\ttwo"
    )
    assert told(tool, "insert", path="/memories/notes/a/todo.md", insert_line=2, insert_text="three\n") == (
        "The file /memories/notes/a/todo.md has been edited."
    )
    assert told(tool, "rename", old_path="/memories/notes/a/todo.md", new_path="/memories/notes/b/c/done.md") == (
        "Successfully renamed /memories/notes/a/todo.md to /memories/notes/b/c/done.md"
    )
    assert told(tool, "rename", old_path="/memories/notes/b", new_path="/memories/notes/d/b") == (
        "Successfully renamed /memories/notes/b to /memories/notes/d/b"
    )
    assert (mount / "notes/d/b/c/done.md").read_bytes() == b"\r\ntwo\r\nthree"
    assert told(tool, "view", path="/memories").split("\n")[1:] == [
        "5.0K\t/memories",
        "1.0K\t/memories/docs",
        "0.5K\t/memories/docs/guide.md",
        "3.0K\t/memories/notes",
        "0.5K\t/memories/notes/a",
        "2.0K\t/memories/notes/d",
        "0.5K\t/memories/team",
    ]
    assert told(tool, "delete", path="/memories/notes/d") == "Successfully deleted /memories/notes/d"
    assert sorted(os.listdir(mount / "notes")) == ["a"]  # noqa: PTH208  (names, not paths)


def test_a_rename_on_a_mount_never_overwrites_and_never_crosses_stores(mount: Path) -> None:
    tool = MemoryTool(mount)
    for path in ("notes/a.md", "notes/b.md", "notes/dir/in.md"):
        told(tool, "create", path=f"/memories/{path}", file_text=path)

    assert told(tool, "rename", old_path="/memories/notes/a.md", new_path="/memories/notes/b.md") == (
        "! Error: The destination /memories/notes/b.md already exists"
    )
    assert told(tool, "rename", old_path="/memories/notes/a.md", new_path="/memories/team/x/a.md") == (
        "! Error: /memories/notes/a.md cannot be renamed to /memories/team/x/a.md: "
        "the two paths are in different stores; create the file in the other store, then delete this one"
    )
    assert told(tool, "rename", old_path="/memories/notes/dir", new_path="/memories/team/dir").startswith("! Error: ")
    assert list((mount / "team").iterdir()) == []
    assert (mount / "notes/b.md").read_bytes() == b"notes/b.md"


def test_a_read_only_store_and_the_top_level_refuse_changes_in_words(mount: Path) -> None:
    tool = MemoryTool(mount)
    read_only = "its store is attached read-only; it can be viewed, not changed"

    assert told(tool, "view", path="/memories/docs/guide.md") == (
        "Here's the content of /memories/docs/guide.md with line numbers:\n     1\tread me"
    )
    assert told(tool, "create", path="/memories/docs/x/new.md", file_text="x") == (
        f"! Error: /memories/docs/x/new.md cannot be created: {read_only}"
    )
    assert told(tool, "str_replace", path="/memories/docs/guide.md", old_str="read", new_str="x") == (
        f"! Error: /memories/docs/guide.md cannot be edited: {read_only}"
    )
    assert told(tool, "delete", path="/memories/docs/guide.md") == (
        f"! Error: /memories/docs/guide.md cannot be deleted: {read_only}"
    )
    assert told(tool, "rename", old_path="/memories/docs/guide.md", new_path="/memories/docs/b.md") == (
        f"! Error: /memories/docs/guide.md cannot be renamed to /memories/docs/b.md: {read_only}"
    )
    assert told(tool, "create", path="/memories/a.md", file_text="x") == (
        f"! Error: /memories/a.md cannot be created: {TOP}"
    )
    assert told(tool, "create", path="/memories/new/a.md", file_text="x") == (
        f"! Error: /memories/new/a.md cannot be created: {TOP}"
    )
    assert told(tool, "delete", path="/memories/team") == f"! Error: /memories/team cannot be deleted: {TOP}"
    assert (mount / "docs/guide.md").read_bytes() == b"read me\n"


def test_the_limits_of_a_store_are_told_in_words_and_leave_nothing(mount: Path) -> None:
    tool = MemoryTool(mount / "notes")
    told(tool, "create", path="/memories/a.md", file_text="x" * 102_400)

    assert told(tool, "insert", path="/memories/a.md", insert_line=0, insert_text="y") == (
        "! Error: /memories/a.md cannot be edited: it would be larger than a memory may be (100 KB of text); "
        "split it over several files"
    )
    assert told(tool, "create", path="/memories/d/b.md", file_text="x" * 102_401).startswith(
        "! Error: /memories/d/b.md cannot be created: it would be larger"
    )
    assert told(tool, "create", path="/memories/" + "d/" * 20 + "b.md", file_text="x").endswith(
        "its path is too long or too deep; use shorter names and fewer directories"
    )
    assert [path.name for path in (mount / "notes").iterdir()] == ["a.md"]
    assert (mount / "notes/a.md").stat().st_size == 102_400


def test_memories_of_a_full_store_are_edited_and_renamed_but_no_more_are_made(tmp_path: Path) -> None:
    state, point = Layout(tmp_path / "state"), tmp_path / "mount"
    attach(state, [_store("notes")])
    for number in range(Limits().memories):
        (state.store("memstore_notes").tree / f"{number}.md").write_bytes(b"old")
    point.mkdir()
    full = "the store is full; delete or merge memories that are no longer needed"

    with _mounted(state, point):
        tool = MemoryTool(point / "notes")

        assert told(tool, "create", path="/memories/x/new.md", file_text="x") == (
            f"! Error: /memories/x/new.md cannot be created: {full}"
        )
        assert told(tool, "str_replace", path="/memories/0.md", old_str="old", new_str="new").startswith("The memory")
        assert told(tool, "rename", old_path="/memories/0.md", new_path="/memories/x/y.md") == (
            "Successfully renamed /memories/0.md to /memories/x/y.md"
        )
        assert told(tool, "rename", old_path="/memories/1.md", new_path="/memories/x/y.md") == (
            "! Error: The destination /memories/x/y.md already exists"
        )
        assert [b"new"] == [one.read_bytes() for one in (point / "notes/x").iterdir()]


def test_an_unmounted_root_is_not_written_under(mount: Path) -> None:
    tool = MemoryTool(mount)
    subprocess.run(["fusermount", "-u", "-z", str(mount)], check=True, timeout=10)

    assert told(tool, "create", path="/memories/notes/a.md", file_text="x") == (
        "! Error: The directory of /memories is not mounted any more; tell the user"
    )
    assert list(mount.iterdir()) == []


def test_every_edit_of_many_agents_is_kept_whatever_they_call_the_root(mount: Path) -> None:
    """Some see the whole mount as /memories, some one store: they meet at the file's own directory."""
    (mount / "notes" / "log.md").touch()

    told = many_agents.told([(mount, "/memories/notes/log.md"), (mount / "notes", "/memories/log.md")] * 2)

    assert len(told) == 4 * many_agents.EDITS
    assert sorted((mount / "notes" / "log.md").read_text().splitlines()) == told
