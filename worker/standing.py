"""Whether a store can be worked with now: the remote's gate, the store's own pauses, and what was said about them.

Used by its `Runner`, on the control thread. A trouble is recorded for status and logged once, when it begins and when
it ends.
"""

import logging
from collections.abc import Callable

from memfs.core.errors import MemfsError, RemoteUnavailable, StateUnavailable
from worker.gate import Gate, broken, stopped
from worker.replica import Replica

log = logging.getLogger(__name__)

SYNCED_S = 10.0
"""How old the moment of the last sync may get while every look finds that nothing is owed."""


class Standing:
    """How one store stands.

    Args:
        replica: The store.
        gate: Of the whole remote.
        look: Decides anew what is pending, so that status tells it while nothing can be done.
    """

    def __init__(self, replica: Replica, gate: Gate, look: Callable[[], None]) -> None:
        self._replica, self._gate, self._look = replica, gate, look
        self._clock = replica.clock.monotonic
        self._stopped, self._broken = stopped(self._clock), broken(self._clock)
        self._said: tuple[str, str] | None = None
        self._synced_at = 0.0

    @property
    def may_ask(self) -> bool:
        """Tell whether the remote may be asked now."""
        return self._gate.is_open and not self._stopped.is_on

    @property
    def may_ask_at(self) -> float:
        """When the remote may be asked again, by the monotonic clock."""
        return max(self._gate.opens_at, self._stopped.until)

    @property
    def is_broken(self) -> bool:
        """Tell whether the disk is left alone for now."""
        return self._broken.is_on

    @property
    def broken_until(self) -> float:
        """When the disk is tried again, by the monotonic clock."""
        return self._broken.until

    @property
    def trouble(self) -> str:
        """Return why the store does not sync for now, "" where it does."""
        return self._said[1] if self._said else ""

    def try_again_at(self, error: MemfsError) -> float:
        """Return when what ``error`` ended may be tried again."""
        return self._broken.until if isinstance(error, StateUnavailable) else self._gate.opens_at

    def forget_pauses(self) -> None:
        """Have everything tried again at once."""
        self._stopped.until = self._broken.until = 0.0

    def worked(self) -> None:
        """Take in that the remote answered and the disk took it."""
        self._gate.worked()
        self._stopped.reset()
        self._broken.reset()
        if self._note(None):
            log.info("the store %s syncs again", self._replica.attachment.name)
        self._note_synced()

    def failed(self, error: MemfsError) -> None:
        """Take in why the store cannot be synced for now, and say so once."""
        if isinstance(error, StateUnavailable):
            self._break()
        elif isinstance(error, RemoteUnavailable):
            self._gate.failed(error)
        else:
            self._stopped.begin()
        if self._note(error):
            log.warning("the store %s does not sync for now: %s", self._replica.attachment.name, error)

    def _break(self) -> None:
        """Leave the disk alone for a while; what was seen and not taken in is then looked for anew."""
        replica = self._replica
        self._broken.begin()
        replica.suspect(replica.local.files.keys() | replica.remote.memories.keys() | replica.state.baseline.paths)

    def _note(self, error: MemfsError | None) -> bool:
        """Record how it goes; tell whether that is news. A disk that refuses is not asked to keep it."""
        found = None if error is None else (error.code, str(error))
        is_news, self._said = found != self._said, found
        try:
            if error is not None and not isinstance(error, StateUnavailable):
                self._look()
            with self._replica.state.transaction():
                self._replica.state.set_error(error)
        except StateUnavailable:
            self._break()
        return is_news

    def _note_synced(self) -> None:
        """Record that both sides are still equal: who asks when that was last seen is not told of a time long ago."""
        replica, now = self._replica, self._clock()
        if replica.remote.is_verified and not replica.owes and now - self._synced_at >= SYNCED_S:
            self._synced_at = now
            with replica.state.transaction():
                replica.state.set_synced(replica.clock.time())
