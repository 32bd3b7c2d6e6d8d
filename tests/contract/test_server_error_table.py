"""The master error table of the API, row by row: which situation gets which status and which type.

The id of a test is the number of its row. A row asks in each way that leads to its refusal; every answer must be a
whole envelope of the row's status and type, and nothing may have changed. The details of each refusal are tested with
what refuses.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from wire import INVALID, refusal

from memfs.core.errors import ConcurrentChange
from memfs.server.store.memories import Memories

STALE = "0" * 64
STORES = "/v1/memory_stores"
BETAS = "managed-agents-2026-04-01,agent-memory-2026-07-22"
PRECONDITION_FAILED = (409, "memory_precondition_failed_error")
PATH_CONFLICT = (409, "memory_path_conflict_error")
CONFLICT = (409, "conflict_error")
UNKNOWN = (404, "not_found_error")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A server with a store that has one memory at ``/a``, with the content ``one``."""

    raw: httpx.Client
    base: str
    memories: str
    made: dict[str, Any]
    small: httpx.Client
    """A server whose stores hold three memories, and which wants a beta header."""
    patch: pytest.MonkeyPatch

    @property
    def memory(self) -> str:
        return f"{self.memories}/{self.made['id']}"

    def archived(self) -> "Scene":
        """Return the scene with its store archived."""
        self.raw.post(f"{self.base}/archive").raise_for_status()
        return self


Answers = Iterator[httpx.Response]
ROWS: dict[int, tuple[tuple[int, str], Callable[[Scene], Answers]]] = {}


def row(number: int, status_and_type: tuple[int, str]) -> Callable[[Callable[[Scene], Answers]], None]:
    def noted(ask: Callable[[Scene], Answers]) -> None:
        assert number not in ROWS
        ROWS[number] = (status_and_type, ask)

    return noted


@row(1, INVALID)
def a_body_that_is_none(at: Scene) -> Answers:
    for url in (STORES, at.base, at.memories, at.memory):
        for body in (b"", b"{", b"[]", b"null", b'"x"', b'{"nmae": "x"}', b'{"name": 7, "path": 7, "content": 7}'):
            yield at.raw.post(url, content=body)
    yield at.raw.post(f"{at.base}/memory_versions/{at.made['memory_version_id']}/redact", content=b'{"x": 1}')


@row(2, (401, "authentication_error"))
def no_credential_or_a_bad_one(at: Scene) -> Answers:
    for headers in ({"authorization": ""}, {"authorization": "Bearer wrong"}, {"authorization": "", "x-api-key": "x"}):
        yield at.raw.get(STORES, headers=headers)
        yield at.raw.post(at.memories, headers=headers, content=b"{")


@row(4, UNKNOWN)
def an_id_that_is_unknown(at: Scene) -> Answers:
    other = f"{STORES}/{at.raw.post(STORES, json={'name': 'n'}).json()['id']}"
    for store in (f"{STORES}/memstore_01", f"{STORES}/%00", f"{STORES}/%2e%2e"):
        yield at.raw.get(store)
        yield at.raw.get(f"{store}/memories")
        yield at.raw.get(f"{store}/memory_versions")
        yield at.raw.post(f"{store}/memories", json={"path": "/x", "content": ""})
    for store in (at.base, other):
        yield at.raw.get(f"{store}/memories/mem_01")
        yield at.raw.get(f"{store}/memory_versions/memver_01")
    yield at.raw.get(f"{other}/memories/{at.made['id']}")
    yield at.raw.get(f"{other}/memory_versions/{at.made['memory_version_id']}")


@row(5, INVALID)
def both_beta_headers(at: Scene) -> Answers:
    yield at.raw.get(STORES, headers={"anthropic-beta": BETAS})
    yield at.small.get(STORES)


@row(6, INVALID)
def a_name_that_is_none(at: Scene) -> Answers:
    yield at.raw.post(STORES, json={})
    for name in (None, "", "n" * 256, "a\x07", "a\x7f", "a\x85"):
        yield at.raw.post(STORES, json={"name": name})
    for name in ("", "n" * 256, "a\x07"):
        yield at.raw.post(at.base, json={"name": name})


