"""Whether the remote may be asked, and how long one store is left alone.

A remote that is away or asks to wait is away for every store: one `Gate` for a worker. What concerns one store alone,
a refused credential or a full disk, is a `Pause` of that store. The control thread owns them; time and randomness are
handed in.
"""

from collections.abc import Callable

from memfs.core.backoff import delay_s
from memfs.core.errors import RemoteUnavailable

STOPPED_BASE_S, STOPPED_S = 15.0, 300.0
"""After a refused credential or a store that is gone, it is asked again this late: first, and at last."""
BROKEN_BASE_S, BROKEN_CAP_S = 1.0, 10.0
"""How long a store is left alone whose disk refused, twice as long each time."""


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


class Pause:
    """How long a store is left alone after a refusal that only time or a person can undo: twice as long each time."""

    def __init__(self, monotonic: Callable[[], float], base_s: float, cap_s: float) -> None:
        self._monotonic = monotonic
        self._base_s = base_s
        self._cap_s = cap_s
        self._times = 0
        self.until = 0.0
        """By the monotonic clock; in the past while nothing is wrong."""

    @property
    def is_on(self) -> bool:
        """Tell whether the store is left alone now."""
        return self._monotonic() < self.until

    def begin(self) -> None:
        """Leave the store alone from now on."""
        self.until = self._monotonic() + min(self._cap_s, self._base_s * 2.0 ** min(self._times, 10))
        self._times += 1

    def reset(self) -> None:
        """Start over: it works again."""
        self._times = 0


def stopped(monotonic: Callable[[], float]) -> Pause:
    """Return the pause of a store that the remote refuses."""
    return Pause(monotonic, STOPPED_BASE_S, STOPPED_S)


def broken(monotonic: Callable[[], float]) -> Pause:
    """Return the pause of a store whose disk refuses."""
    return Pause(monotonic, BROKEN_BASE_S, BROKEN_CAP_S)
