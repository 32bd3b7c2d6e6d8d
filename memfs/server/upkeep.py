"""What a running server does by itself now and then: prune its history.

Started and stopped by `memfs.server.serve`. A thread of its own, since a database call blocks; `stop` may come at any
time from any thread, in the middle of a run too. Several servers on one database may each do it.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from memfs.core.errors import MemfsError
from memfs.server.store.database import Database
from memfs.server.store.pruning import prune
from memfs.server.store.retention import Retention

_LOG = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class Upkeep:
    """Prunes once when it is started, and again each time a period has passed.

    A run that fails is told once, as a warning, and the next period tries again.
    """

    database: Database
    rule: Retention
    period_s: float
    clock_us: Callable[[], int]
    """The time in microseconds since 1970."""
    _stopped: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin, in a thread of its own."""
        self._thread = threading.Thread(target=self._run, name="upkeep", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End after the turn under way, and wait for that. What is not removed yet is left for the next start."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._prune()
            self._stopped.wait(self.period_s)

    def _prune(self) -> None:
        try:
            done = prune(self.database, self.rule, self.clock_us(), is_stopped=self._stopped.is_set)
        except MemfsError as error:
            _LOG.warning("versions were not pruned: %s", error)
        except Exception:  # noqa: BLE001  (told with its trace, and the server goes on)
            _LOG.exception("versions were not pruned")
        else:
            versions, size = sum(store.versions for store in done), sum(store.bytes for store in done)
            changes = sum(store.changes for store in done)
            _LOG.info("pruned %d versions (%d bytes) and %d changes", versions, size, changes)
