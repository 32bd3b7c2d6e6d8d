"""When a process that ended is started again: soon, and later each time that it did not live long. One thread."""

from collections.abc import Callable

FIRST_S = 1.0
LONGEST_S = 30.0
LONG_LIFE_S = 60.0
"""One that lived for so long was well: what ended it begins anew."""


class Restarts:
    """The pauses of some numbered processes.

    Args:
        monotonic_s: A clock that never steps back, in seconds.
    """

    def __init__(self, monotonic_s: Callable[[], float]) -> None:
        self._monotonic_s = monotonic_s
        self._born_s: dict[int, float] = {}
        self._pause_s: dict[int, float] = {}
        self._due_s: dict[int, float] = {}

    def started(self, number: int) -> None:
        """Note that a process was started."""
        self._born_s[number] = self._monotonic_s()

    def ended(self, number: int) -> None:
        """Note that it ended: it is due after a pause."""
        now_s = self._monotonic_s()
        before_s = self._pause_s.get(number)
        has_lived = now_s - self._born_s[number] >= LONG_LIFE_S
        pause_s = FIRST_S if before_s is None or has_lived else min(2 * before_s, LONGEST_S)
        self._pause_s[number], self._due_s[number] = pause_s, now_s + pause_s

    def due(self) -> list[int]:
        """Return those whose pause is over, each once."""
        now_s = self._monotonic_s()
        found = [number for number, due_s in self._due_s.items() if due_s <= now_s]
        for number in found:
            del self._due_s[number]
        return found
