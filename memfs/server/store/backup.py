"""Back a whole database up into one file while servers use it, and restore such a file into an empty database.

Used by ``memfs backup`` and ``memfs restore``. Either engine on either side, so that it also moves stores from one to
the other. Both are all or nothing: a file has its name only when it is whole and on the disk, and a restore is one
transaction. One thread each.
"""

import errno
import fcntl
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, Table, delete, func, insert, select
from sqlalchemy.exc import DataError, IntegrityError

from memfs.core.errors import AlreadyHeld, BackupUnusable, Conflicted, StateUnavailable, UsageError
from memfs.server.store import tables
from memfs.server.store.backup_file import AT_ONCE, Digest, Reader, Writer
from memfs.server.store.database import Database

_ALL = tables.METADATA.sorted_tables
"""In an order in which every row finds what it refers to."""
_IN_EVERY_DATABASE = {tables.server.name, tables.workspaces.name}

_REMEDIES = {
    errno.ENOENT: "Check its name, and make the directory that it is in",
    errno.ENOTDIR: "Check its name: something on the way is no directory",
    errno.EISDIR: "Name a file, not a directory",
    errno.EACCES: "Choose a file and a directory that this user may use",
    errno.EPERM: "Choose a file and a directory that this user may use",
    errno.EROFS: "Choose a directory that can be written",
    errno.ENOSPC: "Free space, or choose another directory",
    errno.EDQUOT: "Free space, or choose another directory",
}

Watch = Callable[[int, int], None]
"""Called with the rows done and the rows there are, now and then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """What a backup holds, or what was restored from it."""

    stores: int
    memories: int
    versions: int
    rows: int
    """Of every table."""

    @classmethod
    def of(cls, counts: dict[str, int]) -> "Copied":
        """Return what the numbers of rows by table come to."""
        return cls(
            stores=counts["stores"],
            memories=counts["memories"],
            versions=counts["versions"],
            rows=sum(counts.values()),
        )


def back_up(
    database: Database, file: Path, *, overwrite: bool = False, watch: Watch = lambda _done, _all: None
) -> Copied:
    """Write all rows as they are at one moment to ``file``, mode 0600. Servers go on reading and writing meanwhile.

    It is made as ``file.part`` beside it, which a killed backup leaves and the next one replaces.

    Raises:
        Conflicted: The file is there, and is not to be overwritten.
        UsageError: It is the database.
        AlreadyHeld: Another backup writes it just now.
        StateUnavailable: It cannot be written, for instance on a full disk.
        RemoteUnavailable: The database cannot be read.
    """
    _refuse_existing(file, overwrite=overwrite)
    if database.is_sqlite and file.exists() and file.samefile(str(database.engine.url.database)):
        raise UsageError(f"{file} is the database itself", remedy="Choose another name")
    with _told_of_this_host(file, "written"):
        with _part(file) as part:
            with Writer(part) as writer, database.read() as connection:
                copied = _write(connection, writer, watch)
            _fsync(part)
            _refuse_existing(file, overwrite=overwrite)
            part.replace(file)
        _fsync(file.parent)
    return copied


def check(file: Path) -> None:
    """Check that a file is a backup that this release can restore, as far as its first page tells.

    Raises:
        BackupUnusable: It is none.
        StateUnavailable: It cannot be read.
    """
    with _told_of_this_host(file, "read"), Reader(file):
        pass


def restore(file: Path, database: Database, *, watch: Watch = lambda _done, _all: None) -> Copied:
    """Copy a backup into an empty database, which is then another database to whoever follows its change feed.

    API keys and sessions work as before. Killed in the middle, it leaves the database empty.

    Raises:
        BackupUnusable: The file is no backup, is damaged, or is another release's; the database stays empty.
        Conflicted: The database is not empty.
        RemoteUnavailable: The database cannot be written, for instance on a full disk.
        StateUnavailable: The file cannot be read.
    """
    counts: dict[str, int] = {}
    try:
        with _told_of_this_host(file, "read"), Reader(file) as reader, database.write() as connection:
            _empty(connection)
            for table in _ALL:
                counts[table.name] = 0
                for rows in reader.read(table):
                    names = table.columns.keys()
                    connection.execute(insert(table), [dict(zip(names, row, strict=True)) for row in rows])
                    counts[table.name] += len(rows)
                    watch(sum(counts.values()), reader.rows())
            connection.execute(tables.server.update().values(epoch=secrets.token_hex(8)))
    except DataError:
        raise BackupUnusable(
            f"the backup {file} holds a text that this database cannot take", remedy="Restore it into SQLite"
        ) from None
    except IntegrityError:
        raise Conflicted(
            "the database was changed meanwhile", remedy="Stop every server on it, and restore again"
        ) from None
    return Copied.of(counts)


def _write(connection: Connection, writer: Writer, watch: Watch) -> Copied:
    expected = {table.name: connection.scalar(select(func.count()).select_from(table)) or 0 for table in _ALL}
    done = 0
    for table in _ALL:
        digest = Digest()
        found = connection.execution_options(yield_per=AT_ONCE).execute(select(table))
        for portion in found.partitions():
            rows = [tuple(row) for row in portion]
            digest.add(rows)
            writer.add(table, rows)
            done += len(rows)
            watch(done, sum(expected.values()))
        writer.close_table(table, digest)
        _check_count(table, expected[table.name], digest.rows)
    writer.finish()
    return Copied.of(expected)


def _check_count(table: Table, expected: int, found: int) -> None:
    if expected != found:
        raise AssertionError(f"{expected} rows of {table.name} were read as {found}")


def _empty(connection: Connection) -> None:
    """Remove what every new database has, where there is nothing else."""
    for table in _ALL:
        most = 1 if table.name in _IN_EVERY_DATABASE else 0
        if len(connection.execute(select(*table.primary_key.columns).limit(most + 1)).all()) > most:
            raise Conflicted(
                f"the database is not empty: it has {table.name.replace('_', ' ')}",
                remedy="Restore into one on which no server was started yet: another --data DIR or --database URL",
            )
    for name in _IN_EVERY_DATABASE:
        connection.execute(delete(tables.METADATA.tables[name]))


def _refuse_existing(file: Path, *, overwrite: bool) -> None:
    is_ordinary = file.is_file() and not file.is_symlink()
    if is_ordinary and not overwrite:
        raise Conflicted(f"{file} is there already", remedy="Choose another name, or add --force")
    if not is_ordinary and (file.is_symlink() or file.exists()):
        raise Conflicted(f"{file} is there already, and no file", remedy="Choose another name")


@contextmanager
def _told_of_this_host(file: Path, what: str) -> Iterator[None]:
    """Say what this host refuses to do with the file, and what helps."""
    try:
        yield
    except OSError as error:
        raise StateUnavailable(
            f"the backup {file} cannot be {what} ({error.strerror})",
            remedy=_REMEDIES.get(error.errno or 0, "Choose another FILE"),
        ) from None


@contextmanager
def _part(file: Path) -> Iterator[Path]:
    """Hold an empty ``file.part``, which is gone at the end unless it was renamed."""
    part = file.with_name(f"{file.name}.part")
    descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AlreadyHeld(f"another backup writes {part} just now", remedy="Wait for it") from None
        held = os.fstat(descriptor)
        if not part.exists() or not os.path.samestat(held, part.stat()):
            raise AlreadyHeld(f"another backup has just written {file}", remedy="Repeat it with another name")
        os.fchmod(descriptor, 0o600)
        os.ftruncate(descriptor, 0)
        try:
            yield part
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    finally:
        os.close(descriptor)


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
