"""A store's database while the mount shows it: kept open for many looks, and right whatever happens to the file."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from memfs.core.attachment import Access, Attachment
from memfs.core.errors import StateDamaged, StateUnavailable
from memfs.core.paths import StorePath
from memfs.state.attachments import attach
from memfs.state.baseline import Agreed
from memfs.state.layout import Layout, StoreLayout
from memfs.state.reader import StateReader
from memfs.state.store_state import StoreState

ALPHA = Attachment(store_id="memstore_1", name="Alpha", slug="alpha", access=Access.READ_WRITE)


def put(store: StoreLayout, version: str) -> None:
    with StoreState(store) as state, state.transaction():
        state.baseline.put(
            Agreed(
                path=StorePath("/a.md"), memory_id="mem_1", version_id=version, content_sha256="1" * 64, size_bytes=3
            )
        )


@pytest.fixture
def store(tmp_path: Path) -> StoreLayout:
    layout = Layout(tmp_path)
    attach(layout, [ALPHA])
    return layout.store(ALPHA.store_id)


@pytest.fixture
def reader(store: StoreLayout) -> Iterator[StateReader]:
    with closing(StateReader(store.database)) as made:
        yield made


def test_each_look_sees_what_was_committed_last(store: StoreLayout, reader: StateReader) -> None:
    for version in ("memver_1", "memver_2"):
        put(store, version)

        assert version == reader.facts("/a.md").version_id
        assert 1 == reader.summary(ALPHA).memories  # type: ignore[union-attr]  (the store has a database)


def test_a_summary_is_read_once_until_something_is_committed(store: StoreLayout, reader: StateReader) -> None:
    first = reader.summary(ALPHA)
    assert first is reader.summary(ALPHA)

    put(store, "memver_1")

    assert replace(first, memories=1) == reader.summary(ALPHA)  # type: ignore[type-var]  (the store has a database)


def test_nothing_is_known_before_there_is_a_database(tmp_path: Path) -> None:
    with closing(StateReader(tmp_path / "none/state.db")) as reader:
        assert "unknown" == reader.facts("/a.md").state
        assert None is reader.summary(ALPHA)
        assert 0 == reader.changed_ns()


def test_nothing_is_known_before_there_is_a_schema(store: StoreLayout, reader: StateReader) -> None:
    store.database.unlink()
    store.database.touch()

    assert "unknown" == reader.facts("/a.md").state

    store.database.unlink()
    put(store, "memver_1")
    assert "memver_1" == reader.facts("/a.md").version_id


def test_a_database_that_replaced_the_old_one_is_read(store: StoreLayout, reader: StateReader) -> None:
    put(store, "memver_1")
    assert "memver_1" == reader.facts("/a.md").version_id

    for old in store.root.glob("state.db*"):
        old.rename(old.with_name(f"aside-{old.name}"))
    assert "unknown" == reader.facts("/a.md").state
    put(store, "memver_2")

    assert "memver_2" == reader.facts("/a.md").version_id


def test_a_look_does_not_wait_long_for_who_locks_the_database(store: StoreLayout, reader: StateReader) -> None:
    put(store, "memver_1")
    with closing(sqlite3.connect(store.database, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        other.execute("DELETE FROM baseline")
        with pytest.raises(StateUnavailable):
            reader.facts("/a.md")
        other.execute("ROLLBACK")

    assert "memver_1" == reader.facts("/a.md").version_id


def test_a_damaged_database_is_named(store: StoreLayout, reader: StateReader) -> None:
    for old in store.root.glob("state.db*"):
        old.unlink()
    store.database.write_bytes(b"no database" * 1000)

    with pytest.raises(StateDamaged, match=r"state\.db"):
        reader.facts("/a.md")


def test_a_reader_that_is_closed_leaves_the_database_to_the_worker(store: StoreLayout, reader: StateReader) -> None:
    put(store, "memver_1")
    reader.facts("/a.md")
    reader.close()

    put(store, "memver_2")

    assert [store.database] == list(store.root.glob("state.db*"))
    assert "memver_2" == reader.facts("/a.md").version_id


def test_it_is_told_when_something_was_written(store: StoreLayout, reader: StateReader) -> None:
    assert store.database.stat().st_mtime_ns == reader.changed_ns()
