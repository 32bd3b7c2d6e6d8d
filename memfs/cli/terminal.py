"""The terminal of `memfs run`: its command is the foreground job, as a shell's is, and Ctrl-Z stops memfs with it.

The command has a process group of its own, so that a signal it sends to its group does not reach memfs.

Threading: the main thread; `resume` runs in a signal handler.
"""

import os
import signal
from contextlib import suppress


class Terminal:
    """The controlling terminal, or none."""

    def __init__(self) -> None:
        self._foreground = 0
        try:
            self._descriptor = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            self._descriptor = -1
            return
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # The terminal is taken back from the background.

    @property
    def is_ours(self) -> bool:
        """Tell whether this process's group is the foreground job."""
        return self._job() == os.getpgrp()

    def lend(self, group: int) -> None:
        """Remember the command's process group, which took the terminal itself if it was ours."""
        self._foreground = group

    def take_back(self) -> None:
        """Be the foreground job again, where a job inside was."""
        if self._foreground and self._descriptor >= 0:
            with suppress(OSError):
                os.tcsetpgrp(self._descriptor, os.getpgrp())

    def stop(self) -> None:
        """Stop with the command, and let the shell have its terminal; returns when memfs was told to go on."""
        job = self._job()
        if job not in {-1, os.getpgrp()}:
            self._foreground = job
            self.take_back()
        if os.getsid(0) == os.getpid():
            self.resume()  # There is no shell that could ever say so.
        else:
            os.killpg(os.getpgrp(), signal.SIGSTOP)

    def resume(self) -> None:
        """Go on (SIGCONT): the job inside that had the terminal has it again, if memfs has it, and goes on too."""
        if not self._foreground:
            return
        if self.is_ours:
            with suppress(OSError):
                os.tcsetpgrp(self._descriptor, self._foreground)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._foreground, signal.SIGCONT)

    def _job(self) -> int:
        if self._descriptor >= 0:
            with suppress(OSError):
                return os.tcgetpgrp(self._descriptor)
        return -1
