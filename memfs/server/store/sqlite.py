"""SQLite as the store needs it: write-ahead log, one writer at a time, nothing left of what is erased.

Used by `memfs.server.store.opening`. Safe in any thread; several processes may share one file.
"""

import errno
import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError, OperationalError

from memfs.core.errors import MemfsError, RemoteUnavailable
from memfs.server.store import erasing
from memfs.server.store.batches import Batches
from memfs.server.store.database import Database, Ways

_BUSY_S = 10.0
_BEGIN = "memfs_begin"
"""The execution option that says how a transaction begins, where not as a read."""
_KEPT_CONNECTIONS = 8
_PAUSE_S = 0.02


def sqlite_database(path: Path) -> Database:
    """Return the database in the file ``path``, which is made with mode 0600 if it is missing.

    Raises:
        OSError, sqlite3.Error, DBAPIError: It cannot be opened or is no database.
    """
    if not path.exists():
        # Only then: to close a file gives up the locks that this process has on it.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    if not os.access(path, os.R_OK | os.W_OK):
        # SQLite would open it for reading, and fail with the first write.
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    _keep_a_log(path)
    engine = sqlite_engine(path)
    writing = immediate(engine)
    batches = Batches(writing)

    def erase(is_patient: bool) -> None:
        with _alone(engine).connect() as connection:
            _erase(connection, is_patient=is_patient)

    return Database(
        Ways(
            reading=engine,
            looking=_alone(engine),
            writing=writing,
            # Who waits here wakes at once; SQLite itself would have each writer sleep and try again.
            write=batches.write,
            foreseen=_foreseen,
            batch=batches.batch,
            once_committed=batches.once_committed,
            alone=batches.alone,
            erase=erase,
        )
    )


def _keep_a_log(path: Path) -> None:
    with closing(sqlite3.connect(path, timeout=_BUSY_S)) as first:
        until = time.monotonic() + _BUSY_S
        while True:
            try:
                first.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                # Another process does the same with a new file, for which SQLite does not wait.
                if "locked" not in str(error) or time.monotonic() > until:
                    raise
                time.sleep(_PAUSE_S)
            else:
                return


def sqlite_engine(path: Path, *, foreign_keys: bool = True) -> Engine:
    """Return an engine on a file; without ``foreign_keys`` its tables can be made anew."""
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        connect_args={"timeout": _BUSY_S, "check_same_thread": False},
        pool_size=_KEPT_CONNECTIONS,
        max_overflow=-1,
        # Parameters are contents of memories: no error may carry them into a log.
        hide_parameters=True,
    )

    def set_up(connection: Any, _record: object) -> None:  # noqa: ANN401  (SQLAlchemy hands on whatever the driver has)
        # The driver's own idea of when a transaction begins is switched off: `_begin` says it.
        connection.isolation_level = None
        connection.execute(f"PRAGMA foreign_keys = {'ON' if foreign_keys else 'OFF'}")
        connection.execute("PRAGMA synchronous = FULL")  # an answered write is on the disk
        connection.execute("PRAGMA secure_delete = ON")  # what is deleted is zeroed at once; `_erase` does the rest

    event.listen(engine, "connect", set_up)
    event.listen(engine, "begin", _begin)
    return engine


def immediate(engine: Engine) -> Engine:
    """Return the engine with transactions that exclude every other write from their begin."""
    return engine.execution_options(**{_BEGIN: "BEGIN IMMEDIATE"})


def _alone(engine: Engine) -> Engine:
    """Return the engine with each statement by itself, in no transaction."""
    return engine.execution_options(**{_BEGIN: ""})


def _begin(connection: Connection) -> None:
    how = connection.get_execution_options().get(_BEGIN, "BEGIN")
    if how:
        connection.exec_driver_sql(how)


def _erase(connection: Connection, *, is_patient: bool) -> None:
    """Write the whole database anew (some 5 ms for each MB) and empty its log.

    SQLite's own zeroing is not enough: where it moves rows between pages, it leaves copies in the unused part of the
    old ones.
    """
    if not is_patient:
        _look_for_readers(connection)
    mark = erasing.seen(connection)
    connection.exec_driver_sql("VACUUM")
    until = time.monotonic() + _BUSY_S
    while _is_log_in_use(connection):
        # For readers SQLite has waited itself, but not for another process that works on the log.
        if time.monotonic() > until:
            raise _still_there()
        time.sleep(_PAUSE_S)
    erasing.settle(connection, mark)


def _look_for_readers(connection: Connection) -> None:
    connection.exec_driver_sql("PRAGMA busy_timeout = 0")
    try:
        if _is_log_in_use(connection):
            raise _still_there()
    finally:
        connection.exec_driver_sql(f"PRAGMA busy_timeout = {_BUSY_S * 1_000:.0f}")


def _is_log_in_use(connection: Connection) -> bool:
    """Empty the log unless somebody uses it; return whether somebody does."""
    return bool(connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").scalar_one())


def _still_there() -> RemoteUnavailable:
    return RemoteUnavailable(
        "the database is busy: erased bytes are still in its log", retry_after_s=1.0, remedy="Repeat the request"
    )


def _foreseen(error: DBAPIError) -> MemfsError | None:
    if not isinstance(error, OperationalError):
        return None
    if "locked" in str(error.orig):
        return RemoteUnavailable("the database is busy", retry_after_s=1.0, remedy="Try again in a moment")
    if "disk is full" in str(error.orig):
        return RemoteUnavailable("the server's disk is full", remedy="Free space on the server")
    if "readonly database" in str(error.orig):
        return RemoteUnavailable("the server may not write its database", remedy="Check its data directory")
    if "unable to open database file" in str(error.orig):
        return RemoteUnavailable(
            "the server cannot open its database", remedy="Check its data directory, and how many files it may open"
        )
    return None
