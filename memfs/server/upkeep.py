"""What a running server does by itself now and then: erase what a deletion still owes, and prune its history.

Started and stopped by `memfs.server.serve`. A thread of its own, since a database call blocks; `stop` may come at any
time from any thread, in the middle of a run too. Several servers on one database may each do it.
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from memfs.core.errors import MemfsError
from memfs.server.store.database import Database
from memfs.server.store.pruning import prune
from memfs.server.store.retention import Retention

SETTLE_EVERY_S = 10.0
"""How often is looked whether an erasure is owed, which costs next to nothing while none is, or readers are there."""
_LOG = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class Upkeep:
    """Settles and prunes once when it is started, and again each time a period has passed.

    A run that fails is told once, as a warning, and the next period tries again.
    """

    database: Database
    rule: Retention
    prune_every_s: float | None
    """None never prunes."""
    clock_us: Callable[[], int]
    """The time in microseconds since 1970."""
    settle_every_s: float = SETTLE_EVERY_S
    _stopped: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _is_told: bool = False

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
        pruned_s: float | None = None
        while not self._stopped.is_set():
            self._settle()
            if self.prune_every_s is not None:
                now_s = time.monotonic()
                if pruned_s is None or now_s - pruned_s >= self.prune_every_s:
                    pruned_s = now_s
                    self._prune()
            self._stopped.wait(min(self.settle_every_s, self.prune_every_s or self.settle_every_s))

    def _settle(self) -> None:
        """Erase what requests, prunings and killed servers have left; with patience it would keep writers waiting."""
        try:
            if self.database.settle(is_patient=False):
                _LOG.info("erased the bytes of what was deleted before")
        except MemfsError as error:
            if not self._is_told:
                _LOG.warning("what was deleted may not be erased yet: %s", error)
            self._is_told = True
        except Exception:  # noqa: BLE001  (told with its trace, and the server goes on)
            if not self._is_told:
                _LOG.exception("what was deleted may not be erased yet")
            self._is_told = True
        else:
            self._is_told = False

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
