"""The directory in which several server processes count together, and what killed servers have left of theirs.

Used by `memfs.server.workers`. The directory is held by a lock on itself, which ends with the last process that has
it, however that one ends: so one without a holder is a leftover, whoever made it. One thread.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = "memfs-metrics-"


@contextmanager
def counting_directory() -> Iterator[Path]:
    """Remove leftovers, and hold a new directory until the block ends; processes forked meanwhile hold it too."""
    below = Path(tempfile.gettempdir())
    for left in below.glob(f"{_PREFIX}*"):
        _remove_if_left(left)
    made = Path(tempfile.mkdtemp(prefix=_PREFIX))
    held = os.open(made, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(held, fcntl.LOCK_SH)
        # Between its making and its lock another start may have taken it for a leftover.
        made.mkdir(mode=0o700, exist_ok=True)
        yield made
    finally:
        os.close(held)
        shutil.rmtree(made, ignore_errors=True)


def _remove_if_left(directory: Path) -> None:
    """Remove a directory of this user that nobody holds."""
    with suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if os.fstat(descriptor).st_uid == os.geteuid():
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(directory, ignore_errors=True)
        finally:
            os.close(descriptor)
