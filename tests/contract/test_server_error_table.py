"""The master error table of the API, row by row: which situation gets which status and which type.

The id of a test is the number of its row. A row asks in each way that leads to its refusal; every answer must be a
whole envelope of the row's status and type, and nothing may have changed. The details of each refusal are tested with
what refuses.
"""

from functools import partial
from pathlib import Path

import httpx
import pytest
from error_table import ROWS, STORES, Answers, Scene, row
from wire import INVALID, connected, refusal, serving

from memfs.core.errors import ConcurrentChange, RemoteUnavailable
from memfs.server.serve import StoreServer
from memfs.server.store import tables
from memfs.server.store.memories import Memories
from memfs.server.store.stores import Stores

STALE = "0" * 64
PRECONDITION_FAILED = (409, "memory_precondition_failed_error")
PATH_CONFLICT = (409, "memory_path_conflict_error")
CONFLICT = (409, "conflict_error")


@row(17, PRECONDITION_FAILED)
def a_precondition_that_does_not_hold(at: Scene) -> Answers:
    stale = {"type": "content_sha256", "content_sha256": STALE}
    for change in ({"content": "two"}, {"path": "/b"}, {"content": "two", "path": "/b"}):
        yield at.raw.post(at.memory, json=change | {"precondition": stale})


@row(18, PRECONDITION_FAILED)
def a_delete_of_another_content(at: Scene) -> Answers:
    yield at.raw.delete(at.memory, params={"expected_content_sha256": STALE})


@row(19, PATH_CONFLICT)
def a_path_that_is_taken(at: Scene) -> Answers:
    deep = at.raw.post(at.memories, json={"path": "/d/e/f", "content": ""}).json()
    for path, in_the_way in (("/a", at.made), ("/a/b", at.made), ("/d", deep), ("/d/e", deep), ("/d/e/f", deep)):
        free = at.raw.post(at.memories, json={"path": "/free", "content": ""}).json()["id"]
        for answer in (
            at.raw.post(at.memories, json={"path": path, "content": ""}),
            at.raw.post(f"{at.memories}/{free}", json={"path": path}),
        ):
            error = answer.json()["error"]
            assert (error["conflicting_path"], error["conflicting_memory_id"]) == (in_the_way["path"], in_the_way["id"])
            yield answer
        at.raw.delete(f"{at.memories}/{free}").raise_for_status()
    at.raw.delete(f"{at.memories}/{deep['id']}").raise_for_status()


@row(20, CONFLICT)
def a_store_that_is_full(at: Scene) -> Answers:
    beta = {"anthropic-beta": "agent-memory-2026-07-22"}
    store = at.small.post(STORES, json={"name": "n"}, headers=beta).json()["id"]
    for number in range(3):
        made = at.small.post(f"{STORES}/{store}/memories", json={"path": f"/{number}", "content": ""}, headers=beta)
        made.raise_for_status()
    yield at.small.post(f"{STORES}/{store}/memories", json={"path": "/3", "content": ""}, headers=beta)


@row(21, INVALID)
def a_depth_that_is_none(at: Scene) -> Answers:
    for depth in ("2", "-1", "x", "0.5", ""):
        yield at.raw.get(at.memories, params={"depth": depth})


@row(22, INVALID)
def a_prefix_without_its_slash(at: Scene) -> Answers:
    for prefix in ("/a", "a", "/a/b"):
        yield at.raw.get(at.memories, params={"path_prefix": prefix})


@row(23, INVALID)
def a_limit_past_its_range(at: Scene) -> Answers:
    for url in (STORES, at.memories, f"{at.base}/memory_versions"):
        for limit in ("0", "101", "-1", "x", "1.5", ""):
            yield at.raw.get(url, params={"limit": limit})


@row(24, INVALID)
def a_view_an_operation_or_a_moment_that_is_none(at: Scene) -> Answers:
    for url in (at.memories, at.memory, f"{at.base}/memory_versions"):
        yield at.raw.get(url, params={"view": "whole"})
    yield at.raw.post(at.memories, params={"view": "whole"}, json={"path": "/b", "content": ""})
    yield at.raw.post(at.memory, params={"view": "whole"}, json={"content": "two"})
    yield at.raw.get(f"{at.base}/memory_versions", params={"operation": "renamed"})
    for url in (STORES, f"{at.base}/memory_versions"):
        for name in ("created_at[gte]", "created_at[lte]"):
            yield at.raw.get(url, params={name: "yesterday"})


@row(25, INVALID)
def a_cursor_that_is_none(at: Scene) -> Answers:
    for url in (STORES, at.memories, f"{at.base}/memory_versions"):
        for page in ("x", "page_x", "page_"):
            yield at.raw.get(url, params={"page": page})


