"""Signals as something to wait for: the main thread sleeps on a pipe that each signal, and the session's end, write to.

Threading: used by the main thread; `wake` may be called from any thread.
"""

import os
import select
import signal
from types import FrameType, TracebackType
from typing import Self

STOP = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
INTERRUPT = signal.SIGUSR1
"""Only interrupts a thread that waits in a system call."""


class Signals:
    """Counts the signals that ask to stop; the former handlers come back at the end."""

    def __init__(self) -> None:
        self.asked = 0
        self._read, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def __enter__(self) -> Self:
        """Take the signals over."""
        self._handlers = {number: signal.signal(number, _note) for number in (*STOP, INTERRUPT)}
        # The C handler writes the number whatever thread it runs in; a Python handler might wait for the main thread.
        self._wakeup = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the signals back."""
        signal.set_wakeup_fd(self._wakeup)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        os.close(self._read)
        os.close(self._write)

    def wait(self, timeout_s: float | None = None) -> None:
        """Wait for a signal, a call of `wake`, or the time to pass."""
        select.select([self._read], [], [], timeout_s)
        try:
            numbers = os.read(self._read, 4_096)
        except BlockingIOError:
            return
        self.asked += sum(number in STOP for number in numbers)

    def wake(self) -> None:
        """End the wait."""
        os.write(self._write, b"\0")


def _note(_number: int, _frame: FrameType | None) -> None:
    """Take the place of the default action; the pipe tells."""
