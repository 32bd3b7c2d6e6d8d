"""Open a database: find its engine, and make or check its layout.

Used by the start of the server and by the commands that work on a database itself. What an error says never shows a
password.
"""

import os
import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NoReturn

from sqlalchemy.exc import DBAPIError

from memfs.core.errors import ConfigError, MemfsError
from memfs.server.store import layout
from memfs.server.store.database import Database
from memfs.server.store.postgresql import postgresql_database
from memfs.server.store.sqlite import sqlite_database

FILE = "memfs.db"
"""The database in a data directory."""


def open_database(where: Path | str) -> Database:
    """Open the SQLite file at a path, or the PostgreSQL database at a URL, with the present layout.

    A file that is missing is made; an empty database gets its tables.

    Raises:
        ConfigError: It cannot be opened, is no database, or has another release's layout.
        RemoteUnavailable: PostgreSQL cannot be reached.
    """
    with ExitStack() as undo:
        database = undo.enter_context(closing(_connected(where)))
        try:
            layout.prepare(database)
        except (sqlite3.Error, DBAPIError) as error:
            _refuse(where, error)
        undo.pop_all()
    return database


def migrate(where: Path | str) -> str | None:
    """Bring an older layout up to the present one; return the revision that it had, or None if nothing was to do.

    A SQLite file is copied beside itself first. It works in one transaction: on a failure the old layout stays.

    Raises:
        ConfigError: It cannot be opened, or is of a newer release.
        RemoteUnavailable: PostgreSQL cannot be reached.
    """
    with closing(_connected(where)) as database:
        try:
            return layout.migrate(database)
        except (OSError, sqlite3.Error, DBAPIError) as error:
            _refuse(where, error)


def _connected(where: Path | str) -> Database:
    if isinstance(where, str):
        return postgresql_database(where)
    try:
        return sqlite_database(where)
    except (OSError, sqlite3.Error) as error:
        _refuse(where, error)


def _refuse(where: Path | str, error: Exception) -> NoReturn:
    cause = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(cause, MemfsError):
        raise cause
    if isinstance(where, Path):
        why = os.strerror(cause.errno) if isinstance(cause, OSError) and cause.errno else str(cause)
        raise ConfigError(
            f"the database {where} cannot be opened ({why})",
            remedy="Check the directory, or choose another with --data",
        ) from None
    raise ConfigError(
        f"the PostgreSQL database cannot be used ({type(cause).__name__})",
        remedy="Check that the role may make tables there",
    ) from None
