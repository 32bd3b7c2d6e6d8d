"""Writes of one SQLite file share commits: each lasts once it is answered, and a failed one takes back its own only."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from running_up import eventually
from sqlalchemy import Connection

from memfs.server.store.shared_commits import SharedCommits
from memfs.server.store.sqlite import immediate, sqlite_engine


class Writers:
    """Writers that all wait until the first of them is let go, so that they share one commit."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.engine = sqlite_engine(path)
        self.commits = SharedCommits(immediate(self.engine))
        self.pool = ThreadPoolExecutor(8)
        self.gate, self.first_writes = threading.Event(), threading.Event()

    def write(self, act: Callable[[Connection], None]) -> None:
        with self.commits.write() as connection:
            act(connection)

    def together(self, *acts: Callable[[Connection], None]) -> list[Future[None]]:
        """Start all; the first goes first."""

        def first(connection: Connection) -> None:
            acts[0](connection)
            self.first_writes.set()
            self.gate.wait(20)

        started = [self.pool.submit(self.write, first)]
        assert self.first_writes.wait(20)
        started += [self.pool.submit(self.write, act) for act in acts[1:]]
        eventually(lambda: self.commits._waiting == len(acts) - 1)
        return started

    def kept(self) -> list[str]:
        """Return what another process sees."""
        with closing(sqlite3.connect(self.path)) as other:
            return [text for (text,) in other.execute("SELECT text FROM kept ORDER BY text")]


@pytest.fixture
def writers(tmp_path: Path) -> Iterator[Writers]:
    path = tmp_path / "file.db"
    with closing(sqlite3.connect(path)) as first:
        first.execute("PRAGMA journal_mode = WAL")
        first.execute("CREATE TABLE kept (text TEXT PRIMARY KEY)")
    found = Writers(path)
    yield found
    found.gate.set()
    found.pool.shutdown()
    found.engine.dispose()


def keep(text: str) -> Callable[[Connection], None]:
    def act(connection: Connection) -> None:
        connection.exec_driver_sql("INSERT INTO kept VALUES (?)", (text,))

    return act


def test_those_who_wait_are_answered_after_one_commit_of_all(writers: Writers) -> None:
    started = writers.together(keep("a"), keep("b"), keep("c"))
    before = writers.kept()

    writers.gate.set()
    for one in started:
        one.result(20)

    assert [] == before
    assert ["a", "b", "c"] == writers.kept()


def test_a_write_that_fails_takes_back_its_own_part_only(writers: Writers) -> None:
    def fail(connection: Connection) -> None:
        keep("half done")(connection)
        raise LookupError

    started = writers.together(keep("a"), fail, keep("b"))
    writers.gate.set()

    assert type(started[1].exception(20)) is LookupError
    assert [None, None] == [started[0].exception(20), started[2].exception(20)]
    assert ["a", "b"] == writers.kept()


def test_who_shares_a_transaction_that_is_lost_is_told(writers: Writers) -> None:
    """As a full disk does: SQLite takes back everything, also what those before had written."""

    def lose(connection: Connection) -> None:
        keep("b")(connection)
        connection.exec_driver_sql("ROLLBACK")
        raise LookupError

    started = writers.together(keep("a"), lose)
    writers.gate.set()

    assert [LookupError] * 2 == [type(one.exception(20)) for one in started]
    assert [] == writers.kept()
    writers.write(keep("c"))
    assert ["c"] == writers.kept()


def test_a_commit_that_fails_is_told_to_all(writers: Writers) -> None:
    def defer(connection: Connection) -> None:
        connection.exec_driver_sql("PRAGMA defer_foreign_keys = ON")
        connection.exec_driver_sql("CREATE TABLE below (text TEXT REFERENCES kept)")
        connection.exec_driver_sql("INSERT INTO below VALUES ('nowhere')")

    started = writers.together(keep("a"), defer)
    writers.gate.set()

    failures = [str(one.exception(20)) for one in started]
    assert all("FOREIGN KEY" in failure for failure in failures)
    assert [] == writers.kept()


def test_who_is_alone_finds_all_committed(writers: Writers) -> None:
    def alone() -> list[str]:
        with writers.commits.alone():
            return writers.kept()

    started = writers.together(keep("a"), keep("b"))
    seen = writers.pool.submit(alone)
    writers.gate.set()

    assert "a" in seen.result(20)
    for one in started:
        one.result(20)
    assert ["a", "b"] == writers.kept()