@row(7, INVALID)
def a_description_that_is_too_long(at: Scene) -> Answers:
    for url in (STORES, at.base):
        yield at.raw.post(url, json={"name": "n", "description": "d" * 1_025})


@row(8, INVALID)
def metadata_past_a_limit(at: Scene) -> Answers:
    too_many = {f"{n}": "" for n in range(17)}
    for metadata in (too_many, {"": "v"}, {"k" * 65: "v"}, {"k": "v" * 513}, {"k": 7}, ["k"], "k"):
        for url in (STORES, at.base):
            yield at.raw.post(url, json={"name": "n", "metadata": metadata})


@row(9, INVALID)
def a_change_of_an_archived_store(at: Scene) -> Answers:
    yield at.archived().raw.post(at.base, json={"name": "new"})
    yield at.raw.post(at.base, json={})


@row(10, INVALID)
def a_write_in_an_archived_store(at: Scene) -> Answers:
    yield at.archived().raw.post(at.memories, json={"path": "/b", "content": ""})
    yield at.raw.post(at.memory, json={"content": "two"})
    yield at.raw.post(at.memory, json={"path": "/b"})


@row(11, INVALID)
def a_path_that_breaks_a_rule(at: Scene) -> Answers:
    for path in ("", "a", "/", "//a", "/a/", "/./a", "/a/..", "/\0", "/e\u0301", "/\u200d", "/" + "a/" * 20 + "a"):
        yield at.raw.post(at.memories, json={"path": path, "content": ""})
        yield at.raw.post(at.memory, json={"path": path})


@row(12, INVALID)
def a_content_that_is_too_large(at: Scene) -> Answers:
    for content in ("x" * 102_401, "é" * 51_201):
        yield at.raw.post(at.memories, json={"path": "/b", "content": content})
        yield at.raw.post(at.memory, json={"content": content})


@row(13, (413, "request_too_large"))
def a_body_past_the_cap(at: Scene) -> Answers:
    for url in (STORES, at.memories, at.memory):
        yield at.raw.post(url, content=b"x" * 1_000_000)


@row(14, INVALID)
def a_memory_without_content(at: Scene) -> Answers:
    yield at.raw.post(at.memories, json={"path": "/b"})
    yield at.raw.post(at.memories, json={"path": "/b", "content": None})


@row(15, INVALID)
def an_update_of_nothing(at: Scene) -> Answers:
    for body in ({}, {"content": None, "path": None}):
        yield at.raw.post(at.memory, json=body)


@row(16, INVALID)
def a_precondition_that_is_none(at: Scene) -> Answers:
    good = {"type": "content_sha256", "content_sha256": at.made["content_sha256"]}
    for more in (
        {"type": "etag"},
        {"content_sha256": "A" * 64},
        {"content_sha256": "0" * 63},
        {"content_sha256": None},
    ):
        yield at.raw.post(at.memory, json={"content": "two", "precondition": good | more})
    for name, value in good.items():
        yield at.raw.post(at.memory, json={"content": "two", "precondition": {name: value}})
    yield at.raw.delete(at.memory, params={"expected_content_sha256": "x"})


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


@row(29, CONFLICT)
def a_race_that_is_lost(at: Scene) -> Answers:
    """No request of a client's alone can bring it about: the store is made to say so."""

    def lost(*_: object, **__: object) -> None:
        raise ConcurrentChange("another write came between", remedy="Repeat the request")

    at.patch.setattr(Memories, "update", lost)
    yield at.raw.post(at.memory, json={"content": "two"})


@pytest.fixture
def scene(
    raw: httpx.Client, base: str, memories: str, small_raw: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> Scene:
    made = raw.post(memories, json={"path": "/a", "content": "one"}).json()
    return Scene(raw=raw, base=base, memories=memories, made=made, small=small_raw, patch=monkeypatch)


@pytest.mark.parametrize("number", ROWS, ids=str)
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
