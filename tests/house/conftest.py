"""The repository as the house tests read it: every text file that git tracks or would track."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def texts() -> dict[str, str]:
    """Path from the root → content. What is being removed or is no text is left out."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=30).stdout
    found = {}
    for name in sorted(set(listed.split("\0")) - {""}):
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
