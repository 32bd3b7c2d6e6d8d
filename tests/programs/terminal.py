"""Drive a program that wants a terminal: wait for what it shows, then type."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Sequence
from pathlib import Path

TIMEOUT_S = 15.0


def at_terminal(words: Sequence[str | Path], script: Sequence[tuple[str, str]]) -> None:
    """Run a program; for each pair, wait until the text was shown since the last one, then type the keys."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environ = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LC_ALL": "C.UTF-8", "TERM": "xterm"}
    process = subprocess.Popen(
        words, stdin=slave, stdout=slave, stderr=slave, env=environ, start_new_session=True, close_fds=True
    )
    os.close(slave)
    try:
        for text, keys in script:
            _wait_for(master, text)
            os.write(master, keys.encode())
        _drain(master)
        code = process.wait(TIMEOUT_S)
    finally:
        process.kill()
        process.wait()
        os.close(master)
    assert code == 0


def _wait_for(master: int, text: str) -> None:
    shown, deadline = "", time.monotonic() + TIMEOUT_S
    while text not in shown:
        readable, _, _ = select.select([master], [], [], max(0.0, deadline - time.monotonic()))
        assert readable, f"{text!r} was not shown, but {shown!r}"
        shown += os.read(master, 4096).decode(errors="replace")


def _drain(master: int) -> None:
    """Read until the program has left its terminal: what nobody reads would hold it up."""
    deadline = time.monotonic() + TIMEOUT_S
    while select.select([master], [], [], max(0.0, deadline - time.monotonic()))[0]:
        try:
            if not os.read(master, 4096):
                return
        except OSError:
            return
