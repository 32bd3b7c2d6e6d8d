"""The way down a tree: one directory descriptor per segment, O_NOFOLLOW each, so that no symlink leads out of it.

Used by `memfs.tree.local` and `memfs.tree.swap`. Nothing is cached here.
"""

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from memfs.core.paths import StorePath, segments

_DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NOWHERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO})


def open_directory(parent: int, name: str) -> int | None:
    """Open the directory ``name`` in ``parent``, or return None where there is none (a symlink is none)."""
    try:
        return os.open(name, _DIRECTORY_FLAGS, dir_fd=parent)
    except OSError as error:
        if leads_nowhere(error):
            return None
        raise


def descend(root: int, names: Sequence[str]) -> int | None:
    """Open the directory at ``names`` below ``root`` (a new descriptor also for the root itself), or return None."""
    current = os.dup(root)
    for name in names:
        below = open_directory(current, name)
        os.close(current)
        if below is None:
            return None
        current = below
    return current


@contextmanager
def parent_of(root: int, path: StorePath) -> Iterator[tuple[int | None, str]]:
    """Give the descriptor of the directory that holds ``path`` (None where it is missing) and the last name."""
    *above, name = segments(path)
    parent = descend(root, above)
    try:
        yield parent, name
    finally:
        if parent is not None:
            os.close(parent)


def leads_nowhere(error: OSError) -> bool:
    """Tell whether opening failed because nothing of the wanted kind is there."""
    return error.errno in _NOWHERE
