"""Sessions through the official SDK, sync and async: made with their stores, read, listed, ended, and their tokens."""

from collections.abc import Iterator
from typing import Any

import anthropic
import httpx
import pytest
from blocking_sdk import KINDS, sdk_client

NAMES: Any = {"agent": "agent_a", "environment_id": "env_a"}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def attempts() -> list[httpx.Request]:
    """The requests that the SDK really sent, retries included."""
    return []


@pytest.fixture
def sdk(kind: str, server_url: str, api_key: str, attempts: list[httpx.Request]) -> Iterator[anthropic.Anthropic]:
    with sdk_client(kind, attempts, base_url=server_url, api_key=api_key) as client:
        yield client


@pytest.fixture
def store_id(sdk: anthropic.Anthropic) -> str:
    return sdk.beta.memory_stores.create(name="What We Learnt", description="so far").id


def attached(store_id: str, **more: Any) -> Any:
    return {"type": "memory_store", "memory_store_id": store_id} | more


def token_of(made: Any) -> str:
    found: str = made.to_dict()["sessions_token"]
    return found


def test_a_session_says_what_it_has_as_it_was_when_it_was_made(sdk: anthropic.Anthropic, store_id: str) -> None:
    other = sdk.beta.memory_stores.create(name="What we learnt").id
    made = sdk.beta.sessions.create(
        **NAMES,
        title="A day's work",
        metadata={"team": "a"},
        resources=[attached(store_id, instructions="read it first"), attached(other, access="read_only")],
    )
    sdk.beta.memory_stores.update(store_id, name="Renamed", description="")

    read = sdk.beta.sessions.retrieve(made.id)

    first, second = [resource.to_dict() for resource in read.resources]
    assert first == {
        "type": "memory_store",
        "memory_store_id": store_id,
        "access": "read_write",
        "instructions": "read it first",
        "name": "What We Learnt",
        "description": "so far",
        "mount_path": "/mnt/memory/what-we-learnt",
    }
    assert (second["access"], second["mount_path"]) == ("read_only", "/mnt/memory/what-we-learnt-2")
    assert (read.type, read.title, read.metadata, read.status) == ("session", "A day's work", {"team": "a"}, "idle")
    assert (read.agent.id, read.environment_id, read.archived_at) == ("agent_a", "env_a", None)
    assert "sessions_token" not in read.to_dict()
    assert made._request_id is not None


def test_sessions_are_listed_changed_archived_and_deleted(sdk: anthropic.Anthropic, store_id: str) -> None:
    sessions = sdk.beta.sessions
    made = [sessions.create(**NAMES, resources=[attached(store_id)]).id for _ in range(3)]

    changed = sessions.update(made[0], title="Named", metadata={"k": "v"})
    listed = [one.id for one in sessions.list(memory_store_id=store_id, limit=1)]
    archived = sessions.archive(made[1])
    left = [one.id for one in sessions.list(memory_store_id=store_id)]
    gone = sessions.delete(made[2])

    assert (changed.title, changed.metadata) == ("Named", {"k": "v"})
    assert listed == made[::-1]
    assert archived.archived_at == archived.updated_at
    assert left == [made[2], made[0]]
    assert gone.to_dict() == {"type": "session_deleted", "id": made[2]}
    with pytest.raises(anthropic.NotFoundError):
        sessions.retrieve(made[2])
    assert [one.id for one in sessions.list(memory_store_id=store_id, include_archived=True)] == [made[1], made[0]]


def test_a_sessions_token_writes_as_its_session_and_only_where_it_may(
    kind: str, sdk: anthropic.Anthropic, server_url: str, store_id: str
) -> None:
    reading = sdk.beta.memory_stores.create(name="To read").id
    hidden = sdk.beta.memory_stores.create(name="Hidden").id
    made = sdk.beta.sessions.create(**NAMES, resources=[attached(store_id), attached(reading, access="read_only")])

    with sdk_client(kind, [], base_url=server_url, auth_token=token_of(made)) as session:
        stores = session.beta.memory_stores
        written = stores.memories.create(store_id, path="/a", content="one")
        with pytest.raises(anthropic.PermissionDeniedError):
            stores.memories.create(reading, path="/a", content="one")
        with pytest.raises(anthropic.NotFoundError):
            stores.memories.list(hidden)
        with pytest.raises(anthropic.PermissionDeniedError):
            stores.create(name="n")
        assert {store.id for store in stores.list()} == {store_id, reading}
        sdk.beta.sessions.delete(made.id)

    version = sdk.beta.memory_stores.memory_versions.retrieve(written.memory_version_id, memory_store_id=store_id)
    assert version.created_by is not None
    assert version.created_by.to_dict() == {"type": "session_actor", "session_id": made.id}
    by_session = sdk.beta.memory_stores.memory_versions.list(store_id, session_id=made.id)
    assert [one.id for one in by_session] == [version.id]


@pytest.mark.parametrize(
    "resources",
    [
        pytest.param([{"memory_store_id": "memstore_x"}], id="an unknown store"),
        pytest.param([{}, {}], id="a store twice"),
        pytest.param([{"instructions": "i" * 4_097}], id="long instructions"),
        pytest.param([{}] * 9, id="nine stores"),
    ],
)
def test_what_cannot_be_attached_is_a_bad_request_and_one_only(
    sdk: anthropic.Anthropic, store_id: str, attempts: list[httpx.Request], resources: list[dict[str, Any]]
) -> None:
    attempts.clear()

    with pytest.raises(anthropic.BadRequestError) as refused:
        sdk.beta.sessions.create(**NAMES, resources=[attached(store_id) | more for more in resources])

    assert len(attempts) == 1
    assert refused.value.request_id is not None
    assert list(sdk.beta.sessions.list(memory_store_id=store_id)) == []


def test_the_workspace_may_be_named_if_it_is_the_right_one(
    kind: str, raw: httpx.Client, server_url: str, api_key: str
) -> None:
    named = raw.get("/v1/memory_stores").headers["anthropic-workspace-id"]

    for workspace_id, expected in ((named, None), ("wrkspc_another", anthropic.PermissionDeniedError)):
        attempts: list[httpx.Request] = []
        headers = {"anthropic-workspace-id": workspace_id}
        with sdk_client(kind, attempts, base_url=server_url, api_key=api_key, default_headers=headers) as client:
            refused = None
            try:
                assert client.beta.memory_stores.list(limit=1).data is not None
            except anthropic.APIStatusError as error:
                refused = type(error)
        assert refused is expected
        assert [request.headers["anthropic-workspace-id"] for request in attempts] == [workspace_id]
