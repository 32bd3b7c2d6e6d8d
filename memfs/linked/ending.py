"""End directory mode from outside: ``memfs unmount`` on a directory that holds links of ours. Every wait is bounded."""

import os
import select
import signal
from contextlib import suppress
from pathlib import Path

from memfs.core.errors import AlreadyHeld, MountRefused
from memfs.fuse import checks, lock, mountinfo
from memfs.linked.links import Links, state_of
from memfs.linked.protection import release
from memfs.linked.shown import Shown
from memfs.state.layout import Layout


def state_linked_at(mount_point: Path) -> Path | None:
    """Return the state directory whose stores a directory shows by links; None where it does not."""
    point = checks.locate(mount_point)
    if mountinfo.at(point):  # It may be dead, and a look at it never return.
        return None
    with suppress(OSError):
        return next((state for one in point.iterdir() if (state := state_of(one)) is not None), None)
    return None


def end(mount_point: Path, state: Path, *, timeout_s: float = 10.0) -> None:
    """Have the process of directory mode take its links away and end; do it here where it was killed.

    Args:
        mount_point: Where the links are.
        state: The state directory; see `state_linked_at`.
        timeout_s: Longest wait for the process.

    Raises:
        MountRefused: The process does not end.
        OSError: The links cannot be taken away.
    """
    point, layout = checks.locate(mount_point), Layout(state)
    try:
        with lock.held(state, point):
            Links(point, layout).show({})
            Shown(point, layout).remove()
            for store in layout.stores.iterdir():
                release(layout.store(store.name))
    except AlreadyHeld:
        _ask_to_end(lock.holder(state), point, timeout_s)


def _ask_to_end(pid: int, point: Path, timeout_s: float) -> None:
    with suppress(ProcessLookupError):
        process = os.pidfd_open(pid)
        try:
            signal.pidfd_send_signal(process, signal.SIGTERM)
            poll = select.poll()
            poll.register(process, select.POLLIN)
            if not poll.poll(timeout_s * 1_000):
                raise MountRefused(
                    f"the process {pid} that serves {point} has not ended after {timeout_s:g} s",
                    remedy=f"End it, nothing is lost by it: kill -9 {pid}",
                )
        finally:
            os.close(process)
