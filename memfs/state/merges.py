"""Merges that are being put in place, so that a worker killed in between knows afterwards what the file comes from.

Written by the worker on its control thread, before the tree's owner is asked: whether the staged file is still in
``staging/`` tells whether it was put in place.
"""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from memfs.core.paths import StorePath
from memfs.state.baseline import Agreed


@dataclass(frozen=True, slots=True, kw_only=True)
class Merging:
    """A merged text on its way to its path; ``agreed`` is the baseline once it is there."""

    staged: str
    agreed: Agreed


class Merges:
    """The merges of one store that are under way, by path."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._found = {one.agreed.path: one for one in map(_merging, connection.execute(_GET))}

    def __iter__(self) -> Iterator[Merging]:
        return iter(tuple(self._found.values()))

    def __len__(self) -> int:
        return len(self._found)

    def put(self, merging: Merging) -> None:
        """Keep the merge, in place of an older one of its path."""
        row = merging.agreed
        self._found[row.path] = merging
        self._connection.execute(
            "INSERT OR REPLACE INTO merges VALUES (?, ?, ?, ?, ?, ?, ?)",
            (row.path, merging.staged, row.memory_id, row.version_id, row.content_sha256, row.size_bytes,
             row.updated_at),
        )  # fmt: skip

    def drop(self, path: StorePath) -> None:
        """Forget the merge of a path."""
        if self._found.pop(path, None) is not None:
            self._connection.execute("DELETE FROM merges WHERE path = ?", (path,))


_GET = "SELECT path, staged, memory_id, version_id, content_sha256, size_bytes, updated_at FROM merges"


def _merging(columns: tuple[str, str, str, str, str, int, str]) -> Merging:
    path, staged, memory_id, version_id, content_sha256, size_bytes, updated_at = columns
    agreed = Agreed(
        path=StorePath(path), memory_id=memory_id, version_id=version_id, content_sha256=content_sha256,
        size_bytes=size_bytes, updated_at=updated_at,
    )  # fmt: skip
    return Merging(staged=staged, agreed=agreed)
