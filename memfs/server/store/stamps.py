"""Moments and ids: both only ever grow, so that id order is the order of writing.

Used by everything that writes; a write takes its moment inside its transaction. Safe in any thread. A clock that
steps back does not carry the history with it: the next moment is one microsecond after the last.
"""

import secrets
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_DIGITS = 22
"""Base-58 digits of 128 bits: 56 of time in microseconds, 72 of chance."""
_CHANCE_BITS = 72
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Stamps:
    """Hands out moments in microseconds since 1970, no two alike.

    Args:
        clock_us: The time in microseconds since 1970.
        last_us: The last moment that was handed out before, by an earlier run.
    """

    def __init__(self, clock_us: Callable[[], int], *, last_us: int = 0) -> None:
        self._clock_us = clock_us
        self._last = last_us
        self._lock = threading.Lock()

    def next(self) -> int:
        """Return a moment after every one returned before."""
        with self._lock:
            self._last = max(self._clock_us(), self._last + 1)
            return self._last

    def now(self) -> int:
        """Return the time without making it a moment of its own."""
        return self._clock_us()


def identifier(prefix: str, moment_us: int) -> str:
    """Return a new id such as ``mem_01…``; ids of later moments sort after it."""
    number = (moment_us << _CHANCE_BITS) | secrets.randbits(_CHANCE_BITS)
    digits = []
    for _ in range(_DIGITS):
        number, digit = divmod(number, len(_ALPHABET))
        digits.append(_ALPHABET[digit])
    return f"{prefix}_01{''.join(reversed(digits))}"


def moment(at_us: int) -> datetime:
    """Return microseconds since 1970 as a date and time."""
    return _EPOCH + timedelta(microseconds=at_us)


def microseconds(at: datetime) -> int:
    """Return a date and time as microseconds since 1970."""
    return (at - _EPOCH) // timedelta(microseconds=1)
