"""A root, the tool over it, and a short way to ask it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from memfs.agent import MemoryTool, ToolFailure, descent

Asking = Callable[..., tuple[object, bool]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The directory that the model sees as /memories; something worth stealing lies beside it."""
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.md").write_bytes(b"secret\n")
    return root


@pytest.fixture
def tool(root: Path) -> MemoryTool:
    return MemoryTool(root)


@pytest.fixture
def asking() -> Callable[[MemoryTool], Asking]:
    """Return a function that asks a tool and returns what the model reads, and whether it is an error."""

    def asking(tool: MemoryTool) -> Asking:
        def ask(command: object, **fields: object) -> tuple[object, bool]:
            try:
                return tool.run({"command": command, **fields}), False
            except ToolFailure as failure:
                return failure.text, True

        return ask

    return asking


@pytest.fixture
def ask(tool: MemoryTool, asking: Callable[[MemoryTool], Asking]) -> Asking:
    return asking(tool)


@pytest.fixture
def mount_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that looks like the root of a mount: by its inode, and because nobody may write there."""
    root = tmp_path / "mount"
    for name in (".memfs", "notes", "team"):
        (root / name).mkdir(parents=True)
    (root / "notes" / "a.md").write_bytes(b"kept\n")
    root.chmod(0o555)
    monkeypatch.setattr(descent, "MOUNT_ROOT_INODE", root.stat().st_ino)
    return root


@pytest.fixture
def files() -> Callable[[Path], dict[str, bytes]]:
    """Return a function that reads every file below a directory; links are read as links, directories as b"/"."""

    def files(directory: Path) -> dict[str, bytes]:
        return {str(path.relative_to(directory)): _seen(path) for path in sorted(directory.rglob("*"))}

    return files


def _seen(path: Path) -> bytes:
    if path.is_symlink():
        return b"-> " + bytes(path.readlink())
    return path.read_bytes() if path.is_file() else b"/"
