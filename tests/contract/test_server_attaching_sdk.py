"""What a session through the official SDK, sync and async, says of its stores, and which stores it cannot have."""

from collections.abc import Iterator
from typing import Any

import anthropic
import httpx
import pytest
from blocking_sdk import KINDS, sdk_client

NAMES: Any = {"agent": "agent_a", "environment_id": "env_a"}


@pytest.fixture
def attempts() -> list[httpx.Request]:
    """The requests that the SDK really sent, retries included."""
    return []


@pytest.fixture(params=KINDS)
def sdk(
    request: pytest.FixtureRequest, server_url: str, api_key: str, attempts: list[httpx.Request]
) -> Iterator[anthropic.Anthropic]:
    with sdk_client(request.param, attempts, base_url=server_url, api_key=api_key) as client:
        yield client


@pytest.fixture
def store_id(sdk: anthropic.Anthropic) -> str:
    return sdk.beta.memory_stores.create(name="What We Learnt", description="so far").id


def attached(store_id: str, **more: Any) -> Any:
    return {"type": "memory_store", "memory_store_id": store_id} | more


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
