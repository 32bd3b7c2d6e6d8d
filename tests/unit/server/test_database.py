"""Transactions: all or nothing, one writer at a time, and an honest answer when the database is busy or foreign."""

import sqlite3
import subprocess
import threading
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlalchemy import delete, func, insert, literal, select, text, update
from sqlalchemy.exc import IntegrityError

from memfs.api.models import View
from memfs.api.requests import CreateStore
from memfs.core.errors import RemoteUnavailable
from memfs.core.limits import Limits
from memfs.core.paths import parse
from memfs.server.store import sqlite as module
from memfs.server.store import tables
from memfs.server.store.callers import Caller
from memfs.server.store.database import Database
from memfs.server.store.opening import open_database
from memfs.server.store.sql import SqlStore, last_moment
from memfs.server.store.stamps import Stamps, microseconds
from memfs.server.store.stores import StoreFilter, Stores
from memfs.server.store.versions import Content

CALLER = Caller(actor="apikey_1", workspace_id="wrkspc_1")
WORKSPACE = {"id": "wrkspc_1", "name": "of the tests", "created_at": 1}
KEY = {
    "id": "apikey_1", "workspace_id": "wrkspc_1", "name": "k", "access": "read_write", "token_sha256": "x",
    "created_at": 1,
}  # fmt: skip


@pytest.fixture(autouse=True)
def workspace(database: Database) -> None:
    with database.write() as connection:
        connection.execute(insert(tables.workspaces), WORKSPACE)


def count(database: Database) -> int:
    with database.read() as connection:
        return connection.scalar(select(func.count()).select_from(tables.api_keys)) or 0


def test_a_write_that_fails_leaves_nothing(database: Database) -> None:
    def write() -> None:
        with database.write() as connection:
            connection.execute(insert(tables.api_keys), KEY)
            raise InterruptedError

    with pytest.raises(InterruptedError):
        write()

    assert count(database) == 0


def test_a_read_sees_one_state_from_begin_to_end(database: Database) -> None:
    with database.read() as reading:
        before = reading.scalar(select(func.count()).select_from(tables.api_keys))
        with database.write() as writing:
            writing.execute(insert(tables.api_keys), KEY)
        after = reading.scalar(select(func.count()).select_from(tables.api_keys))

    assert (before, after, count(database)) == (0, 0, 1)


def test_writers_take_turns(database: Database) -> None:
    """Each reads and then writes: without turns some would overwrite what others wrote in between."""
    with database.write() as connection:
        connection.execute(insert(tables.api_keys), KEY)

    def add() -> None:
        for _ in range(20):
            with database.write() as connection:
                seen = connection.scalar(select(tables.api_keys.c.created_at)) or 0
                connection.execute(update(tables.api_keys).values(created_at=seen + 1))

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    with database.read() as connection:
        assert connection.scalar(select(tables.api_keys.c.created_at)) == 81


