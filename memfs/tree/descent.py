"""The way down a tree: one directory descriptor per segment, O_NOFOLLOW each, so that no symlink leads out of it.

Used by `memfs.tree.local` and `memfs.tree.swap`. Nothing is cached here.
"""

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from memfs.core.paths import StorePath, segments

DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NOWHERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO})


def open_directory(parent: int, name: str) -> int | None:
    """Open the directory ``name`` in ``parent``, or return None where there is none (a symlink is none)."""
    try:
        return os.open(name, DIRECTORY_FLAGS, dir_fd=parent)
    except OSError as error:
        if leads_nowhere(error):
            return None
        raise


def descend(root: int, names: Sequence[str]) -> int | None:
    """Open the directory at ``names`` below ``root`` (a new descriptor also for the root itself), or return None."""
    current = os.dup(root)
    for name in names:
        try:
            below = open_directory(current, name)
        finally:
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


@dataclass(frozen=True, slots=True)
class Way:
    """The open directories from the first that was missing down to the last, for whoever makes names in them."""

    descriptors: tuple[int, ...]
    """The last one is where the way leads; those before it got a new directory each."""
    made: tuple[str, ...]
    """The directories that were made, as store paths, from the top down."""

    @property
    def end(self) -> int:
        """The directory at the end of the way."""
        return self.descriptors[-1]

    def close(self) -> None:
        """Close every descriptor."""
        for descriptor in self.descriptors:
            os.close(descriptor)

    def undo(self) -> None:
        """Remove what was made, where nothing is in it, and close."""
        names = [path.rpartition("/")[2] for path in self.made]
        for directory, name in reversed(list(zip(self.descriptors, names, strict=False))):
            with suppress(OSError):
                os.rmdir(name, dir_fd=directory)
        self.close()


def make_way(root: int, names: Sequence[str], mode: int) -> Way | None:
    """Open the directory at ``names``, making what is missing; None where a file is in the way."""
    way = Way((os.dup(root),), ())
    try:
        for depth, name in enumerate(names, 1):
            below = open_directory(way.end, name)
            if below is not None:
                way.close()
                way = Way((below,), ())
                continue
            os.mkdir(name, 0o700, dir_fd=way.end)
            way = Way(way.descriptors, (*way.made, "/" + "/".join(names[:depth])))
            os.chmod(name, mode, dir_fd=way.end)
            way = Way((*way.descriptors, os.open(name, DIRECTORY_FLAGS, dir_fd=way.end)), way.made)
    except FileExistsError:
        way.undo()
        return None
    except OSError:
        way.undo()
        raise
    return way
