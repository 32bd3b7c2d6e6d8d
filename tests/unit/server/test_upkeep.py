"""The task that prunes and erases what is owed: at once, each period, past failures, and gone promptly when stopped."""

import logging
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from running_up import eventually

from memfs.core.errors import RemoteUnavailable
from memfs.server import upkeep as module
from memfs.server.store import erasing
from memfs.server.store.database import Database
from memfs.server.store.retention import Retention
from memfs.server.upkeep import Upkeep


def upkeep(database: Database, period_s: float = 0.001) -> Upkeep:
    return Upkeep(database=database, rule=Retention(), prune_every_s=period_s, clock_us=lambda: 1_000_000)


def has_ended(running: Upkeep) -> bool:
    return running._thread is not None and not running._thread.is_alive()


def test_it_prunes_at_once_and_again(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[int] = []
    thrice = threading.Event()

    def prune(_database: Database, _rule: Retention, now_us: int, **_options: Any) -> list[Any]:
        runs.append(now_us)
        if len(runs) == 3:
            thrice.set()
        return []

    monkeypatch.setattr(module, "prune", prune)
    running = upkeep(database)
    running.start()
    assert thrice.wait(10)
    running.stop()

    assert set(runs) == {1_000_000}
    assert has_ended(running)


@pytest.mark.expect_log("versions were not pruned")
@pytest.mark.parametrize("error", [RemoteUnavailable("the database is busy"), RuntimeError("a bug")])
def test_a_failing_run_is_told_once_and_the_next_one_tries_again(
    database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    answers: list[Exception | None] = [error, None]
    again = threading.Event()

    def prune(*_arguments: Any, **_options: Any) -> list[Any]:
        if answers and (failure := answers.pop(0)):
            raise failure
        again.set()
        return []

    monkeypatch.setattr(module, "prune", prune)
    running = upkeep(database)
    running.start()
    assert again.wait(10)
    running.stop()

    assert len([record for record in caplog.records if record.levelno >= logging.WARNING]) == 1


def test_a_stop_ends_a_run_in_the_middle(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Event()

    def prune(*_arguments: Any, is_stopped: Any) -> list[Any]:
        begun.set()
        while not is_stopped():
            pass
        return []

    monkeypatch.setattr(module, "prune", prune)
    running = upkeep(database, period_s=1e6)
    running.start()
    assert begun.wait(10)
    running.stop()

    assert has_ended(running)


def test_one_that_never_began_may_be_stopped(database: Database) -> None:
    upkeep(database).stop()


@pytest.mark.expect_log("may not be erased yet")
def test_what_is_owed_is_erased_once_readers_are_gone_and_the_trouble_told_once(
    database: Database, database_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Without making a writer wait meanwhile, whose turn it would need."""
    caplog.set_level(logging.INFO)
    with database.write() as connection:
        erasing.owe(connection)
    running = Upkeep(
        database=database, rule=Retention(), prune_every_s=None, clock_us=lambda: 1_000_000, settle_every_s=0.001
    )
    looks: list[bool] = []

    def owed() -> bool:
        with database.read() as connection:
            return erasing.is_owed(connection)

    with closing(sqlite3.connect(database_path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM versions").fetchone()
        running.start()
        eventually(lambda: "may not be erased yet" in caplog.text)
        for _ in range(20):
            with database.write():
                looks.append(owed())
        reader.execute("ROLLBACK")
    eventually(lambda: not owed())
    running.stop()

    assert looks == [True] * 20
    assert caplog.text.count("may not be erased yet") == 1
    assert caplog.text.count("erased the bytes of what was deleted before") == 1
