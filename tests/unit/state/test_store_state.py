"""What the worker knows of a store survives being closed, and is what the readers see."""

import contextlib
from pathlib import Path

import pytest

from memfs.core.errors import RemoteUnavailable
from memfs.core.paths import StorePath
from memfs.core.plan import Side
from memfs.core.tree_requests import Identity
from memfs.state.baseline import Agreed
from memfs.state.layout import StoreLayout
from memfs.state.problems import Conflict, Problem
from memfs.state.store_state import StoreState

A, B = StorePath("/a.md"), StorePath("/d/b.md")
S1, S2 = "1" * 64, "2" * 64


def agreed(path: StorePath, memory_id: str = "mem_1", sha256: str = S1) -> Agreed:
    return Agreed(
        path=path, memory_id=memory_id, version_id="memver_1", content_sha256=sha256, size_bytes=3,
        updated_at="2026-11-30T10:00:00Z", identity=Identity(7, 3, 11, 13), hashed_at=17.5,
    )  # fmt: skip


@pytest.fixture
def layout(tmp_path: Path) -> StoreLayout:
    return StoreLayout(tmp_path)


def test_a_baseline_row_is_the_same_after_reopening(layout: StoreLayout) -> None:
    with StoreState(layout) as state, state.transaction():
        state.baseline.put(agreed(A))

    with StoreState(layout) as state:
        assert agreed(A) == state.baseline.get(A)
        assert A == state.baseline.path_of("mem_1")
        assert {A} == set(state.baseline.paths)


def test_an_unknown_identity_is_the_same_after_reopening(layout: StoreLayout) -> None:
    row = Agreed(path=A, memory_id="mem_1", version_id="memver_1", content_sha256=S1, size_bytes=3)
    with StoreState(layout) as state, state.transaction():
        state.baseline.put(row)

    with StoreState(layout) as state:
        assert row == state.baseline.get(A)


def test_a_memory_has_one_row_wherever_it_moves(layout: StoreLayout) -> None:
    with StoreState(layout) as state, state.transaction():
        state.baseline.put(agreed(A))
        state.baseline.put(agreed(B))

    with StoreState(layout) as state:
        assert {B} == set(state.baseline.paths)
        assert B == state.baseline.path_of("mem_1")


def test_a_path_may_pass_to_another_memory(layout: StoreLayout) -> None:
    with StoreState(layout) as state, state.transaction():
        state.baseline.put(agreed(A, "mem_1"))
        state.baseline.put(agreed(A, "mem_2"))

    with StoreState(layout) as state:
        assert agreed(A, "mem_2") == state.baseline.get(A)
        assert state.baseline.path_of("mem_1") is None


def test_a_dropped_row_stays_away(layout: StoreLayout) -> None:
    with StoreState(layout) as state, state.transaction():
        state.baseline.put(agreed(A))
        state.baseline.drop(A)

    with StoreState(layout) as state:
        assert 0 == len(state.baseline)


def test_what_was_intended_lasts_until_both_sides_agree(layout: StoreLayout) -> None:
    with StoreState(layout) as state, state.transaction():
        state.baseline.intend([(A, S1), (A, S2), (A, S1), (B, S1)])

    with StoreState(layout) as state:
        assert {S1, S2} == state.baseline.intended(A)
        with state.transaction():
            state.baseline.put(agreed(A))

    with StoreState(layout) as state:
        assert frozenset() == state.baseline.intended(A)
        assert {S1} == state.baseline.intended(B)


def test_a_merge_may_need_the_baseline_and_what_was_intended(layout: StoreLayout) -> None:
    with StoreState(layout) as state, state.transaction():
        state.baseline.put(agreed(A, sha256=S1))
        state.baseline.intend([(B, S2)])

        assert {S1, S2} == state.baseline.contents()


def test_a_failed_transaction_leaves_the_database_as_it_was(layout: StoreLayout) -> None:
    with StoreState(layout) as state, contextlib.suppress(LookupError), state.transaction():
        state.made("/d")
        state.baseline.put(agreed(A))
        raise LookupError

    with StoreState(layout) as state:
        assert frozenset() == state.directories
        assert 0 == len(state.baseline)


def test_problems_are_kept_with_the_time_of_their_first_sight(layout: StoreLayout) -> None:
    first = Problem(path="/x", side=Side.LOCAL, code="invalid_content", message="m", since=1.0, fingerprint=S1)
    again = Problem(path="/x", side=Side.LOCAL, code="invalid_content", message="m", since=2.0, fingerprint=S1)
    with StoreState(layout) as state, state.transaction():
        assert state.problems.put(first)
        assert not state.problems.put(again)

    with StoreState(layout) as state, state.transaction():
        assert [first] == list(state.problems)
        assert state.problems.drop("/x", Side.LOCAL)
        assert not state.problems.drop("/x", Side.LOCAL)

    with StoreState(layout) as state:
        assert [] == list(state.problems)


def test_a_conflict_is_kept_once_for_its_copy(layout: StoreLayout) -> None:
    conflict = Conflict(path=A, copy_path="/a.conflict-11111111.md", local_sha256=S1, remote_sha256=S2, since=1.0)
    with StoreState(layout) as state, state.transaction():
        state.conflicts.put(conflict)
        state.conflicts.put(conflict)

    with StoreState(layout) as state, state.transaction():
        assert [conflict] == list(state.conflicts)
        assert conflict.copy_path in state.conflicts
        assert state.conflicts.drop(conflict.copy_path)

    with StoreState(layout) as state:
        assert [] == list(state.conflicts)


def test_directories_and_pending_paths_survive(layout: StoreLayout) -> None:
    with StoreState(layout) as state, state.transaction():
        state.made("/d", "/d/e")
        state.unmade("/d/e")
        state.set_pending({A: "pending", B: "held"})
        state.set_pending({A: "pending"})

    with StoreState(layout) as state:
        assert {"/d"} == state.directories
        assert {A: "pending"} == state.pending


def test_who_has_to_be_told_hears_of_each_path_once(layout: StoreLayout) -> None:
    with StoreState(layout) as state:
        with state.transaction():
            state.set_pending({A: "pending"})
            state.touch(B, A)

        assert (A, B) == state.take_changed()
        assert None is state.take_changed()


def test_who_has_to_be_told_hears_of_what_is_about_no_path(layout: StoreLayout) -> None:
    with StoreState(layout) as state:
        with state.transaction():
            state.set_synced(1.0)
        assert () == state.take_changed()

        with state.transaction():
            state.set_error(None)
            state.set_pending({})
        assert None is state.take_changed()


def test_the_end_of_a_conflict_is_told_of_both_paths(layout: StoreLayout) -> None:
    copy = "/a.conflict-11111111.md"
    with StoreState(layout) as state, state.transaction():
        state.conflicts.put(Conflict(path=A, copy_path=copy, local_sha256=S1, remote_sha256=S2, since=1.0))

        state.end_conflict("/other")
        assert None is state.take_changed()
        state.end_conflict(copy)

        assert (copy, A) == state.take_changed()
        assert [] == list(state.conflicts)


def test_the_same_error_is_news_only_once(layout: StoreLayout) -> None:
    error = RemoteUnavailable("nobody answers")
    with StoreState(layout) as state, state.transaction():
        assert state.set_error(error)
        assert not state.set_error(error)

    with StoreState(layout) as state, state.transaction():
        assert not state.set_error(error)
        assert state.set_error(None)
