"""The layers: the contracts of pyproject.toml hold, and they break when a room reaches where it must not."""

import shutil
import subprocess
import sysconfig
import tomllib
from pathlib import Path

import pytest

LINT_IMPORTS = Path(sysconfig.get_path("scripts"), "lint-imports")


def lint(directory: Path) -> subprocess.CompletedProcess[str]:
    command = [str(LINT_IMPORTS), "--no-cache"]
    return subprocess.run(command, cwd=directory, check=False, capture_output=True, text=True, timeout=60)


@pytest.fixture
def copy(root: Path, tmp_path: Path) -> Path:
    """A copy of the house to plant something in."""
    for name in ("memfs", "worker"):
        shutil.copytree(root / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(root / "pyproject.toml", tmp_path)
    return tmp_path


def test_every_contract_is_kept(root: Path) -> None:
    contracts = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]

    linted = lint(root)

    assert linted.returncode == 0, linted.stdout
    assert f"Contracts: {len(contracts)} kept, 0 broken." in linted.stdout


@pytest.mark.parametrize(
    ("module", "line", "broken"),
    [
        ("memfs/plumbing.py", "", "memfs is layered, and every room is declared"),
        ("memfs/core/planted.py", "import os", "memfs.core imports pure libraries only"),
        ("memfs/tree/planted.py", "import memfs.vfs", "memfs is layered, and every room is declared"),
        ("memfs/vfs/planted.py", "import memfs.remote", "the mount knows no network and no wire contract"),
        ("memfs/vfs/planted.py", "import httpx", "only memfs.remote imports httpx"),
        ("memfs/remote/planted.py", "import memfs.config", "no room below the edges reads the configuration"),
        ("memfs/fuse/planted.py", "import memfs.tree", "memfs.fuse acts on files through memfs.vfs"),
        ("memfs/server/planted.py", "import memfs.state", "both ends of the wire know only the contract"),
        ("memfs/agent/planted.py", "import memfs.api", "memfs.agent works on directories only"),
        ("worker/planted.py", "import memfs.vfs", "the worker knows no kernel, no server and no agent"),
        ("memfs/cli/planted.py", "import worker", "memfs does not import the worker"),
        ("memfs/cli/planted.py", "import fuse", "only memfs.fuse imports fusepy"),
        ("memfs/cli/planted.py", "def f():\n    import anthropic", "only memfs.agent's adapters import anthropic"),
        ("memfs/remote/planted.py", "import sqlalchemy", "only memfs.server imports its web and database libraries"),
    ],
)
def test_a_room_that_reaches_where_it_must_not_is_found(copy: Path, module: str, line: str, broken: str) -> None:
    (copy / module).write_text(f'"""Planted."""\n{line}\n')

    linted = lint(copy)

    assert linted.returncode == 1
    assert f"{broken} BROKEN" in linted.stdout
