"""The layout of a database: which revision it has, and the way to the present one.

The steps are Alembic's, in `memfs.server.migrations`; Alembic itself is loaded only where one is to be taken. Used
when a database is opened.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, inspect, text

from memfs.core.errors import ConfigError
from memfs.server.store.database import Database
from memfs.server.store.sqlite import immediate, sqlite_engine

PRESENT: Final = "0002"
"""The revision of `memfs.server.store.tables`."""
_FIRST: Final = "0001"
"""What the first release made, before revisions were written down: the layout that it called 2."""
_ONE_AT_A_TIME = text("SELECT pg_advisory_xact_lock(6029413)")
_NONE_MEANWHILE = text("SELECT pg_advisory_xact_lock_shared(6029413)")


def prepare(database: Database) -> None:
    """Give an empty database its tables, or check that it has the present layout.

    Raises:
        ConfigError: It has another.
    """
    found = _found(database)
    if found is None:
        found = _step(database, from_revision=None)
    if found != PRESENT:
        raise _other(found)


def migrate(database: Database) -> str | None:
    """Bring an older layout up to the present one; return the revision before, or None if nothing was to do.

    A SQLite file is copied first, to ``memfs.db.before-0002`` beside it.

    Raises:
        ConfigError: The database is of a newer release.
    """
    found = _found(database)
    if found in {None, PRESENT}:
        prepare(database)
        return None
    if found != _FIRST:
        raise _other(found)
    reached = _step(database, from_revision=found)
    if reached != PRESENT:
        raise _other(reached)
    return found


def revision_of(connection: Connection) -> str | None:
    """Return the revision of a database, None for one without tables."""
    names = set(inspect(connection).get_table_names())
    if "alembic_version" in names:
        found: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
        return found
    if "schema" in names:
        layout = connection.scalar(text("SELECT version FROM schema"))
        return _FIRST if layout == 2 else f"layout {layout}"  # noqa: PLR2004  (what the first release wrote there)
    return "of another program" if names else None


def _found(database: Database) -> str | None:
    """Return the revision, as it is before or after a migration, not in the middle."""
    if database.is_sqlite:
        with database.read() as connection:
            return revision_of(connection)
    # PostgreSQL's names of tables change for a reader before its rows do.
    with database.write() as connection:
        connection.execute(_NONE_MEANWHILE)
        return revision_of(connection)


def _step(database: Database, from_revision: str | None) -> str | None:
    """Take the steps to the present layout unless another process has; return the revision reached."""
    from memfs.server.migrations import upgrade  # noqa: PLC0415  (Alembic costs every other start 0.2 s)

    with _alone(database) as connection:
        found = revision_of(connection)
        if found != from_revision:
            return found
        if database.is_sqlite and found is not None:
            # Nobody else migrates now, so it is the old layout that is copied; this transaction has written nothing.
            file = Path(str(database.engine.url.database))
            _copy(file, file.with_name(f"{file.name}.before-{PRESENT}"))
        upgrade(connection, from_revision)
        return revision_of(connection)


@contextmanager
def _alone(database: Database) -> Iterator[Connection]:
    """Open a transaction in which tables can be made anew, and no other process does the same."""
    if not database.is_sqlite:
        with database.write() as connection:
            connection.execute(_ONE_AT_A_TIME)
            yield connection
        return
    # Where foreign keys are enforced, making a table anew would delete what refers to it.
    engine = sqlite_engine(Path(str(database.engine.url.database)), foreign_keys=False)
    try:
        with immediate(engine).begin() as connection:
            yield connection
    finally:
        engine.dispose()


def _copy(source: Path, target: Path) -> None:
    """Copy a database that may be in use; a copy of before is only replaced by a whole one."""
    made = target.with_name(f"{target.name}.part")
    made.unlink(missing_ok=True)
    os.close(os.open(made, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    with closing(sqlite3.connect(source)) as reading, closing(sqlite3.connect(made)) as writing:
        reading.backup(writing)
        writing.execute("PRAGMA journal_mode = DELETE")
    made.replace(target)


def _other(found: str | None) -> ConfigError:
    if found == _FIRST:
        return ConfigError(
            f"the database has the layout {found} of an older release, this one needs {PRESENT}",
            remedy="Stop every server on it, then run memfs serve --migrate",
        )
    return ConfigError(
        f"the database has the layout {found}, this release knows {PRESENT}",
        remedy="Run the release that made it, or choose another directory with --data DIR",
    )
