"""What `memfs status` and .memfs/ read, while the worker may be writing."""

import fcntl
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from memfs.core.attachment import Access, Attachment
from memfs.core.brakes import Reason
from memfs.core.errors import RemoteUnavailable
from memfs.core.paths import StorePath
from memfs.core.plan import Side
from memfs.core.tree_requests import Identity
from memfs.state.attachments import attach
from memfs.state.baseline import Agreed
from memfs.state.braking import Halt, describe
from memfs.state.layout import Layout
from memfs.state.problems import Conflict, Problem
from memfs.state.reader import StateReader
from memfs.state.store_state import StoreState
from memfs.state.summary import MemoryFacts, StoreSummary, SyncedFile, is_watched, owed_by_detached, summaries

ALPHA = Attachment(store_id="memstore_1", name="Alpha", slug="alpha", access=Access.READ_WRITE)
S1, S2 = "1" * 64, "2" * 64
PROBLEM = Problem(path="/bad", side=Side.LOCAL, code="invalid_content", message="/bad is not UTF-8", since=1.0)
CONFLICT = Conflict(path="/c.md", copy_path="/c.conflict-11111111.md", local_sha256=S1, remote_sha256=S2, since=2.0)


def facts(layout: Layout, path: str) -> MemoryFacts:
    with closing(StateReader(layout.store("memstore_1").database)) as reader:
        return reader.facts(path)


def agreed(path: str) -> Agreed:
    return Agreed(
        path=StorePath(path), memory_id="mem_" + path[1:], version_id="memver_1", content_sha256=S1, size_bytes=3,
        updated_at="2026-11-30T10:00:00Z",
    )  # fmt: skip


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout = Layout(tmp_path)
    attach(layout, [ALPHA])
    return layout


def test_a_new_store_has_nothing_to_tell(layout: Layout) -> None:
    expected = StoreSummary(
        attachment=ALPHA, memories=0, pending_paths=(), problems=(), conflicts=(), last_sync_at=None, sync_error=None
    )

    assert [expected] == summaries(layout)


def test_a_state_that_is_not_there_has_no_stores(tmp_path: Path) -> None:
    assert [] == summaries(Layout(tmp_path / "none"))


def test_what_the_worker_recorded_is_summed_up_while_it_has_the_database_open(layout: Layout) -> None:
    with StoreState(layout.store("memstore_1")) as state:
        with state.transaction():
            state.baseline.put(agreed("/a.md"))
            state.set_pending({"/b.md": "pending", "/x.tmp": "held"})
            state.problems.put(PROBLEM)
            state.conflicts.put(CONFLICT)
            state.set_synced(5.0)
            state.set_error(RemoteUnavailable("nobody answers"))

        (found,) = summaries(layout)

    assert 1 == found.memories
    assert ("/b.md", "/x.tmp") == found.pending_paths
    assert 2 == found.pending
    assert (PROBLEM,) == found.problems
    assert (CONFLICT,) == found.conflicts
    assert 5.0 == found.last_sync_at
    assert ("remote_unavailable", "nobody answers") == found.sync_error


def test_a_halted_store_says_so_whatever_else_is_owed(layout: Layout) -> None:
    halt = Halt(reason=Reason.MANY_REMOTE, deletions=9, memories=20, since=3.0)
    with StoreState(layout.store("memstore_1")) as state, state.transaction():
        state.set_pending({"/b.md": "halted"})
        state.set_synced(5.0)
        state.braking.set_halt(halt)

    (found,) = summaries(layout)

    assert halt == found.halt
    assert "halted" == found.state(is_watched=True)
    assert "9 of 20 memories are gone on the remote" == describe(halt)
    assert "halted" == facts(layout, "/b.md").state


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/a.md", "synced"), ("/b.md", "pending"), ("/x.tmp", "held"), ("/bad", "refused"), ("/c.md", "conflict"),
     (CONFLICT.copy_path, "conflict"), ("/elsewhere", "unknown")],
)  # fmt: skip
def test_each_path_has_a_state(layout: Layout, path: str, expected: str) -> None:
    with StoreState(layout.store("memstore_1")) as state, state.transaction():
        state.baseline.put(agreed("/a.md"))
        state.baseline.put(agreed("/c.md"))
        state.set_pending({"/b.md": "pending", "/x.tmp": "held", "/bad": "pending"})
        state.problems.put(PROBLEM)
        state.conflicts.put(CONFLICT)

    assert expected == facts(layout, path).state


