"""PostgreSQL as the store needs it: reads of one state, writes that wait for a store's row, and its failures by name.

Used by `memfs.server.store.opening`. Safe in any thread; any number of processes and hosts may share one database.
"""

import re
from contextlib import ExitStack

import psycopg
from sqlalchemy import URL, Connection, Engine, create_engine, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError

from memfs.core.errors import ConcurrentChange, ConfigError, MemfsError, RemoteUnavailable
from memfs.server.store.database import Database, Told, Ways

CHANNEL = "memfs_changes"
"""Where processes tell each other which store has changed."""
_BUSY_MS = 10_000
_KEPT_CONNECTIONS = 8
_MOST_CONNECTIONS = 40
"""As many as there are threads of the server that may ask at a time."""
_WAIT_FOR_CONNECTION_S = 10
_NETWORK = {"connect_timeout": 5, "keepalives_idle": 30, "tcp_user_timeout": 30_000}
"""Nobody waits for ever for a host that is gone. Seconds, and milliseconds."""
_SCHEMES = frozenset({"postgresql", "postgres", "postgresql+psycopg"})
_NOTIFY = text("SELECT pg_notify(:channel, :store_id)")
_IN_THE_WAY = frozenset({"40001", "40P01"})
"""Serialization failure, deadlock."""
_BUSY = frozenset({"55P03", "57014", "53300"})
"""Waited too long for a lock; cancelled; too many connections."""
_FULL = frozenset({"53100", "53200"})
_GONE = ("08", "57P", "25006")
"""Beginnings: no connection; the server is starting or ending; it only follows another one."""

_INVALID = re.compile(r"connection is bad: (invalid (?:port number|\w+ value)\b.*)")
"""What libpq says of a setting before it connects to anything."""
_NAME_TABLES_ONLY = ("23", "42")
"""Beginnings of failures, broken constraint and wrong statement, whose first line shows no value."""


def postgresql_database(url: str) -> Database:
    """Return the database at ``url``, once it was reached.

    Raises:
        ConfigError: The URL is none, or the database keeps texts in another encoding than UTF-8.
        RemoteUnavailable: It cannot be reached, or the role may not.
    """
    with ExitStack() as undo:
        engine = _engine(_parsed(url))
        undo.callback(engine.dispose)
        _check(engine)
        undo.pop_all()
    return Database(
        Ways(
            reading=engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True),
            looking=engine.execution_options(isolation_level="AUTOCOMMIT"),
            writing=engine,
            write=engine.begin,
            foreseen=foreseen,
            announce=_announce,
        )
    )


def _parsed(text: str) -> URL:
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        url = None
    # A password with an @ that is not written as %40 would be taken for a part of the host.
    if url is None or url.drivername not in _SCHEMES or not url.database or "@" in (url.host or ""):
        # The text is not shown: it may hold a password.
        raise ConfigError(
            "the database URL is none of PostgreSQL's",
            remedy="Write it like postgresql://USER:PASSWORD@HOST:PORT/DATABASE, an @ in the password as %40",
        )
    return url


def _engine(url: URL) -> Engine:
    own = url.query.get("options", "")
    options = f"{own if isinstance(own, str) else ' '.join(own)} -c lock_timeout={_BUSY_MS}"
    return create_engine(
        url.set(drivername="postgresql+psycopg"),
        connect_args=_NETWORK | {"client_encoding": "utf8", "options": options},
        pool_timeout=_WAIT_FOR_CONNECTION_S,
        pool_size=_KEPT_CONNECTIONS,
        max_overflow=_MOST_CONNECTIONS - _KEPT_CONNECTIONS,
        # A database that was started again is met by a failed look, not by a failed request.
        pool_pre_ping=True,
        # Parameters are contents of memories: no error may carry them into a log.
        hide_parameters=True,
    )


def _check(engine: Engine) -> None:
    try:
        with engine.connect() as connection:
            encoding = connection.scalar(text("SHOW server_encoding"))
    except DBAPIError as error:
        wrong = _wrong_setting(error.orig)
        if wrong is not None:
            raise ConfigError(
                f"the database URL has {wrong}",
                remedy="Correct it in --database, MEMFS_DATABASE_URL or server.database",
            ) from None
        raise RemoteUnavailable(
            f"the PostgreSQL database cannot be reached ({_why(error.orig)})",
            remedy="Check that it runs, that the database exists and that the role may use it",
        ) from None
    if encoding != "UTF8":
        raise ConfigError(
            f"the PostgreSQL database keeps texts as {encoding}", remedy="Make one with the encoding UTF8"
        )


def _wrong_setting(error: BaseException | None) -> str | None:
    """Return which part of a URL cannot be right, whatever runs there; of its value only a port or a mode."""
    told = str(error).partition("\n")[0]
    if not isinstance(error, psycopg.OperationalError):
        found = re.search(r'connection option "(\w+)"|bad value for (\w+)', told)
        return f"a wrong parameter {found[1] or found[2]}" if found else "a parameter that PostgreSQL does not know"
    found = _INVALID.match(told)
    return f"an {found[1]}" if found else None


def _why(error: BaseException | None) -> str:
    """Return the cause in PostgreSQL's own words, without the connection that it repeats first."""
    first = str(error).partition("\n")[0]
    return first.rpartition("FATAL:")[2].strip() if "FATAL:" in first else first.rpartition(": ")[2]


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
    _hide_values(error, cause, state)
    return None


def _hide_values(error: DBAPIError, cause: BaseException | None, state: str) -> None:
    """Leave of a bug's message what names no row: PostgreSQL likes to show the whole of it."""
    if not isinstance(cause, psycopg.Error):
        return
    shown = (state.startswith(_NAME_TABLES_ONLY) and cause.diag.message_primary) or f"SQLSTATE {state}"
    cause.args = (shown,)
    error.args = (f"({type(cause).__name__}) {shown}",)


def _announce(connection: Connection, told: Told) -> None:
    for store_id in sorted(told):
        connection.execute(_NOTIFY, {"channel": CHANNEL, "store_id": store_id})
