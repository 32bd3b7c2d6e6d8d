"""PostgreSQL as the store needs it: reads of one state, writes that wait for a store's row, and its failures by name.

Used by `memfs.server.store.opening`. Safe in any thread; any number of processes and hosts may share one database.
"""

import psycopg
from sqlalchemy import URL, Connection, create_engine, text
from sqlalchemy.exc import DBAPIError

from memfs.core.errors import ConcurrentChange, MemfsError, RemoteUnavailable
from memfs.server.store.database import Database, Ways

CHANNEL = "memfs_changes"
"""Where processes tell each other which store has changed."""
_BUSY_MS = 10_000
_CONNECT_S = 5
_KEPT_CONNECTIONS = 8
_MOST_CONNECTIONS = 40
"""As many as there are threads of the server that may ask at a time."""
_NOTIFY = text("SELECT pg_notify(:channel, :store_id)")
_IN_THE_WAY = frozenset({"40001", "40P01"})
"""Serialization failure, deadlock."""
_BUSY = frozenset({"55P03", "57014", "53300"})
"""Waited too long for a lock; cancelled; too many connections."""
_FULL = frozenset({"53100", "53200"})
_GONE = ("08", "57P")
"""Classes: no connection, or the server is starting or ending."""


def postgresql_database(url: URL) -> Database:
    """Return the database at ``url``; nothing is connected yet."""
    engine = create_engine(
        url.set(drivername="postgresql+psycopg"),
        connect_args={"connect_timeout": _CONNECT_S, "options": f"-c lock_timeout={_BUSY_MS}"},
        pool_size=_KEPT_CONNECTIONS,
        max_overflow=_MOST_CONNECTIONS - _KEPT_CONNECTIONS,
        # A database that was started again is met by a failed look, not by a failed request.
        pool_pre_ping=True,
        # Parameters are contents of memories: no error may carry them into a log.
        hide_parameters=True,
    )
    return Database(
        Ways(
            reading=engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True),
            writing=engine,
            foreseen=foreseen,
            announce=_announce,
        )
    )


def foreseen(error: DBAPIError) -> MemfsError | None:
    """Return what a failure of PostgreSQL is to whoever asked; None for a bug."""
    cause = error.orig
    state = (cause.sqlstate if isinstance(cause, psycopg.Error) else None) or ""
    if state in _IN_THE_WAY:
        return ConcurrentChange("another write was in the way", remedy="Repeat the request")
    if state in _BUSY:
        return RemoteUnavailable("the database is busy", retry_after_s=1.0, remedy="Try again in a moment")
    if state in _FULL:
        return RemoteUnavailable("the disk or the memory of the database is full", remedy="Make room for PostgreSQL")
    if state.startswith(_GONE) or error.connection_invalidated or isinstance(cause, psycopg.OperationalError):
        return RemoteUnavailable(
            "the database cannot be reached", retry_after_s=1.0, remedy="Check that PostgreSQL runs"
        )
    return None


def _announce(connection: Connection, told: set[str]) -> None:
    for store_id in sorted(told):
        connection.execute(_NOTIFY, {"channel": CHANNEL, "store_id": store_id})
