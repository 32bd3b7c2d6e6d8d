"""Problems and conflicts: what the worker found about single paths that a person or an agent should know.

A problem is data, never an exception: the path keeps its bytes where they are, everything else syncs. Written by the
worker on its control thread.
"""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from memfs.core.plan import Side


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    r"""A trouble of one path on one side.

    ``code`` is that of an error of `memfs.core.errors`, or one of `local_only_name`, `not_a_file` and `clash`.
    ``path`` starts with a slash; bytes that are no UTF-8 are shown as ``\xNN``. ``fingerprint`` stands for the bytes
    that were refused, so that the worker tries again when they change.
    """

    path: str
    side: Side
    code: str
    message: str
    since: float
    fingerprint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Two edits of one path: the losing bytes are at ``copy_path``, whose name tells by their digest which they are."""

    path: str
    copy_path: str
    local_sha256: str
    remote_sha256: str
    since: float


class Problems:
    """The problems of one store, in memory and in its database."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._found = {(one.path, one.side): one for one in read_problems(connection)}

    def __iter__(self) -> Iterator[Problem]:
        return iter(tuple(self._found.values()))

    def __len__(self) -> int:
        return len(self._found)

    def get(self, path: str, side: Side) -> Problem | None:
        """Return the problem of a path on a side."""
        return self._found.get((path, side))

    def put(self, problem: Problem) -> bool:
        """Keep the problem, with the time of the first of its kind; tell whether it is news."""
        known = self._found.get((problem.path, problem.side))
        if known is not None and (known.code, known.fingerprint) == (problem.code, problem.fingerprint):
            return False
        self._found[problem.path, problem.side] = problem
        self._connection.execute(
            "INSERT OR REPLACE INTO problems (path, side, code, message, fingerprint, since) VALUES (?, ?, ?, ?, ?, ?)",
            (problem.path, problem.side.value, problem.code, problem.message, problem.fingerprint, problem.since),
        )
        return True

    def drop(self, path: str, side: Side) -> bool:
        """Forget the problem of a path on a side; tell whether there was one."""
        if self._found.pop((path, side), None) is None:
            return False
        self._connection.execute("DELETE FROM problems WHERE path = ? AND side = ?", (path, side.value))
        return True


class Conflicts:
    """The open conflicts of one store: one ends when its copy is gone."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._found = {one.copy_path: one for one in read_conflicts(connection)}

    def __iter__(self) -> Iterator[Conflict]:
        return iter(tuple(self._found.values()))

    def __contains__(self, copy_path: str) -> bool:
        return copy_path in self._found

    def put(self, conflict: Conflict) -> None:
        """Keep the conflict; one about the same copy stays as it was first seen."""
        if conflict.copy_path in self._found:
            return
        self._found[conflict.copy_path] = conflict
        self._connection.execute(
            "INSERT INTO conflicts (path, copy_path, local_sha256, remote_sha256, since) VALUES (?, ?, ?, ?, ?)",
            (conflict.path, conflict.copy_path, conflict.local_sha256, conflict.remote_sha256, conflict.since),
        )

    def drop(self, copy_path: str) -> bool:
        """End the conflict whose copy is gone; tell whether there was one."""
        if self._found.pop(copy_path, None) is None:
            return False
        self._connection.execute("DELETE FROM conflicts WHERE copy_path = ?", (copy_path,))
        return True


def read_problems(connection: sqlite3.Connection) -> list[Problem]:
    """Return every problem, by path."""
    rows = connection.execute("SELECT path, side, code, message, since, fingerprint FROM problems ORDER BY path, side")
    return [
        Problem(path=path, side=Side(side), code=code, message=message, since=since, fingerprint=fingerprint)
        for path, side, code, message, since, fingerprint in rows
    ]


def read_conflicts(connection: sqlite3.Connection) -> list[Conflict]:
    """Return every open conflict, by path."""
    rows = connection.execute(
        "SELECT path, copy_path, local_sha256, remote_sha256, since FROM conflicts ORDER BY path, copy_path"
    )
    return [
        Conflict(path=path, copy_path=copy, local_sha256=local, remote_sha256=remote, since=since)
        for path, copy, local, remote, since in rows
    ]
