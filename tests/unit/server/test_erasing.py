"""What is owed to a deletion: written down with it, settled by whoever erases, never settled too early."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memfs.server.store import erasing
from memfs.server.store.database import Database
from memfs.server.store.opening import open_database


@pytest.fixture
def other(database: Database, database_path: Path) -> Iterator[Database]:
    """The same file as another process has it."""
    assert not is_owed(database)
    with closing(open_database(database_path)) as opened:
        yield opened


def owe(database: Database) -> None:
    with database.write() as connection:
        erasing.owe(connection)


def is_owed(database: Database) -> bool:
    with database.read() as connection:
        return erasing.is_owed(connection)


def test_a_new_database_owes_nothing_and_settles_nothing(database: Database) -> None:
    assert not is_owed(database)
    assert not database.settle()


def test_what_a_deletion_owes_is_known_to_every_process_and_settled_by_any(database: Database, other: Database) -> None:
    owe(database)
    owe(database)
    assert (is_owed(database), is_owed(other)) == (True, True)

    assert other.settle()

    assert (is_owed(database), is_owed(other)) == (False, False)
    assert not database.settle()


def test_a_deletion_that_is_rolled_back_owes_nothing(database: Database) -> None:
    def fail() -> None:
        with database.write() as connection:
            erasing.owe(connection)
            raise InterruptedError

    with pytest.raises(InterruptedError):
        fail()

    assert not is_owed(database)


@pytest.mark.parametrize("meanwhile", [1, 2])
def test_an_erasure_does_not_settle_what_was_deleted_since_it_began(
    database: Database, other: Database, meanwhile: int
) -> None:
    owe(database)
    with database.engine.execution_options(memfs_begin="").connect() as connection:
        mark = erasing.seen(connection)
        for _ in range(meanwhile):
            owe(other)
            if meanwhile == 2:
                other.erase()

        erasing.settle(connection, mark)

    assert is_owed(database) is (meanwhile == 1)


def test_the_number_begins_anew_after_its_last_one(database: Database) -> None:
    with database.engine.execution_options(memfs_begin="").connect() as connection:
        connection.exec_driver_sql(f"PRAGMA user_version = {2**31 - 2}")
    assert not is_owed(database)

    owe(database)

    assert is_owed(database)
    assert database.settle()
    assert not is_owed(database)
    owe(database)
    assert is_owed(database)