def test_a_database_that_others_hold_too_long_is_overloaded(
    database_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_BUSY_S", 0.01)
    with closing(open_database(database_path)) as database, closing(sqlite3.connect(database_path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(RemoteUnavailable) as refused, database.write() as connection:
            connection.execute(select(literal(1)))
        other.rollback()

        assert refused.value.retry_after_s == 1.0
        assert count(database) == 0


def test_a_full_disk_is_said_and_leaves_nothing(database: Database) -> None:
    def fill() -> None:
        with database.write() as connection:
            connection.exec_driver_sql("PRAGMA max_page_count = 1")
            connection.execute(insert(tables.api_keys), KEY | {"token_sha256": "x" * 100_000})

    with pytest.raises(RemoteUnavailable, match="disk is full"):
        fill()

    assert count(database) == 0


def test_an_error_of_the_database_never_shows_a_parameter(database: Database) -> None:
    def twice() -> None:
        with database.write() as connection:
            for _ in range(2):
                connection.execute(insert(tables.api_keys), KEY | {"id": "secret", "token_sha256": "secret"})

    with pytest.raises(IntegrityError) as refused:
        twice()

    assert "secret" not in str(refused.value)


def test_what_is_committed_is_on_the_disk(database: Database) -> None:
    with database.read() as connection:
        settings = [
            connection.scalar(text(f"PRAGMA {name}")) for name in ("journal_mode", "synchronous", "foreign_keys")
        ]

    assert settings == ["wal", 2, 1]


def test_erasing_leaves_nothing_of_what_is_deleted(database: Database, database_path: Path) -> None:
    """Rows that come, grow and go in no order: SQLite's own zeroing leaves some of them between the rows of a page."""
    random = Random(2)
    keys = tables.api_keys
    ids = [f"{random.random()}" for _ in range(2_000)]
    with database.write() as connection:
        for key_id in ids:
            token = f"{key_id} MARKER" * random.randrange(1, 60)
            connection.execute(
                insert(keys), KEY | {"id": key_id, "token_sha256": token, "created_at": random.randrange(7)}
            )
        connection.execute(delete(keys).where(keys.c.created_at.in_([3, 5])))
        random.shuffle(ids)
        for key_id in ids:
            longer = {"id": key_id + " and more" * 5, "token_sha256": key_id}
            connection.execute(update(keys).where(keys.c.id == key_id).values(longer))
    files = [database_path, database_path.with_name("memfs.db-wal")]

    database.erase()

    found = subprocess.run(["grep", "-c", "-a", "MARKER", *files], capture_output=True, text=True, check=False)
    assert found.stdout.splitlines() == [f"{file}:0" for file in files]


def test_the_last_moment_is_that_of_any_store_or_version(database: Database, stamps: Stamps, clock: Any) -> None:
    assert last_moment(database) == 0
    store = SqlStore.on(database, stamps, Limits())
    made = store.stores.create(CALLER, CreateStore(name="n"))
    assert last_moment(database) == microseconds(made.created_at)
    clock.now_s += 1
    memory = store.memories.create(CALLER, made.id, parse("/a"), Content.of(b""), view=View.BASIC)

    assert last_moment(database) == microseconds(memory.created_at)


def test_rows_of_one_moment_are_paged_once_each_by_descending_id(database: Database) -> None:
    """Two processes may write at the same microsecond."""
    row = {"name": "n", "description": "", "metadata": "{}", "created_by": "apikey_1", "memories": 0} | {
        "workspace_id": "wrkspc_1",
        "last_seq": 0,
        "last_at": 7,
        "feed_from": 0,
    }
    with database.write() as connection:
        for name in "bdac":
            connection.execute(
                insert(tables.stores), row | {"id": f"memstore_{name}", "created_at": 7, "updated_at": 7}
            )
    stores = Stores(database, Stamps(lambda: 8))
    found, page = [], None
    while True:
        shown = stores.list(CALLER, StoreFilter(), limit=1, page=page)
        found += [one.id[-1] for one in shown.data]
        if (page := shown.next_page) is None:
            break

    assert found == ["d", "c", "b", "a"]


@pytest.mark.parametrize(
    ("query", "index"),
    [
        ("SELECT * FROM memories WHERE store_id='s' AND path>='/' AND path<'0' ORDER BY path", "memories_by_path"),
        (
            "SELECT * FROM stores WHERE workspace_id='w' AND created_at<2 ORDER BY created_at DESC, id DESC",
            "stores_newest",
        ),
        (
            "SELECT * FROM versions WHERE store_id='s' AND created_at<2 ORDER BY created_at DESC, id DESC",
            "versions_newest",
        ),
        (
            "SELECT * FROM versions WHERE store_id='s' AND memory_id='m' ORDER BY created_at DESC, id DESC",
            "versions_of_memory",
        ),
        (
            "SELECT * FROM versions WHERE store_id='s' AND created_by='a' ORDER BY created_at DESC, id DESC",
            "versions_by_actor",
        ),
    ],
)
def test_a_listing_goes_by_its_index_and_sorts_nothing(database: Database, query: str, index: str) -> None:
    with database.read() as connection:
        plan = " ".join(row.detail for row in connection.execute(text(f"EXPLAIN QUERY PLAN {query}")))

    assert index in plan
    assert "TEMP B-TREE" not in plan
