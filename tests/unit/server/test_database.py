"""Transactions: all or nothing, one writer at a time, and an honest answer when the database is busy or foreign."""

import sqlite3
import subprocess
import threading
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from postgres import Cluster
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


SECRET = "a word of nobody else's"


@pytest.fixture
def database(database: Database) -> Database:
    """One of SQLite, with a workspace."""
    return with_workspace(database)


@pytest.fixture(params=["sqlite", "postgresql"])
def either(request: pytest.FixtureRequest) -> Iterator[Database]:
    """The same of either engine."""
    if request.param == "sqlite":
        yield request.getfixturevalue("database")
        return
    with closing(open_database(request.getfixturevalue("postgres").new_database())) as opened:
        yield with_workspace(opened)


def with_workspace(database: Database) -> Database:
    with database.write() as connection:
        connection.execute(insert(tables.workspaces), WORKSPACE)
    return database


def count(database: Database) -> int:
    with database.read() as connection:
        return connection.scalar(select(func.count()).select_from(tables.api_keys)) or 0


def test_a_write_that_fails_leaves_nothing(either: Database) -> None:
    def write() -> None:
        with either.write() as connection:
            connection.execute(insert(tables.api_keys), KEY)
            raise InterruptedError

    with pytest.raises(InterruptedError):
        write()

    assert count(either) == 0


def test_a_read_sees_one_state_from_begin_to_end(either: Database) -> None:
    with either.read() as reading:
        before = reading.scalar(select(func.count()).select_from(tables.api_keys))
        with either.write() as writing:
            writing.execute(insert(tables.api_keys), KEY)
        after = reading.scalar(select(func.count()).select_from(tables.api_keys))

    assert (before, after, count(either)) == (0, 0, 1)


def test_writers_of_a_store_take_turns(either: Database, stamps: Stamps) -> None:
    """Each reads and then writes: without turns some would overwrite what others wrote in between."""
    store = SqlStore.on(either, stamps, Limits())
    made = store.stores.create(CALLER, CreateStore(name="n"))

    def add(number: int) -> None:
        for each in range(10):
            path = parse(f"/{number}/{each}")
            store.memories.create(CALLER, made.id, path, Content.of(b""), view=View.BASIC)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(4)))

    with either.read() as connection:
        row = connection.execute(select(tables.stores)).one()
        changes = connection.execute(select(tables.changes).order_by(tables.changes.c.seq)).all()
    assert (row.memories, row.last_seq) == (40, 40)
    assert [change.seq for change in changes] == list(range(1, 41))
    assert sorted({change.created_at for change in changes}) == [change.created_at for change in changes]


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


def test_an_error_of_the_database_never_shows_a_parameter(either: Database) -> None:
    def twice() -> None:
        with either.write() as connection:
            for _ in range(2):
                connection.execute(insert(tables.api_keys), KEY | {"id": SECRET, "token_sha256": SECRET})

    with pytest.raises(IntegrityError) as refused:
        twice()

    assert SECRET not in "".join(traceback.format_exception(refused.value))
    assert "api_keys" in str(refused.value)


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


