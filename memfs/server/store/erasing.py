"""Whether bytes of what was deleted may still be in the files: written down with the deletion, until they are erased.

SQLite keeps deleted bytes in free places and in its log until both are written anew, which comes after the commit, may
be refused, and may be cut off by a kill. So the deletion itself leaves a mark in the database's header, in the one
number there that is a program's own: odd while an erasure is owed, and never the same again. PostgreSQL owes none: what
its files keep is its own to clean. Used by `memfs.server.store.database` and whoever deletes. Safe in any thread.
"""

from sqlalchemy import Connection

_MOST = 2**31 - 2
"""SQLite's number has 31 bits; it begins anew after these."""


def owe(connection: Connection) -> None:
    """Write down, in the transaction that deletes, that the bytes are to be erased."""
    if connection.dialect.name == "sqlite":
        _write(connection, (seen(connection) + 1) | 1)


def is_owed(connection: Connection) -> bool:
    """Tell whether bytes of a committed deletion may still be there."""
    return connection.dialect.name == "sqlite" and seen(connection) % 2 == 1


def seen(connection: Connection) -> int:
    """Return the mark of a SQLite database as it is now."""
    mark: int = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
    return mark


def settle(connection: Connection, mark: int) -> None:
    """Write down that all is erased that was deleted before ``mark`` was seen, unless more was deleted since.

    The connection is SQLite's, in no transaction.
    """
    connection.exec_driver_sql("BEGIN IMMEDIATE")
    try:
        if mark % 2 == 1 and seen(connection) == mark:
            _write(connection, mark + 1)
    finally:
        connection.exec_driver_sql("COMMIT")


def _write(connection: Connection, mark: int) -> None:
    connection.exec_driver_sql(f"PRAGMA user_version = {mark if mark <= _MOST else mark % 2}")
