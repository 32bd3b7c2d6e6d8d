"""Transactions: the one module that knows which engine is below.

A read sees one state from its begin to its end; a write excludes every other write from its begin, so what it checks
still holds when it commits, and what it committed survives a power loss. Safe in any thread.
"""

import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, insert, select
from sqlalchemy.exc import DatabaseError, OperationalError

from memfs.core.errors import ConfigError, RemoteUnavailable
from memfs.server.store import tables
from memfs.server.store.stamps import identifier

_BUSY_S = 10.0
_BEGIN = "memfs_begin"
"""The execution option that says how a transaction begins, where not as a read."""
_KEPT_CONNECTIONS = 8


class Database:
    """An engine with the two kinds of transaction that the store needs."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._writing = engine.execution_options(**{_BEGIN: "BEGIN IMMEDIATE"})
        self._without = engine.execution_options(**{_BEGIN: ""})
        # Waiting here is fair and wakes at once; SQLite itself would have each writer sleep and try again.
        self._turn = threading.Lock() if engine.dialect.name == "sqlite" else nullcontext()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a transaction that only reads.

        Raises:
            RemoteUnavailable: The database is busy for longer than anyone should wait.
        """
        with _foreseen(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Open a transaction that may write; it commits at the end, or leaves nothing behind on an error.

        Raises:
            RemoteUnavailable: The database is busy for longer than anyone should wait, or its disk is full.
        """
        with self._turn, _foreseen(), self._writing.begin() as connection:
            yield connection

    def erase(self) -> None:
        """Leave nothing in the files of what was deleted before: not in free space, not in the log.

        The whole database is written anew (some 5 ms for each MB), and other writes wait. SQLite's own zeroing is not
        enough: where it moves rows between pages, it leaves copies in the unused part of the old ones.

        Raises:
            RemoteUnavailable: Readers keep the log in use for longer than anyone should wait, or the disk is full.
        """
        with self._turn, _foreseen(), self._without.connect() as connection:
            connection.exec_driver_sql("VACUUM")
            is_busy = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").scalar_one()
        if is_busy:
            raise RemoteUnavailable(
                "the database is busy: erased bytes are still in its log",
                retry_after_s=1.0,
                remedy="Repeat the request",
            )

    def prepare(self) -> None:
        """Make the tables of a new database, and the workspace that every database has."""
        with self.write() as connection:
            tables.METADATA.create_all(connection)
            if connection.scalar(select(tables.server.c.epoch)) is None:
                at_us = time.time_ns() // 1_000
                connection.execute(insert(tables.server).values(epoch=secrets.token_hex(8)))
                connection.execute(
                    insert(tables.workspaces).values(id=identifier("wrkspc", at_us), name="default", created_at=at_us)
                )

    def close(self) -> None:
        """Close every connection that is not in use."""
        self._engine.dispose()


def open_sqlite(path: Path) -> Database:
    """Open the SQLite database at ``path``, made with mode 0600 if it is missing.

    Raises:
        ConfigError: It cannot be opened or is no database.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        with closing(sqlite3.connect(path, timeout=_BUSY_S)) as first:
            first.execute("PRAGMA journal_mode = WAL")
        engine = create_engine(
            URL.create("sqlite", database=str(path)),
            connect_args={"timeout": _BUSY_S, "check_same_thread": False},
            pool_size=_KEPT_CONNECTIONS,
            max_overflow=-1,
            # Parameters are contents of memories: no error may carry them into a log.
            hide_parameters=True,
        )
        event.listen(engine, "connect", _set_up)
        event.listen(engine, "begin", _begin)
        with ExitStack() as undo:
            database = undo.enter_context(closing(Database(engine)))
            database.prepare()
            undo.pop_all()
    except (OSError, sqlite3.Error, DatabaseError) as error:
        cause = error.orig if isinstance(error, DatabaseError) else error
        raise ConfigError(
            f"the database {path} cannot be opened ({cause})",
            remedy="Check the directory, or choose another with --data",
        ) from None
    return database


def _set_up(connection: Any, _record: object) -> None:  # noqa: ANN401  (SQLAlchemy hands on whatever the driver has)
    # The driver's own idea of when a transaction begins is switched off: `_begin` says it.
    connection.isolation_level = None
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = FULL")  # an answered write is on the disk
    connection.execute("PRAGMA secure_delete = ON")  # what is deleted is zeroed at once; `erase` does the rest


def _begin(connection: Connection) -> None:
    how = connection.get_execution_options().get(_BEGIN, "BEGIN")
    if how:
        connection.exec_driver_sql(how)


@contextmanager
def _foreseen() -> Iterator[None]:
    try:
        yield
    except OperationalError as error:
        if "locked" in str(error.orig):
            raise RemoteUnavailable("the database is busy", retry_after_s=1.0, remedy="Try again in a moment") from None
        if "disk is full" in str(error.orig):
            raise RemoteUnavailable("the server's disk is full", remedy="Free space on the server") from None
        raise
