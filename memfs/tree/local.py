"""The files of one store as the worker looks at them: read, identified and scanned, never changed.

Everything goes by directory descriptors, O_NOFOLLOW at each step and no ``..``, so that no symlink leads out of the
tree. Paths are store paths (``/a/b.md``). A LocalTree may be used from several threads.
"""

import os
import stat
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from memfs.core.errors import ConcurrentChange
from memfs.core.paths import StorePath
from memfs.core.tree_requests import Identity
from memfs.tree import descent

_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Kind(StrEnum):
    """What a name in the tree is."""

    FILE = "file"
    DIRECTORY = "directory"
    OTHER = "other"
    """A symlink, socket, pipe or device: never a memory, a problem for the caller."""


class Entry(NamedTuple):
    """One name found by a scan; ``relative`` is ``b"a/b.md"``."""

    relative: bytes
    kind: Kind
    identity: Identity


class LocalTree:
    """The tree below ``root``."""

    def __init__(self, root: Path) -> None:
        self._root = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def close(self) -> None:
        """Give the root's descriptor back; a second call does nothing."""
        if self._root >= 0:
            os.close(self._root)
            self._root = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def root(self) -> tuple[int, int]:
        """Device and inode of the directory itself."""
        found = os.fstat(self._root)
        return found.st_dev, found.st_ino

    def identity(self, path: StorePath) -> Identity | None:
        """Return the identity of the regular file at ``path``, or None where there is none."""
        with descent.parent_of(self._root, path) as (parent, name):
            if parent is None:
                return None
            try:
                found = os.stat(name, dir_fd=parent, follow_symlinks=False)
            except FileNotFoundError:
                return None
        return identity_of(found) if stat.S_ISREG(found.st_mode) else None

    def read(self, path: StorePath) -> tuple[bytes, Identity]:
        """Return a file's bytes with the identity that it had before and after they were read.

        Raises:
            FileNotFoundError: No regular file is there.
            ConcurrentChange: It changed while it was read.
        """
        with descent.parent_of(self._root, path) as (parent, name):
            if parent is None:
                raise FileNotFoundError(path)
            descriptor = _open_regular(parent, name, path)
        try:
            before = identity_of(os.fstat(descriptor))
            content = _read_whole(descriptor, before.size)
            if len(content) != before.size or identity_of(os.fstat(descriptor)) != before:
                raise ConcurrentChange(f"{path} changed while it was read")
        finally:
            os.close(descriptor)
        return content, before

    def scan(self, enter: Callable[[bytes], bool] | None = None) -> Iterator[Entry]:
        """Yield every name below the root; a directory comes before what is in it.

        ``enter`` is asked whether to look into a directory, by its relative path; without it, all are.
        """
        return scan(self._root, enter)


def identity_of(found: os.stat_result) -> Identity:
    """Return what identifies a file."""
    return Identity(found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def scan(directory: int, enter: Callable[[bytes], bool] | None = None) -> Iterator[Entry]:
    """Yield every name below an open directory (`LocalTree.scan`); the caller keeps the descriptor."""
    # Opened anew: two scans of one descriptor would share its position.
    yield from _scan(os.open(".", descent.DIRECTORY_FLAGS, dir_fd=directory), b"", enter)


def _scan(directory: int, prefix: bytes, enter: Callable[[bytes], bool] | None) -> Iterator[Entry]:
    """Yield what is in ``directory`` and close it."""
    try:
        below = []
        with os.scandir(directory) as names:
            for item in names:
                try:
                    found = item.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                entry = Entry(prefix + os.fsencode(item.name), _kind(found.st_mode), identity_of(found))
                yield entry
                if entry.kind is Kind.DIRECTORY and (enter is None or enter(entry.relative)):
                    below.append(item.name)
        for name in below:
            opened = descent.open_directory(directory, name)
            if opened is not None:
                yield from _scan(opened, prefix + os.fsencode(name) + b"/", enter)
    finally:
        os.close(directory)


def _kind(mode: int) -> Kind:
    if stat.S_ISREG(mode):
        return Kind.FILE
    return Kind.DIRECTORY if stat.S_ISDIR(mode) else Kind.OTHER


def _open_regular(parent: int, name: str, path: str) -> int:
    try:
        descriptor = os.open(name, _READ_FLAGS, dir_fd=parent)
    except OSError as error:
        if descent.leads_nowhere(error):
            raise FileNotFoundError(path) from None
        raise
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise FileNotFoundError(path)


def _read_whole(descriptor: int, size: int) -> bytes:
    """Return what is in the file, one byte more than ``size`` where it has grown."""
    pieces = []
    offset = 0
    while offset <= size and (piece := os.pread(descriptor, size + 1 - offset, offset)):
        pieces.append(piece)
        offset += len(piece)
    return b"".join(pieces)
