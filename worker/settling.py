"""When a change is over: something is settled once nothing happened to it for a while, or a writer will not stop.

Used for dirty paths, and for a scan that is wanted. Values only; the worker's control thread owns it, the clock is
handed in.
"""

from collections.abc import Collection, Hashable
from typing import Generic, TypeVar

QUIET_S = 0.25
"""No change for so long means that the writer is done."""
LONGEST_S = 5.0
"""A path that changes all the time is looked at every so often nevertheless."""

Key = TypeVar("Key", bound=Hashable)


class Settling(Generic[Key]):
    """What changed, and when it may be looked at."""

    def __init__(self, *, quiet_s: float = QUIET_S, longest_s: float = LONGEST_S) -> None:
        self._quiet_s = quiet_s
        self._longest_s = longest_s
        self._seen: dict[Key, tuple[float, float]] = {}

    def __len__(self) -> int:
        return len(self._seen)

    def __contains__(self, key: Key) -> bool:
        return key in self._seen

    def mark(self, key: Key, now: float) -> None:
        """Note a change."""
        first, _ = self._seen.get(key, (now, now))
        self._seen[key] = (first, now)

    def take_due(self, now: float, also: Collection[Key] = ()) -> list[Key]:
        """Return what is settled, and what of ``also`` changed at all, and forget it."""
        due = [key for key in self._seen if key in also or self._due_at(key) <= now]
        for key in due:
            del self._seen[key]
        return due

    def take_all(self) -> list[Key]:
        """Return everything, settled or not, and forget it."""
        everything = list(self._seen)
        self._seen.clear()
        return everything

    def next_due(self) -> float | None:
        """Return when the next is settled, if nothing more happens to it."""
        return min((self._due_at(key) for key in self._seen), default=None)

    def _due_at(self, key: Key) -> float:
        first, last = self._seen[key]
        return min(last + self._quiet_s, first + self._longest_s)
