"""A server's database, opened by its operator: beside a running server, without its API or its keys.

Used by the commands that work on the database itself. Who may read and write its files, or has its URL, may do all.
"""

from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from memfs.core.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memfs.server.store.database import Database


@contextmanager
def opened(data: Path | None, url: str | None, config: Path | None, *, make: bool = False) -> "Iterator[Database]":
    """Open the database that the options name, or the settings; with ``make`` a missing one is made.

    Raises:
        UsageError: Both kinds are named.
        ConfigError: There is none, or it has another release's layout.
        RemoteUnavailable: PostgreSQL cannot be reached.
    """
    where = _where(data, url, config)
    from memfs.server.prepared import make_directory
    from memfs.server.store.opening import open_database

    if isinstance(where, Path):
        if make:
            make_directory(where.parent)
        elif not where.exists():
            raise ConfigError(f"there is no database {where}", remedy="Name the server's own with --data or --database")
    with closing(open_database(where)) as database:
        yield database


def _where(data: Path | None, url: str | None, config: Path | None) -> Path | str:
    """Return the file of a SQLite database or the URL of another."""
    if data is not None and url is not None:
        raise UsageError("--data and --database name two databases", remedy="Leave one of them out")
    if url is not None:
        return url
    from memfs.config import default_server_data, load, server_database
    from memfs.server.store.opening import FILE

    settings = load(config)
    if data is None and (named := server_database(None, settings)) is not None:
        return named
    return (data or settings.server.data or default_server_data()) / FILE
