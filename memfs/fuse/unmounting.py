"""Unmount from outside: ``memfs unmount`` calls `unmount`. Needs no libfuse, and every wait is bounded."""

import os
import select
import signal
import time
from contextlib import suppress
from pathlib import Path

from memfs.core.errors import MountPointBusy, MountRefused, NotMounted
from memfs.fuse import checks, holders, lock, mountinfo, outside
from memfs.fuse.mountinfo import Mount
from memfs.fuse.outside import Pulse

_ATTEMPTS = 10
_ATTEMPT_EVERY_S = 0.1


def unmount(mount_point: Path, *, lazy: bool = False, timeout_s: float = 10.0) -> None:
    """Unmount, and wait until the process that served the mount has ended; one that hangs is killed.

    Args:
        mount_point: Where memfs is mounted; a dead mount is cleared.
        lazy: Detach even while programs use it; their next request fails.
        timeout_s: Longest wait for each step.

    Raises:
        NotMounted: No mount of memfs is there.
        MountPointBusy: Programs use it; the message names them.
        MountRefused: Its process does not end, or it does not answer.
    """
    point = checks.locate(mount_point)
    found = mountinfo.at(point)
    if found is None or not found.is_ours:
        raise NotMounted(f"memfs is not mounted at {point}")
    server = holders.server_of(point, lock.NAME)
    process = _opened(server)
    try:
        _detach(found, server, lazy=lazy, timeout_s=timeout_s)
        if process is not None:
            _await_end(process, server, point, lazy=lazy, timeout_s=timeout_s)
    finally:
        if process is not None:
            os.close(process)


def _opened(pid: int | None) -> int | None:
    if pid is None:
        return None
    with suppress(OSError):
        return os.pidfd_open(pid)
    return None


def _detach(found: Mount, server: int | None, *, lazy: bool, timeout_s: float) -> None:
    point = found.mount_point
    if server is None and outside.look(point, timeout_s) is not Pulse.ALIVE:
        outside.clear(point, found.device)
        return
    for _ in range(_ATTEMPTS):
        outside.unmount(point, lazy=lazy, timeout_s=timeout_s / _ATTEMPTS)
        if found not in mountinfo.read():
            return
        time.sleep(_ATTEMPT_EVERY_S)
    if outside.look(point, timeout_s) is Pulse.SILENT:
        raise MountRefused(
            f"the mount at {point} does not answer (process {server})",
            remedy=f"End that process, then say memfs unmount --lazy {point}",
        )
    raise MountPointBusy(
        f"{point} is in use: {holders.told(point)}",
        remedy=f"Leave the directory and close its files, or say memfs unmount --lazy {point}",
    )


def _await_end(process: int, server: int | None, point: Path, *, lazy: bool, timeout_s: float) -> None:
    if lazy:
        # Whoever still uses the detached mount keeps its process alive: it is asked to end all the same.
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(process, signal.SIGTERM)
    if _has_ended(process, timeout_s):
        return
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(process, signal.SIGKILL)  # Whatever it answered as written is on the disk.
    if not _has_ended(process, timeout_s):
        raise MountRefused(
            f"{point} is unmounted, but its process {server} has not ended, not even killed",
            remedy="The disk of the state directory may hang: see dmesg",
        )


def _has_ended(process: int, timeout_s: float) -> bool:
    poll = select.poll()
    poll.register(process, select.POLLIN)
    return bool(poll.poll(timeout_s * 1_000))
