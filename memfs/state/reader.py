"""A store's database while the mount shows it: one connection for many looks, which can change nothing.

Opening costs thirty times a look. The connection is given back whenever the worker says that it committed (`close`), so
that a worker that ends is the last to hold the database; the next look opens it anew. So does one that finds another
file at the path. Used by `memfs.vfs.shown` under the mount's mutation lock, in any thread.
"""

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from memfs.core.attachment import Attachment
from memfs.core.errors import MemfsError
from memfs.state.database import connect_to_read, readable
from memfs.state.summary import MemoryFacts, StoreSummary, memory_facts, summary

BUSY_TIMEOUT_S = 0.1
"""How long a look waits for somebody who locks the database: every other request of the mount waits with it."""

Found = TypeVar("Found")


class StateReader:
    """What the worker knows of one store; nothing is opened before the first look."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._wal = path.with_name(f"{path.name}-wal")
        self._connection: sqlite3.Connection | None = None
        self._file = (0, 0)
        self._summary: tuple[int, StoreSummary] | None = None

    def facts(self, path: str) -> MemoryFacts:
        """Return what is known of a store path; nothing, where there is no database yet.

        Raises:
            StateDamaged: The file is no database, is damaged, or was made by a newer memfs.
            StateUnavailable: It cannot be read for now.
        """
        return self._look(lambda connection: memory_facts(connection, path))

    def summary(self, attachment: Attachment) -> StoreSummary | None:
        """Return how the store stands, None where there is no database yet; read once until the worker commits.

        Raises:
            StateDamaged: The file is no database, is damaged, or was made by a newer memfs.
            StateUnavailable: It cannot be read for now.
        """
        return self._look(lambda connection: None if connection is None else self._summed_up(connection, attachment))

    def changed_ns(self) -> int:
        """Return when the worker last wrote something, 0 where it never did."""
        found = 0
        for path in (self._path, self._wal):
            with suppress(OSError):
                found = max(found, path.stat().st_mtime_ns)
        return found

    def close(self) -> None:
        """Give the connection back; the next look opens another one."""
        connection, self._connection, self._summary = self._connection, None, None
        if connection is not None:
            connection.close()

    def _look(self, ask: Callable[[sqlite3.Connection | None], Found]) -> Found:
        try:
            connection = self._opened()
            with readable(self._path):
                return ask(connection)
        except MemfsError:
            self.close()
            raise

    def _opened(self) -> sqlite3.Connection | None:
        try:
            found = self._path.stat()
        except (FileNotFoundError, NotADirectoryError):
            self.close()
            return None
        file = (found.st_dev, found.st_ino)
        if self._connection is None or file != self._file:
            self.close()
            self._connection, self._file = connect_to_read(self._path, timeout_s=BUSY_TIMEOUT_S), file
        return self._connection

    def _summed_up(self, connection: sqlite3.Connection, attachment: Attachment) -> StoreSummary:
        [(version,)] = connection.execute("PRAGMA data_version").fetchall()
        known = self._summary
        if known is None or known[0] != version or known[1].attachment != attachment:
            known = self._summary = (version, summary(connection, attachment))
        return known[1]
