"""``base/``: contents by content_sha256, kept for merges and for a pull whose bytes came with a listing.

Used by the worker, from any of its threads: a content never changes under its name, so two writers of one name write
the same. Nothing is fsynced: what is read is checked against its name, and a content that a power failure tore is as
good as absent.
"""

import os
from collections.abc import Callable, Collection
from pathlib import Path

from memfs.core.digest import content_sha256

_PARTIAL = "."


class Contents:
    """The contents of one store's ``base/``."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def put(self, sha256: str, content: bytes) -> None:
        """Keep ``content`` under its digest.

        Raises:
            OSError: The disk is full or not writable.
        """
        target = self._directory / sha256
        if target.exists():
            return
        partial = self._directory / f"{_PARTIAL}{sha256}.{os.urandom(4).hex()}"
        partial.write_bytes(content)
        partial.replace(target)

    def get(self, sha256: str) -> bytes | None:
        """Return the content of a digest, or None where it is not kept or not whole."""
        target = self._directory / sha256
        try:
            content = target.read_bytes()
        except FileNotFoundError:
            return None
        if content_sha256(content) == sha256:
            return content
        target.unlink(missing_ok=True)
        return None

    def drop(self, sha256: str) -> None:
        """Remove the content of a digest, if it is kept."""
        (self._directory / sha256).unlink(missing_ok=True)

    def prune(self, keep: Collection[str]) -> int:
        """Remove every content whose digest is not in ``keep``; return how many went."""
        return self._remove(lambda name: not name.startswith(_PARTIAL) and name not in keep)

    def clear_partials(self) -> int:
        """Remove what a killed process left half-written; for a time when nobody writes. Return how many went."""
        return self._remove(lambda name: name.startswith(_PARTIAL))

    def _remove(self, is_unwanted: Callable[[str], bool]) -> int:
        gone = [one for one in self._directory.iterdir() if is_unwanted(one.name)]
        for one in gone:
            one.unlink(missing_ok=True)
        return len(gone)
