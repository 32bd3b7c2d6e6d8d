"""One worker for a state: ``worker.lock``, held for the worker's life."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from memfs.core.errors import AlreadyHeld
from memfs.state.layout import Layout


@contextmanager
def worker_lock(layout: Layout) -> Iterator[None]:
    """Hold the lock while the block runs.

    Raises:
        AlreadyHeld: Another worker has it.
        OSError: The state directory cannot be made or used.
    """
    layout.root.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(layout.worker_lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AlreadyHeld(
                f"another worker works on the state {layout.root}", remedy="Stop it, or name another --state"
            ) from None
        yield
    finally:
        os.close(descriptor)
