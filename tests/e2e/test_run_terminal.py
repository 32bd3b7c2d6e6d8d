"""`memfs run` at a terminal: Ctrl-C, Ctrl-Z and job control are the command's, as they are a shell's jobs'."""

import fcntl
import os
import select
import shlex
import subprocess
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from commands import RunningServer
from running_inside import USERS, Inside, inside

ANSWER_S = 40
CTRL_C, CTRL_Z = b"\x03", b"\x1a"


class Keyboard:
    """The user's side of a terminal."""

    def __init__(self, descriptor: int, process: "subprocess.Popen[bytes]") -> None:
        self._descriptor, self.process, self._shown = descriptor, process, b""

    def type(self, text: bytes) -> None:
        os.write(self._descriptor, text)

    def until(self, text: str) -> str:
        """Return what the terminal showed up to ``text`` since the last call."""
        deadline = time.monotonic() + ANSWER_S
        while text.encode() not in self._shown:
            assert select.select([self._descriptor], [], [], max(0.0, deadline - time.monotonic()))[0], self._shown
            self._shown += os.read(self._descriptor, 4_096)
        before, found, self._shown = self._shown.partition(text.encode())
        return (before + found).decode()


@contextmanager
def at_terminal(words: list[str], one: Inside) -> Iterator[Keyboard]:
    """Run a command as the first of a terminal; it has ended when the block has."""
    keyboard, terminal = os.openpty()
    process = subprocess.Popen(
        words,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env={**one.memfs.environ, "PS1": "% ", "TERM": "dumb", "HISTFILE": ""},
        cwd=one.home,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509  (a test has one thread)
    )
    os.close(terminal)
    try:
        yield Keyboard(keyboard, process)
    finally:
        os.close(keyboard)  # A terminal that goes away hangs up on everybody.
        try:
            process.wait(ANSWER_S)
        finally:
            process.kill()


@pytest.fixture(params=USERS)
def one(store_server: RunningServer, tmp_path: Path, request: pytest.FixtureRequest) -> Inside:
    return inside(store_server, tmp_path, request.param)


def test_ctrl_c_reaches_the_command_and_memfs_waits_for_it(one: Inside) -> None:
    script = "cd /mnt/memory/*/; trap 'echo caught >told.md; exit 5' INT; echo be''gun; while :; do sleep .1; done"
    with at_terminal(one.words("bash", "-c", script), one) as keyboard:
        keyboard.until("begun")
        keyboard.type(CTRL_C)

        assert 5 == keyboard.process.wait(ANSWER_S)

    assert "caught\n" == one.remote("/told.md")


def test_a_shell_inside_has_job_control(one: Inside) -> None:
    with at_terminal(one.words("bash", "--norc", "-i"), one) as keyboard:
        keyboard.until("% ")
        keyboard.type(b"sleep 1000\n")
        keyboard.until("sleep 1000")
        time.sleep(0.5)  # The shell hands the terminal over when it likes.
        keyboard.type(CTRL_C)
        keyboard.until("% ")
        keyboard.type(b"echo code $?\n")
        keyboard.until("code 130")
        keyboard.type(b"sleep 1000 &\njobs\nkill %1; tty; exit 3\n")
        assert "Running" in keyboard.until("exit\r\n")

        assert 3 == keyboard.process.wait(ANSWER_S)


def test_ctrl_z_stops_memfs_for_the_shell_outside_and_fg_goes_on(one: Inside) -> None:
    words = shlex.join(one.words("sh", "-c", "echo be''gun; read line; echo $line; exit 4"))
    with at_terminal(["bash", "--norc", "-i"], one) as keyboard:
        keyboard.until("% ")
        keyboard.type(f"{words}; echo code $?\n".encode())
        keyboard.until("begun")
        keyboard.type(CTRL_Z)
        keyboard.until("Stopped")
        keyboard.until("% ")
        keyboard.type(b"fg\n")
        keyboard.until("memfs run")
        keyboard.type(b"typed\n")
        keyboard.until("typed\r\ntyped\r\n")
        keyboard.type(b"echo code $?\n")
        keyboard.until("code 4")
        keyboard.type(b"exit\n")

        assert 0 == keyboard.process.wait(ANSWER_S)