def test_the_facts_of_a_memory_are_its_baseline(layout: Layout) -> None:
    with StoreState(layout.store("memstore_1")) as state, state.transaction():
        state.baseline.put(agreed("/a.md"))

    found = facts(layout, "/a.md")

    assert ("mem_a.md", "memver_1", S1, 3) == (
        found.memory_id, found.version_id, found.content_sha256, found.size_bytes,
    )  # fmt: skip
    assert "2026-11-30T10:00:00Z" == found.updated_at


def test_a_store_without_a_database_has_no_facts(tmp_path: Path) -> None:
    assert "unknown" == facts(Layout(tmp_path / "none"), "/a.md").state


def test_conflict_copies_that_another_host_made_are_told_too(layout: Layout) -> None:
    paths = ("/plan.md", "/plan.conflict-0123abcd.md", "/notes about a.conflict-free.md")
    with StoreState(layout.store(ALPHA.store_id)) as state, state.transaction():
        for path in paths:
            state.baseline.put(agreed(path))

    assert [("/plan.conflict-0123abcd.md",)] == [one.conflict_copies for one in summaries(layout)]


def test_the_facts_of_a_memory_tell_what_its_file_was_like(layout: Layout) -> None:
    with StoreState(layout.store("memstore_1")) as state, state.transaction():
        state.baseline.put(replace(agreed("/a.md"), identity=Identity(7, 3, 20, 30)))
        state.baseline.put(agreed("/b.md"))

    assert SyncedFile(7, 3, 20) == facts(layout, "/a.md").file
    assert None is facts(layout, "/b.md").file


def test_of_two_problems_of_a_path_the_local_one_is_told(layout: Layout) -> None:
    with StoreState(layout.store("memstore_1")) as state, state.transaction():
        state.problems.put(replace(PROBLEM, side=Side.REMOTE, message="far"))
        state.problems.put(replace(PROBLEM, message="near"))

    assert ("refused", "near") == (facts(layout, "/bad").state, facts(layout, "/bad").reason)


def test_each_conflict_copy_is_told_with_what_it_conflicts_with(layout: Layout) -> None:
    with StoreState(layout.store(ALPHA.store_id)) as state, state.transaction():
        state.baseline.put(agreed("/d/plan.conflict-0123abcd.md"))
        state.baseline.put(agreed(CONFLICT.copy_path))
        state.conflicts.put(CONFLICT)

    [found] = summaries(layout)

    assert {CONFLICT.copy_path: "/c.md", "/d/plan.conflict-0123abcd.md": "/d/plan.md"} == found.copies


@pytest.mark.parametrize(
    ("synced", "pending", "error", "is_watched", "expected"),
    [
        (None, {}, None, True, "never synced"),
        (5.0, {}, None, True, "synced"),
        (5.0, {}, None, False, "unwatched"),
        (5.0, {"/a.md": "pending"}, None, True, "pending"),
        (5.0, {"/a.md": "pending"}, RemoteUnavailable("nobody answers"), True, "remote_unavailable"),
    ],
)
def test_a_store_stands_so(
    layout: Layout,
    synced: float | None,
    pending: dict[str, str],
    error: RemoteUnavailable | None,
    is_watched: bool,
    expected: str,
) -> None:
    with StoreState(layout.store(ALPHA.store_id)) as state, state.transaction():
        state.set_pending(pending)
        state.set_error(error)
        if synced is not None:
            state.set_synced(synced)

    assert [expected] == [one.state(is_watched=is_watched) for one in summaries(layout)]


def test_a_worker_runs_while_its_lock_is_held(layout: Layout) -> None:
    assert not is_watched(layout)
    with layout.worker_lock.open("w") as lock:
        assert not is_watched(layout)
        fcntl.flock(lock, fcntl.LOCK_EX)

        assert is_watched(layout)


def test_a_detached_store_tells_what_was_never_pushed(layout: Layout) -> None:
    with StoreState(layout.store(ALPHA.store_id)) as state, state.transaction():
        state.set_pending({"/new.md": "pending"})
    assert [] == owed_by_detached(layout)

    attach(layout, [])

    assert [] == summaries(layout)
    assert [("/new.md",)] == [one.pending_paths for one in owed_by_detached(layout)]
