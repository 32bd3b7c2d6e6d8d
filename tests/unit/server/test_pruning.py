"""Pruning: exactly what the rule lets go, in short turns, together with writers, another pruner and a kill."""

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from memfs.api.models import Memory, View
from memfs.api.requests import CreateStore
from memfs.core.errors import NotFound, UsageError
from memfs.core.limits import Limits
from memfs.core.paths import parse
from memfs.server.store import pruning, tables
from memfs.server.store.callers import Caller
from memfs.server.store.database import Database
from memfs.server.store.memories import MemoryChange
from memfs.server.store.opening import open_database
from memfs.server.store.pruning import Pruned, planned, prune
from memfs.server.store.retention import Retention
from memfs.server.store.sql import SqlStore
from memfs.server.store.stamps import Stamps
from memfs.server.store.versions import Content, VersionFilter

DAY_S = 86_400
RULE = Retention()


class History:
    """A store whose versions a test writes at the times it wants."""

    def __init__(self, database: Database, clock: Any) -> None:
        self.database = database
        self.clock = clock
        self.store = SqlStore.on(database, Stamps(self.now_us), Limits())
        with database.read() as connection:
            self.caller = Caller(actor="apikey_1", workspace_id=connection.scalar(select(tables.workspaces.c.id)) or "")
        self.id = self.make("notes")

    def now_us(self) -> int:
        return int(self.clock.now_s * 1_000_000)

    def make(self, name: str) -> str:
        return self.store.stores.create(self.caller, CreateStore(name=name)).id

    def write(self, path: str, contents: list[str], store_id: str | None = None) -> Memory:
        """Make a memory and change it once for each further content."""
        place, first, *rest = store_id or self.id, *contents
        content = Content.of(first.encode())
        made = self.store.memories.create(self.caller, place, parse(path), content, view=View.FULL)
        for text in rest:
            made = self.change(made, text, place)
        return made

    def change(self, memory: Memory, text: str, store_id: str | None = None) -> Memory:
        change = MemoryChange(content=Content.of(text.encode()))
        return self.store.memories.update(self.caller, store_id or self.id, memory.id, change, view=View.FULL)

    def delete(self, memory: Memory) -> None:
        self.store.memories.delete(self.caller, self.id, memory.id, expect_sha256=None)

    def days(self, days: int) -> None:
        self.clock.now_s += days * DAY_S

    def contents(self, memory: Memory) -> list[str | None]:
        """Return what the versions of a memory hold, newest first."""
        found = self.store.versions.list(
            self.caller, self.id, VersionFilter(memory_id=memory.id), view=View.FULL, limit=1_000, page=None
        )
        return [version.content for version in found.data]

    def prune(self, **options: Any) -> list[Pruned]:
        return prune(self.database, RULE, self.now_us(), **options)

    def feed(self) -> tuple[int, int, list[int]]:
        """Return feed_from, last_seq and the places of the rows of the feed."""
        with self.database.read() as connection:
            store = connection.execute(select(tables.stores).where(tables.stores.c.id == self.id)).one()
            seqs = select(tables.changes.c.seq).where(tables.changes.c.store_id == self.id).order_by("seq")
            return store.feed_from, store.last_seq, list(connection.scalars(seqs))


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, database_path: Path) -> Iterator[Database]:
    """One of each engine: every test here holds on both."""
    where = database_path if request.param == "sqlite" else request.getfixturevalue("postgres").new_database()
    with closing(open_database(where)) as opened:
        yield opened


@pytest.fixture
def history(database: Database, clock: Any) -> History:
    return History(database, clock)


def texts(first: int, last: int) -> list[str]:
    return [f"{number:04}" for number in range(first, last + 1)]


def test_a_living_memory_keeps_its_newest_ten_however_old(history: History) -> None:
    memory = history.write("/a", texts(1, 25))
    history.days(31)

    assert history.prune() == [Pruned(store_id=history.id, name="notes", versions=15, bytes=60, changes=25)]
    assert history.contents(memory) == texts(16, 25)[::-1]
    assert history.prune() == [Pruned(store_id=history.id, name="notes")]


def test_what_is_young_stays_however_much_it_is(history: History) -> None:
    memory = history.write("/a", texts(1, 20))
    history.days(29)
    history.change(memory, "0021")
    history.days(2)
    for text in texts(22, 36):
        history.change(memory, text)
    history.prune()

    assert history.contents(memory) == texts(21, 36)[::-1]


def test_a_deleted_memory_can_be_brought_back_for_the_whole_window_after_its_deletion(history: History) -> None:
    memory = history.write("/a", texts(1, 15))
    history.days(400)
    history.delete(memory)
    history.days(29)
    history.prune()

    assert history.contents(memory) == [None, *texts(1, 15)[::-1]]
    history.days(2)
    assert [pruned.versions for pruned in history.prune()] == [16]
    assert history.contents(memory) == []


def test_a_redacted_version_counts_like_another(history: History) -> None:
    memory = history.write("/a", texts(1, 12))
    listed = history.store.versions.list(
        history.caller, history.id, VersionFilter(), view=View.BASIC, limit=12, page=None
    )
    for version in (listed.data[4], listed.data[-1]):
        history.store.versions.redact(history.caller, history.id, version.id)
    history.days(31)

    assert [(pruned.versions, pruned.bytes) for pruned in history.prune()] == [(2, 4)]
    assert history.contents(memory) == [None if text == "0008" else text for text in texts(3, 12)[::-1]]


