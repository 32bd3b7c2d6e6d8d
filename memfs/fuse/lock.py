"""``mount.lock``: one mount for a state directory. The file tells which process serves which mount point."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memfs.core.errors import AlreadyHeld

NAME = "mount.lock"


@contextmanager
def held(state: Path, mount_point: Path) -> Iterator[None]:
    """Hold the state directory (made where it is missing) for a mount.

    Raises:
        AlreadyHeld: Another mount serves it; the message names process and mount point.
    """
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(state / NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid, _, point = os.fsdecode(os.read(lock, 8_192)).partition(" ")
            raise AlreadyHeld(
                f"process {pid} already mounts the state {state} at {point.strip()}",
                remedy=f"Unmount it first: memfs unmount {point.strip()}",
            ) from None
        os.ftruncate(lock, 0)
        os.pwrite(lock, os.fsencode(f"{os.getpid()} {mount_point}\n"), 0)
        yield
    finally:
        os.close(lock)
