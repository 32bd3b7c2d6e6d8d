"""`memfs up` as a user runs it: in a terminal of its own, watched from outside."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from commands import MEMFS, Memfs, Printed

READY_TIMEOUT_S = 40.0
SYNC_TIMEOUT_S = 20.0


@dataclass(kw_only=True)
class Up:
    """One running `memfs up`, its mount point and its state."""

    process: "subprocess.Popen[bytes]"
    mount: Path
    state: Path
    log: Path
    memfs: Memfs
    code: int | None = field(default=None)

    def told(self) -> str:
        return self.log.read_text()

    def children(self) -> dict[str, int]:
        """Return the process id of each child by what it runs."""
        found = {}
        for pid in children_of(self.process.pid):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if b"worker" in words:
                found["worker"] = pid
            elif b"memfs.cli" in words:  # Between fork and exec a child has its parent's words.
                found[os.fsdecode(words[words.index(b"memfs.cli") + 1])] = pid
        return found

    def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        """Send a signal as Ctrl-C does, and return the exit code."""
        self.process.send_signal(number)
        self.code = self.process.wait(60)
        return self.code

    def status(self) -> Printed:
        return self.memfs.run("status", "--json", "--state", self.state)


@contextmanager
def running_up(memfs: Memfs, home: Path, *words: str | Path) -> Iterator[Up]:
    """Run `memfs up` until it says that it serves; whatever happens, nothing of it is left."""
    mount, state, log = home / "mount", home / "state", home / "up.log"
    mount.mkdir(exist_ok=True, parents=True)
    with log.open("wb") as output:
        process = subprocess.Popen(
            [MEMFS, "up", "--mount", mount, "--state", state, *words],
            env=dict(memfs.environ),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    up = Up(process=process, mount=mount, state=state, log=log, memfs=memfs)
    try:
        eventually(lambda: "Ctrl-C" in up.told() or process.poll() is not None, READY_TIMEOUT_S)
        assert process.poll() is None, up.told()
        yield up
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(60)


def eventually(question: Callable[[], bool], timeout_s: float = SYNC_TIMEOUT_S) -> None:
    """Ask until the answer is yes; what is not there yet is a no."""
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            if question():
                return
        except (FileNotFoundError, NotADirectoryError):
            pass
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def children_of(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_mounted(point: Path) -> bool:
    return f" {point} " in Path("/proc/self/mountinfo").read_text()