def test_those_who_wait_for_an_erasure_share_the_next_one(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one under way began before they asked: it may have missed what they want erased."""
    first_runs, others_wait = threading.Event(), threading.Event()
    erasures: list[int] = []

    def erase(_is_patient: bool) -> None:
        erasures.append(1)
        first_runs.set()
        assert others_wait.wait(10)

    monkeypatch.setattr(database, "_ways", replace(database._ways, erase=erase))
    with ThreadPoolExecutor(8) as pool:
        calls = [pool.submit(database.erase)]
        assert first_runs.wait(10)
        calls += [pool.submit(database.erase) for _ in range(7)]
        while database._wanted < 8:
            first_runs.wait(0.001)
        others_wait.set()
        for call in calls:
            call.result(10)

    assert len(erasures) == 2


def test_nothing_of_a_deleted_store_is_left_in_the_files(
    database: Database, database_path: Path, stamps: Stamps
) -> None:
    store = SqlStore.on(database, stamps, Limits())
    kept, gone = (store.stores.create(CALLER, CreateStore(name=name)).id for name in ("KEPT", "MARKER"))
    for number in range(50):
        for store_id, word in ((kept, "KEPT"), (gone, "MARKER")):
            path, content = parse(f"/{word}/{number}"), Content.of(f"{word} ".encode() * 50 * number)
            store.memories.create(CALLER, store_id, path, content, view=View.BASIC)
    files = [database_path, database_path.with_name("memfs.db-wal")]

    store.stores.delete(CALLER, gone)

    found = {
        word: subprocess.run(["grep", "-q", "-a", word, *files], check=False).returncode for word in ("KEPT", "MARKER")
    }
    assert found == {"KEPT": 0, "MARKER": 1}


def test_the_last_moment_is_that_of_any_store_or_version(either: Database, stamps: Stamps, clock: Any) -> None:
    assert last_moment(either) == 0
    store = SqlStore.on(either, stamps, Limits())
    made = store.stores.create(CALLER, CreateStore(name="n"))
    assert last_moment(either) == microseconds(made.created_at)
    clock.now_s += 1
    memory = store.memories.create(CALLER, made.id, parse("/a"), Content.of(b""), view=View.BASIC)

    assert last_moment(either) == microseconds(memory.created_at)


def test_rows_of_one_moment_are_paged_once_each_by_descending_id(either: Database) -> None:
    """Two processes may write at the same microsecond."""
    row = {"name": "n", "description": "", "metadata": "{}", "created_by": "apikey_1", "memories": 0} | {
        "workspace_id": "wrkspc_1",
        "last_seq": 0,
        "last_at": 7,
        "feed_from": 0,
    }
    with either.write() as connection:
        for name in "bdac":
            connection.execute(
                insert(tables.stores), row | {"id": f"memstore_{name}", "created_at": 7, "updated_at": 7}
            )
    stores = Stores(either, Stamps(lambda: 8))
    found, page = [], None
    while True:
        shown = stores.list(CALLER, StoreFilter(), limit=1, page=page)
        found += [one.id[-1] for one in shown.data]
        if (page := shown.next_page) is None:
            break

    assert found == ["d", "c", "b", "a"]


MANY = """
INSERT INTO workspaces SELECT n, n, 1 FROM generate_series(1, 9) AS n;
INSERT INTO stores (id, workspace_id, name, description, metadata, created_at, created_by, updated_at, memories,
    last_seq, last_at, feed_from)
SELECT n, n % 9 + 1, '', '', '', n, '', n, 0, 0, 0, 0 FROM generate_series(1, 2000) AS n;
INSERT INTO memories SELECT n, n % 9 + 1, '/' || n, '', '', 0, n, n FROM generate_series(1, 5000) AS n;
INSERT INTO versions (id, store_id, memory_id, operation, created_at, created_by)
SELECT n, 1, n % 99, '', n, n % 97 FROM generate_series(1, 9000) AS n;
ANALYZE
"""
"""Rows for PostgreSQL, which goes by an index only where that is worth it."""
BY_INDEX = pytest.mark.parametrize(
    ("query", "index"),
    [
        ("SELECT * FROM memories WHERE store_id='1' AND path>='/' AND path<'0' ORDER BY path", "memories_by_path"),
        (
            "SELECT * FROM stores WHERE workspace_id='1' AND created_at<500 ORDER BY created_at DESC, id DESC",
            "stores_newest",
        ),
        (
            "SELECT * FROM versions WHERE store_id='1' AND created_at<500 ORDER BY created_at DESC, id DESC",
            "versions_newest",
        ),
        (
            "SELECT * FROM versions WHERE store_id='1' AND memory_id='1' ORDER BY created_at DESC, id DESC",
            "versions_of_memory",
        ),
        (
            "SELECT * FROM versions WHERE store_id='1' AND created_by='1' ORDER BY created_at DESC, id DESC",
            "versions_by_actor",
        ),
    ],
)


@BY_INDEX
def test_a_listing_goes_by_its_index_and_sorts_nothing(database: Database, query: str, index: str) -> None:
    with database.read() as connection:
        plan = " ".join(row.detail for row in connection.execute(text(f"EXPLAIN QUERY PLAN {query}")))

    assert index in plan
    assert "TEMP B-TREE" not in plan


@BY_INDEX
def test_a_listing_goes_by_its_index_and_sorts_nothing_on_postgresql(postgres: Cluster, query: str, index: str) -> None:
    """Among enough rows that it matters."""
    with closing(open_database(postgres.new_database())) as database, database.write() as connection:
        for statement in MANY.split(";"):
            connection.execute(text(statement))
        plan = " ".join(row[0] for row in connection.execute(text(f"EXPLAIN {query} LIMIT 5")))

    assert f"using {index}" in plan
    assert "Sort" not in plan
    assert "Filter" not in plan
