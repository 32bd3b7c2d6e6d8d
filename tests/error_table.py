"""The first half of the API's error table: what is refused for what was sent, whatever the stores hold.

Each row yields the answers that must be refused alike. The other half, and the test that asks, are in
``contract/test_server_error_table.py``.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from keyring import new_key
from wire import INVALID

from memfs.core.attachment import Access
from memfs.server.serve import StoreServer

STORES = "/v1/memory_stores"
SESSIONS = "/v1/sessions"
BETAS = "managed-agents-2026-04-01,agent-memory-2026-07-22"
UNKNOWN = (404, "not_found_error")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A server with a store that has one memory at ``/a``, with the content ``one``."""

    server: StoreServer
    raw: httpx.Client
    base: str
    memories: str
    made: dict[str, Any]
    small: httpx.Client
    """A server whose stores hold three memories, and which wants a beta header."""
    patch: pytest.MonkeyPatch
    own: Callable[..., AbstractContextManager[StoreServer]]
    """Runs a server of the row's own, with options."""

    def session(self, *resources: dict[str, Any]) -> httpx.Response:
        """Ask for a session with resources."""
        stores = [{"type": "memory_store"} | resource for resource in resources]
        return self.raw.post(SESSIONS, json={"agent": "agent_a", "environment_id": "env_a", "resources": stores})

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


@row(3, (403, "permission_error"))
def a_credential_that_may_not(at: Scene) -> Answers:
    """A key that may only read, a workspace that is not the key's, and a session's token."""
    version = f"{at.base}/memory_versions/{at.made['memory_version_id']}"
    store_id = at.made["memory_store_id"]
    reading = new_key(at.server, access=Access.READ_ONLY)
    looking = at.session({"memory_store_id": store_id, "access": "read_only"}).json()["sessions_token"]
    writing = at.session({"memory_store_id": store_id}).json()["sessions_token"]
    may_read = (reading, {"authorization": f"Bearer {looking}"})
    for headers in (*may_read, {"authorization": f"Bearer {writing}"}):
        yield at.raw.post(STORES, json={"name": "n"}, headers=headers)
        yield at.raw.post(at.base, json={"name": "n"}, headers=headers)
        yield at.raw.post(f"{at.base}/archive", headers=headers)
        yield at.raw.delete(at.base, headers=headers)
        yield at.raw.post(f"{version}/redact", headers=headers)
        yield at.raw.post(SESSIONS, json={"agent": "agent_a", "environment_id": "env_a"}, headers=headers)
    for headers in may_read:
        yield at.raw.post(at.memories, json={"path": "/b", "content": ""}, headers=headers)
        yield at.raw.post(at.memory, json={"content": "two"}, headers=headers)
        yield at.raw.delete(at.memory, headers=headers)
    yield at.raw.get(STORES, headers={"anthropic-workspace-id": "wrkspc_another"})


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
