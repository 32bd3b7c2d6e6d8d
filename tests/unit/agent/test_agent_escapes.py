"""No symbolic link leads out of the root, also one that appears at the worst moment."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memfs.agent import MemoryTool

Ask = Callable[..., tuple[object, bool]]
Files = Callable[[Path], dict[str, bytes]]

ITSELF = "is a symbolic link, and links are not followed"
LINKED = "a part of its path is a symbolic link, and links are not followed"


@pytest.fixture
def links(root: Path) -> None:
    outside = root.parent / "outside"
    (root / "file-link").symlink_to(outside / "secret.md")
    (root / "directory-link").symlink_to(outside)
    (root / "up").symlink_to("..")
    (root / "loop").symlink_to("loop")


@pytest.mark.usefixtures("links")
@pytest.mark.parametrize(
    ("sent", "text"),
    [
        ({"command": "view", "path": "/memories/file-link"}, None),
        ({"command": "view", "path": "/memories/directory-link"}, None),
        ({"command": "view", "path": "/memories/loop"}, None),
        ({"command": "view", "path": "/memories/directory-link/secret.md"}, "cannot be viewed"),
        ({"command": "view", "path": "/memories/up/outside/secret.md"}, "cannot be viewed"),
        ({"command": "view", "path": "/memories/loop/x"}, "cannot be viewed"),
        ({"command": "create", "path": "/memories/directory-link/new.md", "file_text": "x"}, "cannot be created"),
        ({"command": "create", "path": "/memories/up/new/new.md", "file_text": "x"}, "cannot be created"),
        ({"command": "str_replace", "path": "/memories/file-link", "old_str": "secret", "new_str": "x"}, None),
        ({"command": "str_replace", "path": "/memories/up/outside/secret.md", "old_str": "s"}, "cannot be edited"),
        ({"command": "insert", "path": "/memories/file-link", "insert_line": 0, "insert_text": "x"}, None),
        ({"command": "delete", "path": "/memories/directory-link/secret.md"}, "cannot be deleted"),
        ({"command": "delete", "path": "/memories/up/outside"}, "cannot be deleted"),
        (
            {"command": "rename", "old_path": "/memories/up/outside/secret.md", "new_path": "/memories/mine.md"},
            "cannot be renamed to /memories/mine.md",
        ),
        (
            {"command": "rename", "old_path": "/memories/mine.md", "new_path": "/memories/directory-link/x.md"},
            "cannot be renamed to /memories/directory-link/x.md",
        ),
    ],
)
def test_a_symbolic_link_never_leads_out(
    ask: Ask, root: Path, files: Files, sent: dict[str, object], text: str | None
) -> None:
    if sent.get("old_path") == "/memories/mine.md":
        (root / "mine.md").write_bytes(b"mine")
    before = files(root.parent)
    path = sent.get("path", sent.get("old_path"))
    told = (
        f"Error: {path} {text}: {LINKED}" if text else f"Error: {path} is a symbolic link, and links are not followed"
    )

    assert ask(**sent) == (told, True)
    assert before == files(root.parent)


@pytest.mark.usefixtures("links")
def test_links_are_not_listed(ask: Ask) -> None:
    content, _ = ask("view", path="/memories")

    assert str(content).split("\n")[1:] == ["0.5K\t/memories"]


@pytest.mark.usefixtures("links")
def test_overwriting_create_does_not_write_through_a_link(
    asking: Callable[[MemoryTool], Ask], root: Path, files: Files
) -> None:
    before = files(root.parent)

    _, is_error = asking(MemoryTool(root, overwrite_on_create=True))(
        "create", path="/memories/file-link", file_text="x"
    )

    assert is_error
    assert before == files(root.parent)


@pytest.mark.parametrize(
    "sent",
    [
        {"command": "view", "path": "/memories/dir/secret.md"},
        {"command": "view", "path": "/memories/dir"},
        {"command": "create", "path": "/memories/dir/new.md", "file_text": "x"},
        {"command": "create", "path": "/memories/dir/deep/new.md", "file_text": "x"},
        {"command": "str_replace", "path": "/memories/dir/secret.md", "old_str": "mine", "new_str": "x"},
        {"command": "insert", "path": "/memories/dir/secret.md", "insert_line": 0, "insert_text": "x"},
        {"command": "delete", "path": "/memories/dir/secret.md"},
        {"command": "delete", "path": "/memories/dir"},
        {"command": "rename", "old_path": "/memories/dir/secret.md", "new_path": "/memories/x.md"},
        {"command": "rename", "old_path": "/memories/other.md", "new_path": "/memories/dir/x.md"},
    ],
    ids=lambda sent: f"{sent['command']} {sent.get('path') or sent.get('new_path')}",
)
@pytest.mark.parametrize("moment", range(6))
def test_a_directory_swapped_for_a_link_at_any_moment_never_leads_out(
    ask: Ask, root: Path, files: Files, monkeypatch: pytest.MonkeyPatch, sent: dict[str, object], moment: int
) -> None:
    """The swap happens just before the command's open number ``moment`` of the directory's name, by construction."""
    (root / "dir").mkdir()
    (root / "dir" / "secret.md").write_bytes(b"mine\n")
    (root / "other.md").write_bytes(b"other\n")
    before = files(root.parent / "outside")
    opens = iter(range(100))
    real_open = os.open

    def swapping_open(path: Any, flags: int, *args: Any, **options: Any) -> int:
        if path in {b"dir", "dir"} and next(opens) == moment:
            (root / "dir").rename(root / "moved")
            (root / "dir").symlink_to(root.parent / "outside")
        return real_open(path, flags, *args, **options)

    monkeypatch.setattr(os, "open", swapping_open)

    content, _ = ask(**sent)

    assert before == files(root.parent / "outside")
    assert "secret\n" not in str(content)
    assert str(root.parent) not in str(content)


@pytest.mark.parametrize("name", ["victim.md", "new.md"])
def test_a_file_swapped_for_a_link_is_replaced_itself_or_refused(
    ask: Ask, root: Path, files: Files, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (root / "victim.md").write_bytes(b"mine\n")
    before = files(root.parent / "outside")
    real_rename = os.rename

    def swapping_rename(source: Any, target: Any, **options: Any) -> None:
        if target == b"victim.md":
            (root / "victim.md").unlink()
            (root / "victim.md").symlink_to(root.parent / "outside" / "secret.md")
        real_rename(source, target, **options)

    monkeypatch.setattr(os, "rename", swapping_rename)
    ask("str_replace", path="/memories/victim.md", old_str="mine", new_str="x")
    ask("create", path=f"/memories/{name}", file_text="x")

    assert before == files(root.parent / "outside")