def test_a_plan_says_what_a_prune_does_and_changes_nothing(history: History) -> None:
    history.write("/a", texts(1, 250))
    history.delete(history.write("/b", ["gone"]))
    history.write("/a", texts(1, 12), history.make("other"))
    history.days(31)
    before = history.feed()

    foreseen = planned(history.database, RULE, history.now_us())

    assert [(store.name, store.versions, store.changes) for store in foreseen] == [
        ("notes", 242, 252),
        ("other", 2, 12),
    ]
    assert history.feed() == before
    assert history.prune() == foreseen


def test_the_feed_begins_after_the_changes_that_went(history: History) -> None:
    memory = history.write("/a", texts(1, 5))
    history.days(31)
    history.change(memory, "new")
    history.prune()

    assert history.feed() == (5, 6, [6])
    history.days(31)
    history.prune()
    assert history.feed() == (6, 6, [])
    history.change(memory, "newer")
    assert history.feed() == (6, 7, [7])


def test_one_store_is_pruned_by_id_or_name_and_no_other(history: History) -> None:
    history.write("/a", texts(1, 12))
    other = history.make("other")
    history.write("/a", texts(1, 12), other)
    history.make("twice")
    history.make("twice")
    history.days(31)

    assert [store.name for store in history.prune(only="other")] == ["other"]
    assert [store.versions for store in planned(history.database, RULE, history.now_us())] == [2, 0, 0, 0]
    assert [store.versions for store in history.prune(only=history.id)] == [2]
    with pytest.raises(NotFound, match="no memory store missing"):
        history.prune(only="missing")
    with pytest.raises(UsageError, match="several"):
        history.prune(only="twice")


def test_a_memory_deleted_between_look_and_removal_keeps_its_history(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = history.write("/a", texts(1, 20))
    history.days(31)

    @contextmanager
    def write_after_a_deletion() -> Any:
        monkeypatch.undo()
        history.delete(memory)
        with history.database.write() as connection:
            yield connection

    monkeypatch.setattr(history.database, "write", write_after_a_deletion)
    assert [pruned.versions for pruned in history.prune()] == [0]
    assert history.contents(memory) == [None, *texts(1, 20)[::-1]]


def test_two_pruners_and_a_writer_at_once_leave_what_one_would(history: History) -> None:
    memories = [history.write(f"/{name}", texts(1, 60)) for name in "abcd"]
    gone = history.write("/gone", texts(1, 150))
    history.delete(gone)
    history.days(31)
    done: list[list[Pruned]] = []

    def write() -> None:
        for number in range(40):
            history.change(memories[0], f"new {number}")

    threads = [threading.Thread(target=lambda: done.append(history.prune())) for _ in range(2)]
    threads.append(threading.Thread(target=write))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    # What the writer made meanwhile may have let up to ten of the old ones go.
    assert sum(store.versions for run in done for store in run) in range(351, 362)
    history.prune()
    assert [len(history.contents(memory)) for memory in memories] == [40, 10, 10, 10]
    assert history.contents(gone) == []
    with history.database.read() as connection:
        heads = select(func.count()).select_from(
            tables.memories.join(tables.versions, tables.memories.c.version_id == tables.versions.c.id)
        )
        assert connection.scalar(heads) == 4


def test_a_stopped_prune_leaves_the_rest_for_the_next(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stops between two turns; of a deleted memory the deletion goes last."""
    monkeypatch.setattr(pruning, "_AT_ONCE", 5)
    memory = history.write("/a", texts(1, 12))
    history.delete(memory)
    history.days(31)
    answers = iter([False, False, False, True])

    assert [pruned.versions for pruned in history.prune(is_stopped=lambda: next(answers, True))] == [10]
    assert history.contents(memory) == [None, "0012", "0011"]
    assert [pruned.versions for pruned in history.prune()] == [3]


def test_pruned_bytes_are_in_no_file(database_path: Path, clock: Any) -> None:
    with closing(open_database(database_path)) as database:
        history = History(database, clock)
        history.write("/a", [f"MARKER-{number} " * 1_000 for number in range(12)])
        history.days(31)
        history.prune()
        left = b"".join(path.read_bytes() for path in sorted(database_path.parent.iterdir()))

    assert (b"MARKER-1 " in left, b"MARKER-2 " in left) == (False, True)


def test_nothing_to_remove_takes_no_turn_and_erases_nothing(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    history.write("/a", texts(1, 12))
    monkeypatch.setattr(history.database, "write", None)
    monkeypatch.setattr(history.database, "erase", None)

    assert [bool(pruned) for pruned in history.prune()] == [False]


def test_what_may_go_is_found_by_the_index_of_its_memory(database_path: Path) -> None:
    """By that of the whole store, each memory would cost a look through all of it."""
    places = {"store_id": "s", "memory_id": "m", "after_at": 0, "after_id": "", "last_at": 5, "last_id": "v"}
    with closing(open_database(database_path)) as database, database.read() as connection:
        for query, values in (
            (pruning._OLDEST, places),
            (pruning._LAST_TO_GO, {"store_id": "s", "memory_id": "m", "staying": 10}),
            (pruning._HISTORIES, {"store_id": "s", "after": "", "horizon": 5}),
        ):
            sent = connection.execute(query, values).context
            plan = [
                row.detail
                for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sent.statement}", sent.parameters[0])
            ]

            assert [step for step in plan if "versions_of_memory" in step and "SEARCH" in step]
            assert not [step for step in plan if "SCAN" in step or "TEMP B-TREE" in step]