@row(26, INVALID)
def a_redaction_of_what_a_memory_holds_now(at: Scene) -> Answers:
    yield at.raw.post(f"{at.base}/memory_versions/{at.made['memory_version_id']}/redact")


@row(27, INVALID)
def an_attachment_that_cannot_be(at: Scene) -> Answers:
    own = {"memory_store_id": at.made["memory_store_id"]}
    others = [at.raw.post(STORES, json={"name": "n"}).json()["id"] for _ in range(9)]
    at.raw.post(f"{STORES}/{others[0]}/archive").raise_for_status()
    yield at.session({"memory_store_id": others[0]})
    yield at.session({"memory_store_id": "memstore_unknown"})
    yield at.session({"memory_store_id": "\0"})
    yield at.session(*({"memory_store_id": store} for store in [*others[1:], own["memory_store_id"]]))
    yield at.session(own | {"instructions": "i" * 4_097})
    yield at.session(own | {"access": "write_only"})
    yield at.session(own, own)
    yield at.session(own | {"type": "file"})
    made = at.session(own).json()["id"]
    yield at.raw.post(f"/v1/sessions/{made}/resources", json=own | {"type": "memory_store"})


@row(29, CONFLICT)
def a_race_that_is_lost(at: Scene) -> Answers:
    """No request of a client's alone can bring it about: the store is made to say so."""

    def lost(*_: object, **__: object) -> None:
        raise ConcurrentChange("another write came between", remedy="Repeat the request")

    at.patch.setattr(Memories, "update", lost)
    yield at.raw.post(at.memory, json={"content": "two"})


@row(28, (429, "rate_limit_error"))
def more_requests_than_allowed(at: Scene) -> Answers:
    with at.own(requests_per_minute=3) as server, connected(server) as client:
        answers = [client.get(STORES) for _ in range(5)]
    assert [answer.status_code for answer in answers[:3]] == [200] * 3
    assert [float(answer.headers["retry-after"]) > 0 for answer in answers[3:]] == [True] * 2
    yield from answers[3:]


@row(30, (500, "api_error"))
def a_server_that_fails(at: Scene) -> Answers:
    """Its own fault is a 500, an overload a 529. It never gives up on a request by itself, so there is no 504."""

    def busy(*_: object, **__: object) -> None:
        raise RemoteUnavailable("the database is busy", retry_after_s=1.0)

    with at.own() as server, connected(server) as client:
        made = client.post(STORES, json={"name": "n"}).json()["id"]
        with server._database.write() as connection:
            tables.changes.drop(connection)
        yield client.post(f"{STORES}/{made}/memories", json={"path": "/a", "content": ""})
        at.patch.setattr(Stores, "list", busy)
        overloaded = client.get(STORES)
    assert refusal(overloaded) == (529, "overloaded_error")
    assert overloaded.headers["retry-after"] == "1"


def test_every_row_is_here() -> None:
    assert sorted(ROWS) == list(range(1, 31))


LOGGED = (pytest.mark.expect_log("failed"), pytest.mark.expect_log("the database is busy"))
NUMBERS = [pytest.param(number, id=str(number), marks=LOGGED if number == 30 else ()) for number in sorted(ROWS)]


@pytest.fixture
def scene(
    server: StoreServer,
    raw: httpx.Client,
    base: str,
    memories: str,
    small_raw: httpx.Client,
    monkeypatch: pytest.MonkeyPatch,
    new_database: str | None,
    tmp_path: Path,
) -> Scene:
    made = raw.post(memories, json={"path": "/a", "content": "one"}).json()
    own = partial(serving, tmp_path / "own", database=new_database)
    return Scene(
        server=server, raw=raw, base=base, memories=memories, made=made, small=small_raw, patch=monkeypatch, own=own
    )


@pytest.mark.parametrize("number", NUMBERS)
def test_each_row_is_answered_with_its_status_and_type_and_changes_nothing(scene: Scene, number: int) -> None:
    expected, ask = ROWS[number]

    answers = list(ask(scene))

    assert {refusal(answer) for answer in answers} == {expected}
    # Clients repeat each 409 unless told otherwise; only a lost race is worth it.
    final = [answer.headers.get("x-should-retry") for answer in answers if answer.status_code == 409 and number != 29]
    assert set(final) <= {"false"}
    assert "x-should-retry" not in answers[-1].headers or number in {17, 18, 19, 20}
    listed = scene.raw.get(scene.memories, params={"view": "full"}).json()["data"]
    assert [(item["id"], item["path"], item["content"]) for item in listed] == [(scene.made["id"], "/a", "one")]
