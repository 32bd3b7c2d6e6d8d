"""state.db: how the file of what the worker knows about one store is opened (`memfs.state.schema`: what is in it).

The worker opens it for writing (one connection, on its control thread); the mount and the command line open it for
reading, at any time, in any thread, one connection for each look. WAL lets them read while the worker writes.

synchronous=NORMAL on purpose: a power failure may take the last transactions with it, never tear one. Losing a
baseline row costs a look (both sides are equal already, so it is adopted); losing an intended digest costs a
conflict copy at worst. The bytes themselves are in the tree, which is fsynced on its own. FULL would make every
recorded action wait for the disk.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from memfs.core.errors import StateDamaged, StateUnavailable
from memfs.state.schema import MIGRATIONS, SCHEMA_VERSION

_PRIMARY = 0xFF
_FOR_NOW = frozenset({
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_NOMEM,
})  # fmt: skip
"""What SQLite says about the disk and about other processes, not about the file."""


def open_to_write(path: Path) -> sqlite3.Connection:
    """Open a store's database for its one writer, making it and its schema where there is none.

    Raises:
        StateDamaged: The file is no database, is damaged, or was made by a newer memfs.
        StateUnavailable: The disk is full, or the file locked or not to be opened for now.
    """
    with readable(path):
        connection = sqlite3.connect(path, isolation_level=None, timeout=10)
        try:
            _prepare(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


@contextmanager
def open_to_read(path: Path) -> Iterator[sqlite3.Connection | None]:
    """Lend a connection that cannot change anything, or None where there is no database or no schema yet.

    Raises:
        StateDamaged: The file is no database, is damaged, or was made by a newer memfs.
        StateUnavailable: The disk is full, or the file locked or not to be opened for now.
    """
    connection = connect_to_read(path) if path.exists() else None
    if connection is None:
        yield None
        return
    with readable(path), closing(connection):
        yield connection


def connect_to_read(path: Path, *, timeout_s: float = 10.0) -> sqlite3.Connection | None:
    """Return a connection that cannot change anything, or None where there is no schema yet; the caller closes it.

    Raises:
        StateDamaged: The file is no database, is damaged, or was made by a newer memfs.
        StateUnavailable: It is not to be opened for now, or was locked for ``timeout_s`` seconds.
    """
    with readable(path):
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=timeout_s, check_same_thread=False
        )
        try:
            connection.row_factory = sqlite3.Row
            if _version(connection, path):
                return connection
        except BaseException:
            connection.close()
            raise
        connection.close()
        return None


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Make every statement inside happen, or none."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # A full disk may have ended it already.
            connection.execute("ROLLBACK")
        raise


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Name the file where SQLite finds it damaged, or cannot work with it for now."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        if _PRIMARY & getattr(error, "sqlite_errorcode", 0) in _FOR_NOW:
            raise StateUnavailable(
                f"{path} cannot be used for now: {error}", remedy="Look for a full disk, or who holds the database"
            ) from None
        if type(error) is not sqlite3.DatabaseError:
            # A mistake of ours: the other subclasses are no damage.
            raise
        raise _damaged(path, str(error)) from None


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    found_version = _version(connection, path)
    if found_version < SCHEMA_VERSION:
        with transaction(connection):
            for statement in "".join(MIGRATIONS[found_version:]).split(";\n"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise _damaged(path, found)


def _version(connection: sqlite3.Connection, path: Path) -> int:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > SCHEMA_VERSION:
        raise StateDamaged(f"{path} was made by a newer memfs (schema {version})", remedy="Run that version")
    return version


def _damaged(path: Path, reason: str) -> StateDamaged:
    return StateDamaged(
        f"{path} cannot be read: {reason}",
        remedy=f"Stop the worker and move {path.name} away: the next start compares both sides again and keeps both",
    )
