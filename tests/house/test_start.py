"""What a process pays for at its start: a command imports what it needs, and never the SDK (2 s, 77 MB)."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

REMOTE = {"httpx"}
SERVER = {"sqlalchemy", "fastapi", "starlette", "uvicorn"}
KERNEL = {"fuse"}
EYES = {"watchdog"}
SDK = {"anthropic"}
VIEW = json.dumps({"command": "view", "path": "/memories"})


def imported(*arguments: str, directory: Path, said: str = "") -> tuple[int, set[str]]:
    """Run the interpreter and return its exit code and the top-level modules that it imported."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments],
        cwd=directory,
        env={"PATH": os.environ["PATH"], "HOME": str(directory)},
        input=said,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, set(re.findall(r"^import time:.*\|\s+(\w+)$", done.stderr, re.MULTILINE))


@pytest.mark.parametrize(
    ("arguments", "code", "never"),
    [
        (["--help"], 0, SDK | REMOTE | SERVER | KERNEL | EYES),
        (["up", "--help"], 0, SDK | REMOTE | SERVER | KERNEL | EYES),
        (["status", "--state", "state"], 0, SDK | REMOTE | SERVER | KERNEL | EYES),
        (["tool", "--root", "."], 0, SDK | REMOTE | SERVER | KERNEL | EYES),
        (["mount", "--state", "state", "missing"], 8, SDK | REMOTE | SERVER | EYES),
        (["stores", "list", "--base-url", "http://127.0.0.1:1"], 3, SDK | SERVER | KERNEL | EYES),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_a_command_imports_what_it_needs(arguments: list[str], code: int, never: set[str], tmp_path: Path) -> None:
    returned, modules = imported("-m", "memfs.cli", *arguments, directory=tmp_path, said=VIEW)

    assert "memfs" in modules
    assert never & modules == set()
    assert returned == code


def test_the_worker_imports_no_kernel_no_server_and_no_sdk(tmp_path: Path) -> None:
    code, modules = imported("-I", "-m", "worker", "--help", directory=tmp_path)

    assert {"worker"} <= modules
    assert (SDK | SERVER | KERNEL) & modules == set()
    assert code == 0
