"""A backup's file: a SQLite database of the present layout, with what tells that it is whole.

Beside the tables of the store it says how many rows each has and their digest, since SQLite itself finds torn pages
but no changed byte of a content. It needs no second file, neither while it is written nor later. Used by
`memfs.server.store.backup`. One thread.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from sqlalchemy import Table
from sqlalchemy.dialects.sqlite import dialect
from sqlalchemy.schema import CreateIndex, CreateTable

from memfs.core.errors import BackupUnusable, StateUnavailable
from memfs.server.store import layout, tables

AT_ONCE = 100
"""Rows held in memory: 10 MB at most."""
_APPLICATION = 0x6D656D66
"""``memf``, where SQLite has a place for whose file it is."""
_REVISION = "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)"
_WHOLE = "CREATE TABLE backup_tables (name TEXT NOT NULL PRIMARY KEY, rows INTEGER NOT NULL, sha256 TEXT NOT NULL)"
_PROBABLY_DAMAGED = "Take another backup: this one was changed after it was made, or not copied whole"

Row = Sequence[Any]


class Digest:
    """Counts rows and digests them, in their order: the same rows, the same digest, on any machine."""

    def __init__(self) -> None:
        self._sha256 = hashlib.sha256()
        self.rows = 0

    def add(self, rows: Sequence[Row]) -> None:
        """Add rows of texts, numbers, bytes and NULLs."""
        for row in rows:
            contents = [value for value in row if isinstance(value, bytes)]
            texts = json.dumps([[len(value)] if isinstance(value, bytes) else value for value in row])
            self._sha256.update(texts.encode())
            for content in contents:
                self._sha256.update(content)
        self.rows += len(rows)

    def told(self) -> tuple[int, str]:
        """Return how many rows there were, and their digest."""
        return self.rows, self._sha256.hexdigest()


class Writer:
    """Fills an empty file; use it as a context. What a failure leaves is no backup.

    Raises:
        StateUnavailable: The disk is full, or does not take the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = sqlite3.connect(path, isolation_level=None)

    def __enter__(self) -> Self:
        """Make the tables."""
        with self._written():
            # Nothing is rolled back: a file that is not finished is removed, or overwritten by the next backup.
            self._connection.execute("PRAGMA journal_mode = OFF")
            self._connection.execute("PRAGMA synchronous = OFF")
            self._connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            self._connection.execute("BEGIN")
            for table in tables.METADATA.sorted_tables:
                self._connection.execute(str(CreateTable(table).compile(dialect=dialect())))
                for index in sorted(table.indexes, key=lambda index: str(index.name)):
                    self._connection.execute(str(CreateIndex(index).compile(dialect=dialect())))
            self._connection.execute(_REVISION)
            self._connection.execute("INSERT INTO alembic_version VALUES (?)", [layout.PRESENT])
            self._connection.execute(_WHOLE)
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file; only `finish` makes it a backup."""
        self._connection.close()

    def add(self, table: Table, rows: Sequence[Row]) -> None:
        """Add rows of a table, each with its columns in the table's order."""
        places = ", ".join("?" * len(table.columns))
        with self._written():
            self._connection.executemany(f"INSERT INTO {table.name} VALUES ({places})", rows)  # noqa: S608  (ours)

    def close_table(self, table: Table, digest: Digest) -> None:
        """Write down what the table has."""
        with self._written():
            self._connection.execute("INSERT INTO backup_tables VALUES (?, ?, ?)", [table.name, *digest.told()])

    def finish(self) -> None:
        """Complete the file and read it again; it is not on the disk for good before its caller fsyncs it."""
        with self._written():
            self._connection.execute("COMMIT")
            sound = [row[0] for row in self._connection.execute("PRAGMA integrity_check")] == ["ok"]
            counted = {
                name: self._connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0]  # noqa: S608  (ours)
                for name in tables.METADATA.tables
            }
            told = dict(self._connection.execute("SELECT name, rows FROM backup_tables"))
        if not sound or counted != told:
            raise StateUnavailable(f"the backup {self._path} is not what was written", remedy="Check the disk")

    @contextmanager
    def _written(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            # Also "disk I/O error": what SQLite says of a file that may not grow.
            raise StateUnavailable(
                f"the backup {self._path} cannot be written ({error})",
                remedy="Free space, or choose another directory",
            ) from None


class Reader:
    """Reads a backup; use it as a context.

    Raises:
        BackupUnusable: It is none, is damaged, or is another release's.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> Self:
        """Open the file and check whose it is, before any row is read."""
        _refuse_foreign(self._path)
        with self._readable():
            self._connection = sqlite3.connect(f"{self._path.absolute().as_uri()}?mode=ro", uri=True)
        try:
            self._check()
        except BaseException:
            self._connection.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._connection.close()

    def rows(self) -> int:
        """Return how many rows the backup has."""
        return sum(rows for rows, _ in self._told.values())

    def read(self, table: Table) -> Iterator[list[Row]]:
        """Yield a table's rows in portions, each row's columns in the table's order.

        Raises:
            BackupUnusable: After the last of them, if they are not what was written.
        """
        columns = ", ".join(table.columns.keys())
        digest = Digest()
        with self._readable():
            found = self._connection.execute(f"SELECT {columns} FROM {table.name} ORDER BY rowid")  # noqa: S608  (ours)
            while rows := found.fetchmany(AT_ONCE):
                digest.add(rows)
                yield rows
        if digest.told() != self._told.get(table.name):
            raise self._damaged(f"its {table.name} are not what was written")

    def _check(self) -> None:
        with self._readable():
            revision = self._connection.execute("SELECT version_num FROM alembic_version").fetchone()
            told = self._connection.execute("SELECT name, rows, sha256 FROM backup_tables").fetchall()
        if revision is None:
            raise self._damaged("it names no layout")
        if revision[0] != layout.PRESENT:
            raise BackupUnusable(
                f"the backup {self._path} has the layout {revision[0]}, this release knows {layout.PRESENT}",
                remedy="Restore it with the release that made it; a newer one then takes `memfs serve --migrate`",
            )
        self._told: dict[str, tuple[int, str]] = {name: (rows, sha256) for name, rows, sha256 in told}

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise self._damaged(str(error) if isinstance(error, sqlite3.Error) else "its texts are none") from None

    def _damaged(self, why: str) -> BackupUnusable:
        return BackupUnusable(f"the backup {self._path} cannot be read ({why})", remedy=_PROBABLY_DAMAGED)


def _refuse_foreign(path: Path) -> None:
    """Look at the header by hand: SQLite would make files beside a database that is in use."""
    with path.open("rb") as file:
        header = file.read(100)
    if not header.startswith(b"SQLite format 3\0") or header[68:72] != _APPLICATION.to_bytes(4, "big"):
        raise BackupUnusable(f"{path} is no backup of a server", remedy="Name a file that `memfs backup` made")
