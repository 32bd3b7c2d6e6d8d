"""Descriptors of the three directories between which a store's files are renamed.

Opened by whoever holds the store's ``owner.lock``, used by `memfs.tree.swap`.
"""

import os
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol, Self

_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class StoreDirectories(Protocol):
    """Where a store's files are (`memfs.state.layout.StoreLayout`)."""

    @property
    def tree(self) -> Path:
        """The files."""
        ...

    @property
    def staging(self) -> Path:
        """Pulled bytes, not yet in place."""
        ...

    @property
    def trash(self) -> Path:
        """Displaced bytes."""
        ...

    @property
    def owner_lock(self) -> Path:
        """The file to lock."""
        ...


class Places:
    """The open directories of one store; a context manager."""

    __slots__ = ("staging", "trash", "tree")

    def __init__(self, directories: StoreDirectories) -> None:
        with ExitStack() as held:
            self.tree = _open(held, directories.tree)
            self.staging = _open(held, directories.staging)
            self.trash = _open(held, directories.trash)
            held.pop_all()

    def close(self) -> None:
        """Close all three; a second call does nothing."""
        for descriptor in {self.tree, self.staging, self.trash} - {-1}:
            os.close(descriptor)
        self.tree = self.staging = self.trash = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def _open(held: ExitStack, path: Path) -> int:
    descriptor = os.open(path, _FLAGS)
    held.callback(os.close, descriptor)
    return descriptor
