"""Everything the worker knows about one store, behind one database connection.

The worker's control thread owns a `StoreState` for as long as the store is attached and is the only writer of its
database. Every change is made inside `transaction`; what was changed since the last look is handed out by
`take_changed`, for whoever has to be told.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from memfs.core.errors import MemfsError
from memfs.state.baseline import Baseline
from memfs.state.braking import Braking
from memfs.state.database import open_to_write, readable, transaction
from memfs.state.layout import StoreLayout
from memfs.state.merges import Merges
from memfs.state.problems import Conflicts, Problems
from memfs.state.replaced import Replaced


class StoreState:
    """The baseline, problems, conflicts, merges, brakes, made directories and pending paths of one store."""

    def __init__(self, layout: StoreLayout) -> None:
        self._path = layout.database
        self._connection = open_to_write(layout.database)
        self._changed: set[str] = set()
        self._has_news = False
        try:
            self._load()
        except BaseException:
            self._connection.close()
            raise

    def _load(self) -> None:
        with readable(self._path):
            self.baseline = Baseline(self._connection)
            self.problems = Problems(self._connection)
            self.conflicts = Conflicts(self._connection)
            self.merges = Merges(self._connection)
            self.braking = Braking(self._connection)
            self.replaced = Replaced(self._connection)
            self._directories = {path for (path,) in self._connection.execute("SELECT path FROM directories")}
            self._pending = dict(self._connection.execute("SELECT path, state FROM pending").fetchall())
            self._error: tuple[str, str] = self._connection.execute(
                "SELECT error_code, error_message FROM sync_status"
            ).fetchone()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make every change inside durable together, or none: then what is known is what the database says.

        Raises:
            StateDamaged: The database cannot be written or read any more.
            StateUnavailable: It cannot be written for now.
        """
        written = self._connection.total_changes
        try:
            with readable(self._path), transaction(self._connection):
                yield
        except BaseException:
            self._load()
            raise
        self._has_news = self._has_news or self._connection.total_changes > written

    # ------------------------------------------------------------------------------------ directories that were made

    @property
    def directories(self) -> frozenset[str]:
        """The directories that the worker made, as store paths."""
        return frozenset(self._directories)

    def made(self, *paths: str) -> None:
        """Record directories that were made for a pull."""
        self._directories.update(paths)
        self._connection.executemany("INSERT OR IGNORE INTO directories (path) VALUES (?)", [(one,) for one in paths])

    def unmade(self, *paths: str) -> None:
        """Forget directories that are gone."""
        self._directories.difference_update(paths)
        self._connection.executemany("DELETE FROM directories WHERE path = ?", [(one,) for one in paths])

    # ------------------------------------------------------------------------------------------------ pending, status

    @property
    def pending(self) -> Mapping[str, str]:
        """Each path where the sides are not equal yet, with ``pending`` or ``held``."""
        return self._pending

    def set_pending(self, pending: Mapping[str, str]) -> None:
        """Record the whole set of pending paths; only what differs is written."""
        gone = [(path,) for path in self._pending if path not in pending]
        new = [(path, state) for path, state in pending.items() if self._pending.get(path) != state]
        self._connection.executemany("DELETE FROM pending WHERE path = ?", gone)
        self._connection.executemany("INSERT OR REPLACE INTO pending (path, state) VALUES (?, ?)", new)
        self.touch(*(path for (path,) in gone), *(path for path, _ in new))
        self._pending = dict(pending)

    def set_error(self, error: MemfsError | None) -> bool:
        """Record why the remote cannot be worked with, or that it can; tell whether that is news."""
        found = ("", "") if error is None else (error.code, str(error))
        if found == self._error:
            return False
        self._error = found
        self._connection.execute("UPDATE sync_status SET error_code = ?, error_message = ?", found)
        return True

    def set_synced(self, at: float) -> None:
        """Record that nothing was owed at ``at``, in unix seconds."""
        self._connection.execute("UPDATE sync_status SET last_sync_at = ?", (at,))

    def end_conflict(self, copy_path: str) -> None:
        """Forget the conflict whose copy is gone."""
        for conflict in self.conflicts:
            if conflict.copy_path == copy_path and self.conflicts.drop(copy_path):
                self.touch(conflict.path, copy_path)

    # ---------------------------------------------------------------------------------------------- who has to be told

    def touch(self, *paths: str) -> None:
        """Note that what is known of the paths changed."""
        self._changed.update(paths)

    def take_changed(self) -> tuple[str, ...] | None:
        """Return the paths noted since the last call, or None where nothing at all was written meanwhile."""
        changed, self._changed = tuple(sorted(self._changed)), set()
        has_news, self._has_news = self._has_news, False
        return changed if changed or has_news else None
