"""The directory that a mount covers: nobody may write into it while nothing is mounted, to miss it once it is covered.

Its write bits are dropped when it is covered and stay dropped, also when the mount's process is killed. That stops
everyone but root. fusermount mounts for an ordinary user on a directory only that this user may write, so they come
back for that moment. Used by `mounting`, whose checks found the directory empty.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_WRITE = 0o222


@contextmanager
def covered(mount_point: Path) -> Iterator[None]:
    """Drop the write bits of the directory below the mount that is made inside; one that fails leaves all as it was."""
    directory = os.open(mount_point, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        mode = stat.S_IMODE(os.fstat(directory).st_mode)
        if os.geteuid() != 0:
            _set(directory, mode | stat.S_IWUSR)
        try:
            yield
        except BaseException:
            _set(directory, mode)
            raise
        _set(directory, mode & ~_WRITE)
    finally:
        os.close(directory)


def _set(directory: int, mode: int) -> None:
    with suppress(OSError):  # It is another user's, or on a disk that cannot be written: it stays as it is.
        os.fchmod(directory, mode)
