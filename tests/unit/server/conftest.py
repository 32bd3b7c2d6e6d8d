"""A database of each test's own, and clocks that a test turns by hand."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memfs.server.store.database import Database
from memfs.server.store.opening import open_database
from memfs.server.store.stamps import Stamps


class HandClock:
    """A clock in seconds that only a test moves."""

    def __init__(self) -> None:
        self.now_s = 1_000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def stamps(clock: HandClock) -> Stamps:
    return Stamps(lambda: int(clock.now_s * 1_000_000))


@pytest.fixture
def database_path(tmp_path: Path) -> Path:
    return tmp_path / "memfs.db"


@pytest.fixture
def database(database_path: Path) -> Iterator[Database]:
    opened = open_database(database_path)
    yield opened
    opened.close()
