"""What the brakes, merges and replaced versions leave in a store's database, and that older databases get them."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from memfs.core.brakes import Reason
from memfs.core.paths import StorePath
from memfs.core.plan import Side
from memfs.state.baseline import Agreed
from memfs.state.braking import Deletion, Halt, read_halt
from memfs.state.database import open_to_read
from memfs.state.layout import StoreLayout
from memfs.state.merges import Merging
from memfs.state.schema import MIGRATIONS, SCHEMA_VERSION
from memfs.state.store_state import StoreState

A, B = StorePath("/a.md"), StorePath("/d/b.md")
HALT = Halt(reason=Reason.MANY_LOCAL, deletions=9, memories=20, since=17.5)


def deletion(path: StorePath, at: float = 10.0, side: Side = Side.REMOTE) -> Deletion:
    return Deletion(at=at, side=side, path=path, version_id="memver_1", content_sha256="1" * 64, memories=5, kept="x")


@pytest.fixture
def layout(tmp_path: Path) -> StoreLayout:
    return StoreLayout(tmp_path)


def test_a_halt_holds_until_it_is_taken_back(layout: StoreLayout) -> None:
    with StoreState(layout) as state, state.transaction():
        state.braking.set_halt(HALT)
    with StoreState(layout) as state:
        assert HALT == state.braking.halt
        with open_to_read(layout.database) as connection:
            assert connection is not None
            assert HALT == read_halt(connection)
        with state.transaction():
            state.braking.set_halt(None)

    with StoreState(layout) as state:
        assert state.braking.halt is None


def test_deletions_are_remembered_until_they_are_forgotten(layout: StoreLayout) -> None:
    with StoreState(layout) as state, state.transaction():
        state.braking.add(deletion(A, at=10.0))
        state.braking.add(deletion(B, at=20.0, side=Side.LOCAL))

    with StoreState(layout) as state:
        assert (deletion(A, at=10.0), deletion(B, at=20.0, side=Side.LOCAL)) == state.braking.deletions
        with state.transaction():
            state.braking.forget_deletions(10.0)
    with StoreState(layout) as state:
        assert (deletion(B, at=20.0, side=Side.LOCAL),) == state.braking.deletions


def test_an_allowed_deletion_is_not_counted_once(layout: StoreLayout) -> None:
    with StoreState(layout) as state, state.transaction():
        state.braking.accept([(Side.REMOTE, A), (Side.REMOTE, A)])

    with StoreState(layout) as state:
        assert state.braking.is_accepted(Side.REMOTE, A)
        assert not state.braking.is_accepted(Side.LOCAL, A)
        with state.transaction():
            state.braking.add(deletion(A))
            state.braking.add(deletion(A, at=20.0))
    with StoreState(layout) as state:
        assert frozenset() == state.braking.accepted
        assert (deletion(A, at=20.0),) == state.braking.deletions


def test_the_root_is_remembered(layout: StoreLayout) -> None:
    with StoreState(layout) as state, state.transaction():
        assert state.braking.root is None
        state.braking.set_root(1, 2)
        state.braking.set_root(3, 4)

    with StoreState(layout) as state:
        assert (3, 4) == state.braking.root


def test_a_merge_under_way_is_known_after_reopening(layout: StoreLayout) -> None:
    agreed = Agreed(path=A, memory_id="mem_1", version_id="memver_2", content_sha256="2" * 64, size_bytes=3)
    with StoreState(layout) as state, state.transaction():
        state.merges.put(Merging(staged="merge-1", agreed=agreed))
        state.merges.put(Merging(staged="merge-2", agreed=agreed))

    with StoreState(layout) as state:
        assert [Merging(staged="merge-2", agreed=agreed)] == list(state.merges)
        with state.transaction():
            state.merges.drop(A)
    with StoreState(layout) as state:
        assert 0 == len(state.merges)


def test_what_a_replaced_version_held_is_known_until_it_is_forgotten(layout: StoreLayout) -> None:
    row = Agreed(path=A, memory_id="mem_1", version_id="memver_1", content_sha256="1" * 64, size_bytes=3)
    with StoreState(layout) as state:
        with state.transaction():
            state.replaced.put(row, at=10.0)

        assert "1" * 64 == state.replaced.content_sha256("memver_1")
        assert state.replaced.content_sha256("memver_2") is None
        with state.transaction():
            state.replaced.forget(10.0)
        assert state.replaced.content_sha256("memver_1") is None


def test_a_database_of_the_first_release_keeps_what_it_has(layout: StoreLayout) -> None:
    with closing(sqlite3.connect(layout.database)) as connection:
        connection.executescript(MIGRATIONS[0])
        connection.execute("PRAGMA user_version = 1")
        connection.execute("INSERT INTO pending VALUES ('/a.md', 'pending')")
        connection.commit()
    with open_to_read(layout.database) as readable:
        assert readable is not None
        assert read_halt(readable) is None

    with StoreState(layout) as state:
        assert {"/a.md": "pending"} == state.pending
        assert state.braking.halt is None
    with open_to_read(layout.database) as readable:
        assert readable is not None
        assert SCHEMA_VERSION == readable.execute("PRAGMA user_version").fetchone()[0]
