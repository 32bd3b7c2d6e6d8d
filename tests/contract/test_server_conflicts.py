"""What the stored state refuses: preconditions, taken paths, full and archived stores."""

import httpx
import pytest
from wire import INVALID, refusal

STALE = "0" * 64
MEMORY = {"path": "/a.md", "content": "one"}


def test_a_stale_precondition_is_a_conflict_that_needs_no_retry(raw: httpx.Client, memories: str) -> None:
    made = raw.post(memories, json=MEMORY).json()
    stale = {"type": "content_sha256", "content_sha256": STALE}

    for answer in (
        raw.post(f"{memories}/{made['id']}", json={"content": "two", "precondition": stale}),
        raw.post(f"{memories}/{made['id']}", json={"path": "/b.md", "precondition": stale}),
        raw.delete(f"{memories}/{made['id']}", params={"expected_content_sha256": STALE}),
    ):
        assert refusal(answer) == (409, "memory_precondition_failed_error")
        assert answer.headers["x-should-retry"] == "false"
    assert raw.get(f"{memories}/{made['id']}?view=basic").json() == made


def test_a_digest_that_is_none_is_refused_on_delete(raw: httpx.Client, memories: str) -> None:
    made = raw.post(memories, json=MEMORY).json()

    answer = raw.delete(f"{memories}/{made['id']}", params={"expected_content_sha256": "abc"})

    assert refusal(answer) == INVALID


@pytest.mark.parametrize(
    ("taken", "wanted", "conflicting"),
    [
        ("/a", "/a", "/a"),
        ("/a", "/a/b", "/a"),
        ("/a", "/a/b/c/d", "/a"),
        ("/a/b", "/a", "/a/b"),
        ("/a/b/c", "/a", "/a/b/c"),
    ],
)
def test_a_path_is_taken_by_what_is_at_above_or_below_it(
    raw: httpx.Client, memories: str, taken: str, wanted: str, conflicting: str
) -> None:
    holder = raw.post(memories, json={"path": taken, "content": ""}).json()
    other = raw.post(memories, json={"path": "/other", "content": ""}).json()

    for answer in (
        raw.post(memories, json={"path": wanted, "content": ""}),
        raw.post(f"{memories}/{other['id']}", json={"path": wanted}),
    ):
        assert refusal(answer) == (409, "memory_path_conflict_error")
        assert answer.headers["x-should-retry"] == "false"
        assert answer.json()["error"]["conflicting_path"] == conflicting
        assert answer.json()["error"]["conflicting_memory_id"] == holder["id"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("/a_b", "/aXb/c"),
        ("/a%", "/ab/c"),
        ("/a", "/a.md"),
        ("/a", "/a-b/c"),
        ("/a", "/a0"),
        ("/a/b", "/a.b"),
        ("/A", "/a"),
        ("/é", "/e"),
    ],
)
def test_paths_are_compared_by_segments_and_bytes(raw: httpx.Client, memories: str, first: str, second: str) -> None:
    for path in (first, second):
        assert raw.post(memories, json={"path": path, "content": ""}).status_code == 200


def test_a_memory_may_move_below_its_own_old_path(raw: httpx.Client, memories: str) -> None:
    made = raw.post(memories, json={"path": "/a", "content": ""}).json()

    moved = raw.post(f"{memories}/{made['id']}", json={"path": "/a/b"}).json()

    assert (made["id"], "/a/b") == (moved["id"], moved["path"])


def test_a_full_store_refuses_creates_and_nothing_else(small_raw: httpx.Client) -> None:
    small_raw.headers["anthropic-beta"] = "agent-memory-2026-07-22"
    memories = f"/v1/memory_stores/{small_raw.post('/v1/memory_stores', json={'name': 'n'}).json()['id']}/memories"
    made = [small_raw.post(memories, json={"path": f"/{n}", "content": ""}).json() for n in range(3)]

    answer = small_raw.post(memories, json={"path": "/3", "content": ""})
    del small_raw.headers["anthropic-beta"]

    beta = {"anthropic-beta": "managed-agents-2026-04-01"}
    one = f"{memories}/{made[0]['id']}"
    assert refusal(answer) == (409, "conflict_error")
    assert answer.headers["x-should-retry"] == "false"
    assert small_raw.post(one, json={"content": "more", "path": "/z"}, headers=beta).status_code == 200
    assert small_raw.delete(one, headers=beta).status_code == 200
    assert small_raw.post(memories, json={"path": "/3", "content": ""}, headers=beta).status_code == 200


def test_an_archived_store_is_read_only_but_for_deletes(raw: httpx.Client, base: str, memories: str) -> None:
    made = raw.post(memories, json=MEMORY).json()
    archived = raw.post(f"{base}/archive").json()

    for answer in (
        raw.post(base, json={"name": "new"}),
        raw.post(memories, json={"path": "/b.md", "content": ""}),
        raw.post(memories, json={"path": "not a path"}),
        raw.post(f"{memories}/{made['id']}", json={"content": "two"}),
        raw.post(f"{memories}/{made['id']}", json={"content": "one"}),
        raw.post(f"{memories}/{made['id']}", json={}),
    ):
        assert refusal(answer) == INVALID
        assert answer.json()["error"]["details"] == {"error_code": "store_read_only"}
    assert raw.get(f"{memories}/{made['id']}").json()["content"] == "one"
    assert [item["path"] for item in raw.get(memories).json()["data"]] == ["/a.md"]
    assert raw.delete(f"{memories}/{made['id']}").json() == {"type": "memory_deleted", "id": made["id"]}
    assert raw.post(f"{base}/archive", json={}).json() == archived
    assert raw.delete(base).json() == {"type": "memory_store_deleted", "id": archived["id"]}
