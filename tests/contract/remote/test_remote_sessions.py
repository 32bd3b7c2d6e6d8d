"""What every `Remote` owes its callers about sessions. Who makes them is no part of it: a fixture does."""

from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from fakes import MemoryRemote

from memfs.api.sessions import AttachedStore, RemoteSession
from memfs.core.attachment import Access
from memfs.core.errors import InvalidRequest, NotFound
from memfs.remote.http import HttpRemote
from memfs.remote.protocol import Remote
from memfs.server.serve import StoreServer

pytestmark = pytest.mark.anyio

Call = Callable[[str, dict[str, Any]], Awaitable[str]]


@pytest.fixture
def call(request: pytest.FixtureRequest, remote: Remote) -> Call:
    """Return how sessions are made and ended here: POST to a place below /v1/sessions; an id comes back."""
    kind = request.node.callspec.params["remote"]
    if kind in {"http", "http-postgresql"}:
        return over_http(request.getfixturevalue("sqlite_server" if kind == "http" else "postgresql_server"))
    inner = remote if isinstance(remote, MemoryRemote) else vars(remote)["_remote"]
    assert isinstance(inner, MemoryRemote)
    return in_memory(inner)


def over_http(server: StoreServer) -> Call:
    async def post(where: str, body: dict[str, Any]) -> str:
        async with httpx.AsyncClient(headers={"x-api-key": server.api_key}) as client:
            answer = await client.post(f"{server.url}/v1/sessions{where}", json=body)
        return str(answer.raise_for_status().json()["id"])

    return post


def in_memory(remote: MemoryRemote) -> Call:
    async def post(where: str, body: dict[str, Any]) -> str:
        session_id = where.split("/")[1] if where else f"sesn_{len(remote.sessions)}"
        if where:
            ended = {"archived_at": "2026-11-30T12:00:00Z"}
            remote.sessions[session_id] = RemoteSession(**{**dict(remote.sessions[session_id]), **ended})
            return session_id
        resources = [
            {"name": "contract", "description": "", "mount_path": "/mnt/memory/contract", "access": "read_write"} | one
            for one in body["resources"]
        ]
        remote.sessions[session_id] = RemoteSession(id=session_id, resources=resources)
        return session_id

    return post


async def test_a_session_is_retrieved_with_its_stores(remote: Remote, call: Call, store_id: str) -> None:
    resource = {"type": "memory_store", "memory_store_id": store_id, "access": "read_only", "instructions": "Look."}
    session_id = await call("", {"resources": [resource]})

    found = await remote.retrieve_session(session_id)

    assert (session_id, False) == (found.id, found.is_over)
    assert [
        AttachedStore(
            type="memory_store", memory_store_id=store_id, access=Access.READ_ONLY, instructions="Look.",
            name="contract", description="", mount_path="/mnt/memory/contract",
        )
    ] == found.stores  # fmt: skip


async def test_an_archived_session_is_retrieved_and_over(remote: Remote, call: Call, store_id: str) -> None:
    session_id = await call("", {"resources": [{"type": "memory_store", "memory_store_id": store_id}]})
    await call(f"/{session_id}/archive", {})

    assert (await remote.retrieve_session(session_id)).is_over


async def test_a_session_that_never_was_is_not_found(remote: Remote) -> None:
    with pytest.raises(NotFound):
        await remote.retrieve_session("sesn_01nowhere")


async def test_an_empty_id_is_no_session(remote: Remote) -> None:
    with pytest.raises((InvalidRequest, NotFound)):
        await remote.retrieve_session("")


async def test_what_else_a_hosted_session_says_is_left_aside() -> None:
    """Status, agents, other kinds of resources and fields that are missing or null: the hosted API has them all."""
    answered = {
        "id": "sesn_1", "type": "session", "status": "running", "archived_at": None, "environment_id": "env_1",
        "agent": {"id": "agent_1", "model": {"id": "m", "speed": "fast"}}, "budget": {"usd": 1}, "title": None,
        "resources": [
            {"type": "file", "id": "res_1", "file_id": "file_1", "mount_path": "/uploads/a"},
            {"type": "memory_store", "memory_store_id": "memstore_1", "access": None, "mount_path": None},
            {"type": "memory_store", "memory_store_id": "memstore_2"},
        ],
    }  # fmt: skip
    asked = []

    def far(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(200, json=answered)

    found = await HttpRemote("https://far.example", "key", transport=httpx.MockTransport(far)).retrieve_session(
        "sesn_1"
    )

    assert ["memstore_1", "memstore_2"] == [one.memory_store_id for one in found.stores]
    assert "managed-agents-2026-04-01" == asked[0].headers["anthropic-beta"]


def test_a_terminated_session_is_over() -> None:
    assert RemoteSession(id="sesn_1", status="terminated", resources=[]).is_over
