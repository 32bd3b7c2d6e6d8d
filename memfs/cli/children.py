"""Supervised child processes: started, watched, restarted with backoff and named; used by ``memfs up`` and the demo.

A child says that it serves by sd_notify (`memfs.health`), so nothing is parsed from its output. Children run in
sessions of their own: a Ctrl-C reaches the supervisor alone, which stops them in order. They die with the supervisor.

Threading: one thread; `Supervisor.watch` blocks and returns on a signal.
"""

import ctypes
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from types import FrameType
from typing import Self

from memfs.core.backoff import delay_s
from memfs.health import DOWNLOAD, read_download, short_address

_PR_SET_PDEATHSIG = 1
_TICK_S = 0.2
RESTART_BASE_S, RESTART_CAP_S = 1.0, 30.0
STEADY_S = 60.0
"""A child that lived this long starts its backoff anew."""


def memfs_command(*arguments: str) -> list[str]:
    """Return the words that run ``memfs ARGUMENTS`` with this interpreter, whatever the environment says."""
    return [sys.executable, "-I", "-m", "memfs.cli", *arguments]


def worker_command(*arguments: str) -> list[str]:
    """Return the words that run the sync worker with this interpreter."""
    return [sys.executable, "-I", "-m", "worker", *arguments]


class Child:
    """One process to keep alive.

    Args:
        name: What messages call it: ``server``, ``worker``, ``mount``.
        command: The words to run.
        directory: Where its notification socket may be made.
        environ: Variables in addition to ours.
        log: A file that takes its output, which otherwise goes where ours goes.
        ends_all: When it ends well by itself, somebody wanted it to: everything is to stop.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        directory: Path,
        environ: Mapping[str, str] | None = None,
        log: Path | None = None,
        *,
        ends_all: bool = False,
    ) -> None:
        self.name, self.command, self.status, self.ready = name, list(command), "", False
        self.log, self.ends_all = log, ends_all
        self.has_served = False
        self.download: tuple[int, int | None] | None = None
        """How many memories of how many are here, while they come."""
        self.started_s, self.failures, self.due_s = 0.0, 0, 0.0
        self._process: subprocess.Popen[bytes] | None = None
        self._address = directory / f"{name}.notify"
        self._address.unlink(missing_ok=True)
        self._told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        with short_address(self._address) as address:
            self._told.bind(address)
        self._environ = {**os.environ, **(environ or {}), "NOTIFY_SOCKET": str(self._address)}

    def fileno(self) -> int:
        """Return the descriptor that turns readable when the child tells something."""
        return self._told.fileno()

    def start(self) -> None:
        """Start the process (again)."""
        self.ready, self.started_s = False, time.monotonic()
        with self.log.open("ab") if self.log else nullcontext() as output:
            self._process = subprocess.Popen(  # noqa: S603  (our own commands)
                self.command,
                env=self._environ,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=_die_with_parent,  # noqa: PLW1509  (this process has one thread)
            )

    @property
    def pid(self) -> int:
        """The process id, 0 before the first start."""
        return self._process.pid if self._process else 0

    def ended(self) -> int | None:
        """Return the exit code once the process is gone, None while it runs."""
        return self._process.poll() if self._process else None

    def hear(self) -> None:
        """Take in what the child told since the last call."""
        while True:
            try:
                lines = self._told.recv(4_096).decode(errors="replace").splitlines()
            except BlockingIOError:
                return
            for line in lines:
                name, _, value = line.partition("=")
                if name == "READY":
                    self.ready = self.has_served = True
                elif name == "STATUS":
                    self.status = value
                elif name == DOWNLOAD:
                    self.download = read_download(value)

    def wait_ready(
        self,
        timeout_s: float,
        *,
        is_stopping: Callable[[], bool] = lambda: False,
        on_tick: Callable[[], None] = lambda: None,
    ) -> bool:
        """Wait until the child serves; False when it ended, took too long, or everything is to stop."""
        deadline = time.monotonic() + timeout_s
        while not self.ready:
            if is_stopping() or time.monotonic() > deadline or self.ended() is not None:
                return False
            select.select([self._told], [], [], _TICK_S / 4)
            self.hear()
            on_tick()
        return True

    def stop(self, timeout_s: float, *, hurry: Callable[[], bool] = lambda: False) -> int:
        """Ask the process to end, kill it when it has not after ``timeout_s``, and return its exit code.

        ``hurry`` turning true sends the signal once more: a second one asks memfs's commands to end at once.
        """
        if self._process is None:
            return 0
        deadline, hurried = time.monotonic() + timeout_s, False
        self._signal(signal.SIGTERM)
        while (code := self.ended()) is None:
            if time.monotonic() > deadline:
                self._signal(signal.SIGKILL)
                return self._process.wait()
            if hurry() and not hurried:
                hurried = True
                self._signal(signal.SIGTERM)
            time.sleep(_TICK_S / 10)
        return code

    def close(self) -> None:
        """Give the notification socket back."""
        self._address.unlink(missing_ok=True)
        self._told.close()

    def _signal(self, number: signal.Signals) -> None:
        if self._process and self._process.poll() is None:
            self._process.send_signal(number)


class Supervisor:
    """Keeps children alive until a signal asks everything to stop.

    Args:
        say: Where one-line messages for the person at the terminal go.
        jitter: Returns a number in [0, 1) that spreads restarts.
    """

    def __init__(self, say: Callable[[str], None], jitter: Callable[[], float]) -> None:
        self._say, self._jitter, self.signals = say, jitter, 0
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._on_signal)

    @property
    def is_stopping(self) -> bool:
        """Tell whether a signal asked everything to stop."""
        return self.signals > 0

    @property
    def is_hurried(self) -> bool:
        """Tell whether a second signal asked to stop at once."""
        return self.signals > 1

    def watch(self, children: Sequence[Child], *, on_tick: Callable[[], None] = lambda: None) -> Self:
        """Restart each child that ends, with backoff and by name, until a signal comes."""
        while not self.is_stopping:
            self.tend(children)
            on_tick()
        return self

    def tend(self, children: Sequence[Child], others: Sequence[socket.socket] = ()) -> None:
        """Wait until a child or one of the other sockets has something to tell, for a moment at most; see `watch`."""
        waited_for: list[Child | socket.socket] = [*children, *others]
        select.select(waited_for, [], [], _TICK_S)
        for child in children:
            child.hear()
            self._keep_alive(child)

    def _keep_alive(self, child: Child) -> None:
        code, now = child.ended(), time.monotonic()
        if code is None:
            return
        if code == 0 and child.ends_all:
            self._say(f"the {child.name} was ended by somebody: stopping")
            self.signals += 1
            return
        if child.due_s == 0.0:
            child.failures = 0 if now - child.started_s > STEADY_S else child.failures + 1
            wait_s = delay_s(child.failures, base_s=RESTART_BASE_S, cap_s=RESTART_CAP_S, random=self._jitter())
            child.due_s = now + wait_s
            how = f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
            self._say(f"the {child.name} ended with {how}; it starts again in {wait_s:.1f} s")
        elif now >= child.due_s:
            child.due_s = 0.0
            child.start()

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self.signals += 1


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
