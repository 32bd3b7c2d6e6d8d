"""Wait until nothing is pending any more: what `memfs status --wait` does before it shows how things are.

The worker that runs is asked to look at both sides; where none runs yet, it is waited for like everything else.
"""

import time

from memfs.cli.asking import ask_running_worker
from memfs.cli.output import printable
from memfs.core.errors import AlreadyHeld, InvalidRequest, Unsynced
from memfs.core.plan import Side
from memfs.core.worker_requests import Drain
from memfs.state.layout import Layout
from memfs.state.summary import StoreSummary, is_watched, summaries

_PAUSE_S = 0.25
_SHOWN = 10


def wait_until_synced(layout: Layout, timeout_s: float) -> None:
    """Return once a worker has found nothing pending in any attached store, or after ``timeout_s`` seconds.

    Raises:
        AlreadyHeld: A worker runs and does not answer, to the end.
    """
    until = time.monotonic() + timeout_s
    while True:
        rest_s = max(0.0, until - time.monotonic())
        has_answered = False
        try:
            has_answered = ask_running_worker(layout, Drain(timeout_s=rest_s), timeout_s=rest_s) is not None
        except InvalidRequest:
            pass  # It ended meanwhile: another one may follow.
        except AlreadyHeld:
            if time.monotonic() >= until:
                raise
        found = summaries(layout)
        if has_answered and found and not any(one.pending or _is_unsure(one) for one in found):
            return
        if time.monotonic() >= until:
            return
        time.sleep(min(_PAUSE_S, rest_s))


def check_synced(layout: Layout) -> None:
    """Check that all that is attached is on the remote, as far as the worker that runs knows.

    Raises:
        Unsynced: Something is not, or nobody knows; the message names it.
    """
    found = summaries(layout)
    if not is_watched(layout):
        raise Unsynced("no worker runs that could sync", remedy="Say `memfs up` or `memfs sync`")
    if not found:
        raise Unsynced("no store is attached yet")
    left = [printable(f"{one.attachment.slug}{path}") for one in found for path in _left(one)]
    if left:
        more = f" and {len(left) - _SHOWN} more" if len(left) > _SHOWN else ""
        verb = "path is" if len(left) == 1 else "paths are"
        raise Unsynced(f"{len(left)} {verb} not synced: {', '.join(left[:_SHOWN])}{more}")
    if unsure := [one.attachment.slug for one in found if _is_unsure(one)]:
        raise Unsynced(f"not known to be synced: {', '.join(unsure)}")


def _left(one: StoreSummary) -> list[str]:
    refused = {problem.path for problem in one.problems if problem.side is Side.LOCAL}
    return sorted(refused | set(one.pending_paths))


def _is_unsure(one: StoreSummary) -> bool:
    return one.sync_error is not None or one.last_sync_at is None
