"""The task that prunes: at once and each period, past failures, and gone promptly when it is stopped."""

import logging
import threading
from typing import Any

import pytest

from memfs.core.errors import RemoteUnavailable
from memfs.server import upkeep as module
from memfs.server.store.database import Database
from memfs.server.store.retention import Retention
from memfs.server.upkeep import Upkeep


def upkeep(database: Database, period_s: float = 0.001) -> Upkeep:
    return Upkeep(database=database, rule=Retention(), period_s=period_s, clock_us=lambda: 1_000_000)


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
    assert "upkeep" not in {thread.name for thread in threading.enumerate()}


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

    assert "upkeep" not in {thread.name for thread in threading.enumerate()}


def test_one_that_never_began_may_be_stopped(database: Database) -> None:
    upkeep(database).stop()
