"""The baseline: per path, the last state that both sides agreed on; and the digests that were about to be pushed.

Read whole at the start of a worker (10,000 rows at most unless configured), asked in memory, written through. The
worker's control thread owns it; every write happens inside a transaction of `memfs.state.store_state`.
"""

import sqlite3
from collections.abc import Iterable, KeysView
from dataclasses import dataclass
from sys import intern

from memfs.core.paths import StorePath
from memfs.core.tree_requests import Identity


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreed:
    """One row of the baseline.

    ``identity`` is the file when it was last read and had these bytes, None where that is not known; ``hashed_at`` is
    when, in unix seconds. ``updated_at`` is the remote's own word, "" where it gave none.
    """

    path: StorePath
    memory_id: str
    version_id: str
    content_sha256: str
    size_bytes: int
    updated_at: str = ""
    identity: Identity | None = None
    hashed_at: float = 0.0


class Baseline:
    """The rows of one store by path and by memory."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._rows: dict[StorePath, Agreed] = {}
        self._paths: dict[str, StorePath] = {}
        self._intended: dict[StorePath, set[str]] = {}
        for row in connection.execute(_GET):
            self._keep(_agreed(row))
        for path, content_sha256 in connection.execute("SELECT path, content_sha256 FROM intended"):
            self._intended.setdefault(StorePath(path), set()).add(content_sha256)

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, path: StorePath) -> bool:
        return path in self._rows

    @property
    def paths(self) -> KeysView[StorePath]:
        """Every path that has a row."""
        return self._rows.keys()

    def get(self, path: StorePath) -> Agreed | None:
        """Return the row of a path."""
        return self._rows.get(path)

    def path_of(self, memory_id: str) -> StorePath | None:
        """Return the path at which a memory was last agreed on."""
        return self._paths.get(memory_id)

    def intended(self, path: StorePath) -> frozenset[str]:
        """Return the digests whose push to ``path`` was begun and never answered."""
        return frozenset(self._intended.get(path, ()))

    def contents(self) -> set[str]:
        """Return every digest that a merge may still need."""
        return {row.content_sha256 for row in self._rows.values()}.union(*self._intended.values())

    def put(self, row: Agreed) -> None:
        """Record what both sides have at ``row.path``; what was intended there goes, and the memory's row elsewhere."""
        elsewhere = self._paths.get(row.memory_id)
        if elsewhere is not None and elsewhere != row.path:
            self.drop(elsewhere)
        self._settle(row.path)
        self._forget(row.path)
        self._keep(row)
        self._connection.execute(_PUT, _row(row))

    def drop(self, path: StorePath) -> None:
        """Forget a path, and what was intended for it."""
        self._settle(path)
        if self._forget(path):
            self._connection.execute("DELETE FROM baseline WHERE path = ?", (path,))

    def intend(self, intentions: Iterable[tuple[StorePath, str]]) -> None:
        """Record digests that are about to be pushed, by path."""
        new = {(path, sha256) for path, sha256 in intentions if sha256 not in self._intended.get(path, ())}
        for path, sha256 in new:
            self._intended.setdefault(path, set()).add(sha256)
        self._connection.executemany("INSERT INTO intended (path, content_sha256) VALUES (?, ?)", new)

    def _keep(self, row: Agreed) -> None:
        self._rows[row.path] = row
        self._paths[row.memory_id] = row.path

    def _forget(self, path: StorePath) -> bool:
        row = self._rows.pop(path, None)
        if row is not None and self._paths.get(row.memory_id) == path:
            del self._paths[row.memory_id]
        return row is not None

    def _settle(self, path: StorePath) -> None:
        if self._intended.pop(path, None) is not None:
            self._connection.execute("DELETE FROM intended WHERE path = ?", (path,))


_COLUMNS = (
    "path", "memory_id", "version_id", "content_sha256", "size_bytes", "updated_at", "inode", "file_size", "mtime_ns",
    "ctime_ns", "hashed_at",
)  # fmt: skip
_GET = f"SELECT {', '.join(_COLUMNS)} FROM baseline"  # noqa: S608  (the names above)
_PUT = f"INSERT OR REPLACE INTO baseline ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608  (the names above)


def _row(row: Agreed) -> tuple[str | int | float | None, ...]:
    where: tuple[int | None, ...] = row.identity or (None, None, None, None)
    return (
        row.path, row.memory_id, row.version_id, row.content_sha256, row.size_bytes, row.updated_at, *where,
        row.hashed_at,
    )  # fmt: skip


def _agreed(columns: tuple[str, str, str, str, int, str, int | None, int, int, int, float]) -> Agreed:
    path, memory_id, version_id, sha256, size_bytes, updated_at, inode, file_size, mtime_ns, ctime_ns, at = columns
    return Agreed(
        path=StorePath(path), memory_id=memory_id, version_id=version_id, content_sha256=intern(sha256),
        size_bytes=size_bytes, updated_at=updated_at, hashed_at=at,
        identity=None if inode is None else Identity(inode, file_size, mtime_ns, ctime_ns),
    )  # fmt: skip
