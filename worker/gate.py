"""Whether the remote may be asked: one gate for all stores of a worker, shut for a while after each failure.

A remote that is away or asks to wait is away for every store. The control thread owns it; time and randomness are
handed in.
"""

from collections.abc import Callable

from memfs.core.backoff import delay_s
from memfs.core.errors import RemoteUnavailable


class Gate:
    """Backs off with full jitter, and honours what the remote asks for."""

    def __init__(self, monotonic: Callable[[], float], random: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._random = random
        self._failures = 0
        self.opens_at = 0.0
        """By the monotonic clock; in the past while the remote answers."""

    @property
    def is_open(self) -> bool:
        """Tell whether the remote may be asked now."""
        return self._monotonic() >= self.opens_at

    def failed(self, error: RemoteUnavailable) -> None:
        """Shut the gate for a while. Several calls that failed together count once."""
        if not self.is_open:
            return
        wait_s = delay_s(self._failures, random=self._random(), retry_after_s=error.retry_after_s)
        self._failures += 1
        self.opens_at = self._monotonic() + wait_s

    def worked(self) -> None:
        """Start over: the remote answered."""
        self._failures = 0
