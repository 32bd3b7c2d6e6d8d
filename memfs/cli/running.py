"""The life of one `memfs run`: sandbox, worker and mount start in order; when the command has ended, they end in order.

The worker runs outside; the mount in the sandbox's outer half, where it needs no fusermount and shows nothing on the
host. What both tell goes to ``STATE/run/log``: the terminal is the command's.
"""

import math
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

from memfs.cli.children import Child, Supervisor, memfs_command, worker_command
from memfs.cli.lifecycle import FIRST_SYNC_TIMEOUT_S, READY_TIMEOUT_S, UNMOUNT_TIMEOUT_S, told_unsynced
from memfs.cli.terminal import Terminal
from memfs.config import RemoteSettings
from memfs.core import errors
from memfs.core.errors import MemfsError, RemoteUnavailable, SandboxRefused, Unsynced
from memfs.sandbox import messages
from memfs.sandbox.plan import MEMORY, Plan
from memfs.state.layout import Layout

_SIGNALLED = 128
"""What shells add to the number of the signal that ended a command."""
_LONG_DRAIN_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What one call runs, every default filled in."""

    plan: Plan
    environ: Mapping[str, str]
    """The command's."""
    layout: Layout
    named_by_flags: list[str]
    """The words that name stores or a session, as the worker takes them too."""
    remote: RemoteSettings
    config: Path | None
    drain_timeout_s: float


