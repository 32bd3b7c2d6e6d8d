"""Writes of one SQLite file share commits: all last from the end of their batch on, a failed one takes back its own."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, OperationalError

from memfs.server.store import sqlite
from memfs.server.store.batches import Batches
from memfs.server.store.sqlite import immediate, sqlite_engine

Act = Callable[[Connection], None]


class File:
    """A SQLite file that is written in batches."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.engine = sqlite_engine(path)
        self.batches = Batches(immediate(self.engine))

    def write(self, act: Act) -> None:
        with self.batches.write() as connection:
            act(connection)

    def kept(self) -> list[str]:
        """Return what another process sees."""
        with closing(sqlite3.connect(self.path)) as other:
            return [text for (text,) in other.execute("SELECT text FROM kept ORDER BY text")]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[File]:
    monkeypatch.setattr(sqlite, "_BUSY_S", 0.05)
    path = tmp_path / "file.db"
    with closing(sqlite3.connect(path)) as first:
        first.execute("PRAGMA journal_mode = WAL")
        first.execute("CREATE TABLE kept (text TEXT PRIMARY KEY)")
    found = File(path)
    yield found
    found.engine.dispose()


def keep(text: str) -> Act:
    def act(connection: Connection) -> None:
        connection.exec_driver_sql("INSERT INTO kept VALUES (?)", (text,))

    return act


def fail(connection: Connection) -> None:
    keep("half done")(connection)
    raise LookupError


def lose(connection: Connection) -> None:
    """Fail as a full disk does: SQLite takes back everything, also what those before had written."""
    keep("lost")(connection)
    connection.exec_driver_sql("ROLLBACK")
    raise LookupError


def test_a_write_by_itself_is_committed_at_its_end(file: File) -> None:
    file.write(keep("a"))

    assert ["a"] == file.kept()


def test_writes_of_a_batch_are_committed_at_its_end(file: File) -> None:
    with file.batches.batch():
        file.write(keep("a"))
        file.write(keep("b"))
        before = file.kept()

    assert ([], ["a", "b"]) == (before, file.kept())


@pytest.mark.parametrize(
    "acts", [(fail, keep("a"), keep("b")), (keep("a"), fail, keep("b")), (keep("a"), keep("b"), fail)]
)
def test_a_write_that_fails_takes_back_its_own_part_only(file: File, acts: tuple[Act, ...]) -> None:
    with file.batches.batch():
        for act in acts:
            with suppress(LookupError):
                file.write(act)

    assert ["a", "b"] == file.kept()


def test_a_batch_that_is_lost_says_so_at_its_end(file: File) -> None:
    with pytest.raises(LookupError), file.batches.batch():  # noqa: PT012  (what the block itself raises is caught in it)
        file.write(keep("a"))
        with suppress(LookupError):
            file.write(lose)
        with suppress(LookupError):
            file.write(keep("too late"))

    assert [] == file.kept()
    file.write(keep("c"))
    assert ["c"] == file.kept()


def test_a_commit_that_fails_is_raised_at_the_end(file: File) -> None:
    def defer(connection: Connection) -> None:
        connection.exec_driver_sql("PRAGMA defer_foreign_keys = ON")
        connection.exec_driver_sql("CREATE TABLE below (text TEXT REFERENCES kept)")
        connection.exec_driver_sql("INSERT INTO below VALUES ('nowhere')")

    told: list[str] = []
    with pytest.raises(DBAPIError, match="FOREIGN KEY"), file.batches.batch():  # noqa: PT012  (raised by its end)
        file.write(keep("a"))
        file.write(defer)
        file.batches.once_committed(lambda: told.append("a"))

    assert ([], []) == (told, file.kept())


def test_who_waits_for_the_commit_is_told_after_it(file: File) -> None:
    seen: list[list[str]] = []
    with file.batches.batch():
        file.write(keep("a"))
        file.batches.once_committed(lambda: seen.append(file.kept()))
        before = list(seen)

    assert ([], [["a"]]) == (before, seen)


def test_a_file_in_somebodys_hands_is_waited_for_once(file: File) -> None:
    """The second write of the batch fails with the first, and does not wait as long again."""
    refused: list[OperationalError] = []
    with closing(sqlite3.connect(file.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with file.batches.batch():
            for name in ("a", "b"):
                with pytest.raises(OperationalError, match="locked") as caught:
                    file.write(keep(name))
                refused.append(caught.value)

    assert refused[0] is refused[1]
    file.write(keep("c"))
    assert ["c"] == file.kept()


def test_who_is_alone_within_a_batch_finds_all_committed(file: File) -> None:
    with file.batches.batch():
        file.write(keep("a"))
        with file.batches.alone():
            alone = file.kept()
        file.write(keep("b"))

    assert (["a"], ["a", "b"]) == (alone, file.kept())


def test_who_is_alone_keeps_other_threads_from_writing(file: File) -> None:
    begun = threading.Event()

    def write() -> None:
        begun.set()
        file.write(keep("a"))

    with file.batches.alone():
        other = threading.Thread(target=write)
        other.start()
        assert begun.wait(20)
        during = file.kept()
    other.join(20)

    assert ([], ["a"]) == (during, file.kept())
