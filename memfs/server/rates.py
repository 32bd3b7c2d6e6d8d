"""How many requests a caller may make: a bucket of tokens for each, filled as time passes.

Used by the authentication of requests, on the event loop. The memory is bounded by the callers of the last minutes,
since a bucket that is full again says nothing and is dropped.
"""

import math
from collections.abc import Callable

from memfs.core.errors import RateLimited

_MINUTE_S = 60.0
_KEPT = 10_000


class Rates:
    """The buckets of one server process.

    Args:
        per_minute: Requests that each caller may make in a minute, and at once; None is any number. Below one, as the
            share of one process may be, it is one request in more than a minute.
        monotonic_s: A clock that never steps back, in seconds.
    """

    def __init__(self, per_minute: float | None, monotonic_s: Callable[[], float]) -> None:
        self._per_minute = per_minute
        self._monotonic_s = monotonic_s
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, actor: str) -> None:
        """Take one request from a caller's bucket.

        Raises:
            RateLimited: It is empty; ``retry_after_s`` says when it is not.
        """
        most = self._per_minute
        if most is None:
            return
        now_s = self._monotonic_s()
        burst = max(1.0, most)
        left, at_s = self._buckets.pop(actor, (burst, now_s))
        left = min(burst, left + (now_s - at_s) * most / _MINUTE_S)
        if left < 1:
            self._buckets[actor] = (left, now_s)
            wait_s = math.ceil((1 - left) * _MINUTE_S / most)
            raise RateLimited(
                f"{actor} makes more than {most:g} requests a minute",
                retry_after_s=max(1.0, wait_s),
                remedy="Wait as long as retry-after says",
            )
        self._buckets[actor] = (left - 1, now_s)
        if len(self._buckets) > _KEPT:
            self._drop_full(most, burst, now_s)

    def _drop_full(self, most: float, burst: float, now_s: float) -> None:
        self._buckets = {
            actor: (left, at_s)
            for actor, (left, at_s) in self._buckets.items()
            if left + (now_s - at_s) * most / _MINUTE_S < burst
        }
