"""How long to wait before a call is tried again: full jitter, with what the remote asked for on top.

Used by the retrying remote and by the worker's cycles. Pure: the random value is handed in, nothing sleeps here.
"""

_MOST_DOUBLINGS = 30  # Past this the cap decides anyway, and a power of two must not overflow.


def delay_s(
    attempt: int,
    *,
    random: float,
    base_s: float = 0.5,
    cap_s: float = 30.0,
    retry_after_s: float | None = None,
    retry_after_cap_s: float = 60.0,
) -> float:
    """Return the seconds to wait before the try after failure number ``attempt``, counted from 0.

    Without a wish of the remote this is anything from 0 to ``base_s * 2**attempt``, at most ``cap_s``, as ``random``
    in [0, 1) picks. ``retry_after_s`` is waited for in full, up to its own cap, with the jitter after it: clients that
    were told the same second do not come back in the same second.
    """
    ceiling_s = min(cap_s, base_s * 2.0 ** min(max(attempt, 0), _MOST_DOUBLINGS))
    asked_s = min(max(retry_after_s or 0.0, 0.0), retry_after_cap_s)
    return asked_s + random * ceiling_s
