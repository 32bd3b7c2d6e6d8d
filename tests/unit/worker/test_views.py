"""What each side looked like: news are told once, and a late answer is known to be late."""

from memfs.core.paths import StorePath
from memfs.core.tree_requests import Identity
from worker.views import LocalFile, LocalView, RemoteMemory, RemoteView

A, B = StorePath("/a"), StorePath("/b")
SECOND = 1_000_000_000


def memory(memory_id: str, sha256: str = "1" * 64) -> RemoteMemory:
    return RemoteMemory(memory_id, f"memver_{memory_id}", sha256, 1, "2026-11-30T10:00:00.000000Z")


def file(identity: Identity, hashed_at: float) -> LocalFile:
    return LocalFile("1" * 64, 1, identity, hashed_at)


def test_an_identity_proves_the_bytes_only_when_it_was_old_when_they_were_read() -> None:
    identity = Identity(1, 1, 100 * SECOND, 100 * SECOND)

    assert file(identity, 102.5).proves(identity)
    assert not file(identity, 101.5).proves(identity)
    assert not file(identity, 102.5).proves(identity._replace(ctime_ns=101 * SECOND))


def test_a_change_of_times_alone_is_no_news() -> None:
    view = LocalView()
    identity = Identity(1, 1, 1, 1)

    assert view.put(A, file(identity, 5.0))
    assert not view.put(A, file(identity._replace(mtime_ns=2), 6.0))
    assert view.drop(A, 7.0)
    assert not view.drop(A, 8.0)
    assert 7.0 == view.gone_since[A]


def test_a_memory_that_moved_is_news_at_both_paths() -> None:
    view = RemoteView()

    assert {A} == view.put(A, memory("mem_1"))
    assert set() == view.put(A, memory("mem_1"))
    assert {A, B} == view.put(B, memory("mem_1"))
    assert B == view.path_of("mem_1")
    assert {B: memory("mem_1")} == view.memories


def test_a_path_taken_by_another_memory_belongs_to_that_one() -> None:
    view = RemoteView()
    view.put(A, memory("mem_1"))
    view.put(A, memory("mem_2"))

    assert view.path_of("mem_1") is None
    assert set() == view.drop("mem_1")
    assert {A: memory("mem_2")} == view.memories


def test_a_memory_that_cannot_be_a_file_is_known_by_its_id_only() -> None:
    view = RemoteView()
    view.put(A, memory("mem_1"))

    assert {A} == view.put_unusable("mem_1", "/" + "x" * 300)
    assert {} == view.memories
    assert {"mem_1"} == view.ids()
    assert set() == view.drop("mem_1")
    assert set() == view.ids()


def test_an_answer_is_stale_when_something_newer_became_known() -> None:
    view = RemoteView()
    view.put(A, memory("mem_1"))
    asked_at = view.now()
    assert not view.is_stale(asked_at, "mem_1", A)

    view.put(A, memory("mem_1", "2" * 64))

    assert view.is_stale(asked_at, "mem_1")
    assert view.is_stale(asked_at, A)
    assert not view.is_stale(view.now(), "mem_1", A)
    assert not view.is_stale(asked_at, "mem_2", B)
