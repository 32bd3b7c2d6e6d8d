"""The repository as the house tests read it: every text file that git tracks or would track."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


def listed(*which: str) -> set[str]:
    command = ["git", "ls-files", "-z", *which]
    printed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=30).stdout
    return set(printed.split("\0")) - {""}


@pytest.fixture(scope="session")
def texts() -> dict[str, str]:
    """Path from the root → content. What is being removed or is no text is left out.

    New files in the rooms count before they are committed; what a user left beside the rooms is not ours to judge.
    """
    kept = listed("--cached")
    rooms = {name.partition("/")[0] for name in kept}
    new = {name for name in listed("--others", "--exclude-standard") if name.partition("/")[0] in rooms}
    found = {}
    for name in sorted(kept | new):
        path = ROOT / name
        content = path.read_bytes() if path.is_file() else b"\0"
        if b"\0" not in content:
            found[name] = content.decode()
    return found


@pytest.fixture(scope="session")
def code(texts: dict[str, str]) -> dict[str, str]:
    """The Python modules of the product."""
    return {
        name: text for name, text in texts.items() if name.startswith(("memfs/", "worker/")) and name.endswith(".py")
    }