class RunSupervisor(Supervisor):
    """A supervisor whose signals are the command's while that runs."""

    def __init__(self, say: Callable[[str], None], jitter: Callable[[], float]) -> None:
        ignored = [number for number in (signal.SIGINT, signal.SIGHUP) if signal.getsignal(number) is signal.SIG_IGN]
        super().__init__(say, jitter)
        for number in ignored:  # As nohup wants it.
            signal.signal(number, signal.SIG_IGN)
        self.forward: Callable[[int], None] | None = None
        self.last_signal = 0

    def forward_to(self, forward: Callable[[int], None]) -> None:
        """Pass signals on from now, and one that came a moment ago."""
        self.forward = forward
        if self.is_stopping:
            self.signals = 0
            forward(self.last_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.last_signal = number
        if self.forward is not None:
            self.forward(number)
        else:
            super()._on_signal(number, frame)


class Running:
    """The processes of one `memfs run`.

    Args:
        given: What to run.
        supervisor: Watches the processes and hears the signals.
        say: Where one-line messages for the person at the terminal go.
    """

    def __init__(self, given: RunOptions, supervisor: RunSupervisor, say: Callable[[str], None]) -> None:
        self._given, self._supervisor, self._say = given, supervisor, say
        self._directory = given.layout.root / "run"
        self._log = self._directory / "log"
        self._terminal = Terminal()
        self._children: list[Child] = []
        self._is_synced = True

    def run(self, check_remote: Callable[[], None]) -> int:
        """Start everything, run the command, end everything; return the exit code.

        Args:
            check_remote: Asks the remote about the stores before anything serves them; what it raises ends the command.

        Raises:
            MemfsError: What ``check_remote`` raises, what refuses the sandbox, or a process that does not get ready.
        """
        self._check_free()
        self._directory.mkdir(mode=0o700, exist_ok=True)
        self._log.write_bytes(b"")
        ours, theirs = messages.pair()
        with ours, self._held(theirs) as holder:
            try:
                code = self._started(ours, holder.pid, check_remote) or self._commanded(ours)
            finally:
                with ExitStack() as stack:
                    stack.callback(ours.close)  # Everything inside ends, if it has not.
                    for child in self._children:
                        stack.callback(self._stop, child)
                    stack.callback(self._terminal.take_back)
        return code or (0 if self._is_synced else Unsynced.exit_code)

    def _check_free(self) -> None:
        """Refuse a state that another mount serves, before a worker of ours attaches other stores to it."""
        from memfs.fuse import lock

        with lock.held(self._given.layout.root, Path(MEMORY)):
            pass

    def _held(self, theirs: socket.socket) -> "subprocess.Popen[bytes]":
        plan = replace(self._given.plan, has_terminal=self._terminal.is_ours)
        words = [sys.executable, "-I", "-m", "memfs.sandbox", "hold", str(theirs.fileno()), plan.encoded()]
        with theirs:
            return subprocess.Popen(  # noqa: S603  (our own program)
                words, env=self._given.environ, pass_fds=[theirs.fileno()], process_group=0
            )

    def _started(self, ours: socket.socket, holder: int, check_remote: Callable[[], None]) -> int:
        """Start all but the command; return an exit code where it shall not begin."""
        given, root = self._given, self._given.layout.root
        self._told(ours, "made")
        check_remote()
        config = ["--config", str(given.config)] if given.config else []
        worker = worker_command(
            "--state", str(root), "--base-url", given.remote.base_url, *given.named_by_flags, *config
        )
        if code := self._start("worker", worker, FIRST_SYNC_TIMEOUT_S, given.remote.environment, must_be_ready=False):
            return code
        owner = ["--uid", "0", "--gid", "0"] if given.plan.uid else ["--uid", "0", "--gid", str(given.plan.gid)]
        mount = memfs_command("mount", MEMORY, "--fuse", "--state", str(root), *owner, *config)
        inside = [sys.executable, "-I", "-m", "memfs.sandbox", "join", str(holder), *mount]
        return self._start("mount", inside, READY_TIMEOUT_S) or self._stopped()

    def _start(
        self,
        name: str,
        command: list[str],
        timeout_s: float,
        environ: Mapping[str, str] | None = None,
        *,
        must_be_ready: bool = True,
    ) -> int:
        if code := self._stopped():
            return code
        child = Child(name, command, self._directory, environ, self._log)
        self._children.append(child)
        child.start()
        if child.wait_ready(timeout_s, is_stopping=lambda: self._supervisor.is_stopping):
            return 0
        if (ended := child.ended()) is not None:
            sys.stderr.write(self._log.read_text(errors="replace"))
            return ended or MemfsError.exit_code
        if must_be_ready:
            raise RemoteUnavailable(f"the {name} did not get ready within {timeout_s:.0f} s", remedy=f"See {self._log}")
        if not self._supervisor.is_stopping:
            self._say(f"the worker: {child.status or 'the first sync goes on'}")
        return 0

    def _stopped(self) -> int:
        return _SIGNALLED + self._supervisor.last_signal if self._supervisor.is_stopping else 0

    def _commanded(self, ours: socket.socket) -> int:
        """Run the command to its end and return its exit code, as a shell says it."""
        messages.send(ours, "begin")
        self._terminal.lend(int(self._told(ours, "began")["process"]))
        self._supervisor.forward_to(lambda number: _forward(ours, number))
        signal.signal(signal.SIGCONT, lambda *_: self._terminal.resume())
        while (told := self._next(ours))["kind"] != "ended":
            if told["kind"] == "stopped":
                self._terminal.stop()
            elif told["kind"] == "gone":
                self._say("the sandbox was ended from outside")
                told["code"] = -signal.SIGKILL
                break
        self._supervisor.forward = None
        code = int(told["code"])
        return code if code >= 0 else _SIGNALLED - code

    def _next(self, ours: socket.socket) -> dict[str, Any]:
        while not messages.is_waiting(ours):
            self._supervisor.tend(self._children, [ours])
        return messages.receive(ours)

    def _told(self, ours: socket.socket, kind: str) -> dict[str, Any]:
        told = messages.receive(ours)
        if told["kind"] == "refused":
            refused = next(one for one in vars(errors).values() if getattr(one, "code", "") == told["code"])
            raise refused(told["message"], remedy=told["remedy"])
        if told["kind"] != kind:
            raise SandboxRefused("the sandbox ended before the command began")
        return told

    def _stop(self, child: Child) -> None:
        is_worker, is_there = child.name == "worker", child.ended() is None
        timeout_s = self._given.drain_timeout_s + 5.0 if is_worker else UNMOUNT_TIMEOUT_S
        code = child.stop(timeout_s, hurry=self._drain_news() if is_worker else self._is_hurried)
        child.close()
        if is_worker and is_there:
            self._is_synced = told_unsynced(self._given.layout.root, self._say, is_drained=code == 0)

    def _is_hurried(self) -> bool:
        return self._supervisor.is_stopping

    def _drain_news(self) -> Callable[[], bool]:
        """Return a question asked again and again while the worker drains, which after a while says what goes on."""
        said_at = time.monotonic() + _LONG_DRAIN_S

        def ask() -> bool:
            nonlocal said_at
            if time.monotonic() > said_at:
                said_at = math.inf
                most_s = self._given.drain_timeout_s
                self._say(f"pushing what is not yet synced, for at most {most_s:.0f} s; Ctrl-C stops at once")
            return self._is_hurried()

        return ask


def _forward(ours: socket.socket, number: int) -> None:
    with suppress(OSError):  # It ended a moment ago.
        messages.send(ours, "signal", number=number)
