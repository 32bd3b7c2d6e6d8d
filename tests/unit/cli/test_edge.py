"""The edge of the command line: one line, the right exit code, a traceback for bugs only."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from commands import MEMFS

from memfs.cli import app as edge
from memfs.cli.children import Child
from memfs.core.errors import NotFound
from memfs.health import notify


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [
        (NotFound("there is no store 'x'", remedy="Make it"), 4, "memfs: there is no store 'x'. Make it\n"),
        (PermissionError(13, "Permission denied", "/x"), 10, "memfs: /x: Permission denied\n"),
        (OSError(28, "No space left on device"), 10, "memfs: No space left on device\n"),
    ],
)
def test_a_refusal_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], raised: Exception, code: int, said: str
) -> None:
    def fail() -> None:
        raise raised

    monkeypatch.setattr(edge, "app", fail)
    with pytest.raises(SystemExit) as ended:
        edge.run()

    assert ended.value.code == code
    assert capsys.readouterr().err == said


def test_a_bug_is_a_traceback_and_a_code_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(edge, "app", lambda: {}["nothing"])
    with pytest.raises(SystemExit) as ended:
        edge.run()

    assert ended.value.code == 70
    assert "KeyError" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["status"], ["mount", "."], ["sync", "--store", "x"]])
def test_a_state_that_is_no_directory_is_one_line(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "mount").mkdir()
    environ = {**os.environ, "MEMFS_API_KEY": "k"}
    done = subprocess.run(
        [MEMFS, *command, "--state", tmp_path / "file" / "state"],
        cwd=tmp_path / "mount", env=environ, capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip

    if command == ["status"]:
        assert "no store is attached" in done.stdout
        return
    assert done.returncode == 10, done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert str(tmp_path / "file") in done.stderr


def test_a_long_directory_holds_the_sockets_of_children(tmp_path: Path) -> None:
    """The address of a socket ends at 107 bytes; a state or a temporary directory need not."""
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    code = "import time; from memfs.health import notify; notify(ready=True, status='here'); time.sleep(60)"
    child = Child("thing", [sys.executable, "-c", code], deep)
    child.start()

    assert child.wait_ready(20.0)
    assert child.status == "here"
    assert child.stop(5.0) == -15
    child.close()
    assert not list(deep.iterdir())


def test_nobody_need_listen(tmp_path: Path) -> None:
    notify(ready=True, environ={})
    notify(ready=True, environ={"NOTIFY_SOCKET": str(tmp_path / "gone")})
    notify(ready=True, environ={"NOTIFY_SOCKET": str(tmp_path / "no" / "where")})


def test_an_abstract_socket_is_told_too() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(f"\0memfs-test-{os.getpid()}")
        listener.settimeout(5)
        notify(ready=True, status="up", environ={"NOTIFY_SOCKET": f"@memfs-test-{os.getpid()}"})

        assert listener.recv(100) == b"READY=1\nSTATUS=up"

        notify(stopping=True, extend_timeout_s=1.5, environ={"NOTIFY_SOCKET": f"@memfs-test-{os.getpid()}"})

        assert listener.recv(100) == b"STOPPING=1\nEXTEND_TIMEOUT_USEC=1500000"


@pytest.mark.parametrize("command", [["up", "--store", "x", "--mount", "."], ["mount", "."], ["status"]])
def test_a_state_that_cannot_be_used_is_one_line_with_a_remedy(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "mount").mkdir()
    environ = {**os.environ, "MEMFS_API_KEY": "k"}
    done = subprocess.run(
        [MEMFS, *command, "--state", tmp_path / "file"],
        cwd=tmp_path / "mount", env=environ, capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip

    assert done.returncode == 10, done.stderr
    (line,) = done.stderr.splitlines()
    assert str(tmp_path / "file") in line
    assert "--state" in line
