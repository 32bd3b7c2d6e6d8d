"""Sessions through the official SDK, sync and async: its types find all that they require."""

from collections.abc import Iterator
from typing import Any

import anthropic
import httpx
import pytest
from blocking_sdk import KINDS, sdk_client


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def sdk(kind: str, server_url: str, api_key: str) -> Iterator[anthropic.Anthropic]:
    with sdk_client(kind, [], base_url=server_url, api_key=api_key) as client:
        yield client


@pytest.fixture
def store_id(sdk: anthropic.Anthropic) -> str:
    return sdk.beta.memory_stores.create(name="From the SDK", description="of a session").id


@pytest.fixture
def session(sdk: anthropic.Anthropic, store_id: str) -> Any:
    resource: Any = {"type": "memory_store", "memory_store_id": store_id, "instructions": "read it first"}
    return sdk.beta.sessions.create(
        agent="agent_01", environment_id="env_01", title="One", metadata={"run": "7"}, resources=[resource]
    )


def strictly_parsed(model: Any) -> None:
    """Check an answer against the SDK's types: the SDK itself takes whatever comes."""
    type(model).model_validate(model.to_dict(), strict=False)


def test_a_session_has_all_that_the_sdk_requires(sdk: anthropic.Anthropic, session: Any, store_id: str) -> None:
    sessions = sdk.beta.sessions

    found = sessions.retrieve(session.id)
    (listed,) = sessions.list(memory_store_id=store_id, statuses=["idle", "running"], order="asc")

    for one in (session, found, listed):
        strictly_parsed(one)
    assert {**found.to_dict(), "sessions_token": session.sessions_token} == session.to_dict()
    assert found == listed
    assert (found.agent.id, found.agent.type, found.environment_id) == ("agent_01", "agent", "env_01")
    (resource,) = found.resources
    assert resource.type == "memory_store"
    assert (resource.name, resource.description, resource.access, resource.instructions, resource.mount_path) == (
        "From the SDK", "of a session", "read_write", "read it first", "/mnt/memory/from-the-sdk",
    )  # fmt: skip
    assert [resource] == list(sessions.resources.list(session.id))


def test_a_session_is_changed_archived_and_deleted(sdk: anthropic.Anthropic, session: Any, store_id: str) -> None:
    sessions = sdk.beta.sessions

    changed = sessions.update(session.id, title="Two", metadata={"run": None, "more": "1"})
    archived = sessions.archive(session.id)

    assert (changed.title, changed.metadata) == ("Two", {"more": "1"})
    assert archived.archived_at == archived.updated_at
    assert [] == list(sessions.list(memory_store_id=store_id))
    assert [session.id] == [one.id for one in sessions.list(memory_store_id=store_id, include_archived=True)]
    assert {"id": session.id, "type": "session_deleted"} == sessions.delete(session.id).to_dict()
    with pytest.raises(anthropic.NotFoundError):
        sessions.retrieve(session.id)


def test_nothing_is_attached_later(sdk: anthropic.Anthropic, session: Any) -> None:
    with pytest.raises(anthropic.BadRequestError):
        sdk.beta.sessions.resources.add(session.id, type="file", file_id="file_01")


def test_the_sessions_token_opens_memory_for_the_sdk(kind: str, server_url: str, session: Any, store_id: str) -> None:
    with sdk_client(kind, [], base_url=server_url, api_key=session.sessions_token) as client:
        stores = client.beta.memory_stores
        made = stores.memories.create(store_id, path="/a.md", content="one")
        (version,) = stores.memory_versions.list(store_id, session_id=session.id)

        assert made.memory_version_id == version.id
        assert {"type": "session_actor", "session_id": session.id} == version.to_dict()["created_by"]
        assert [store_id] == [store.id for store in stores.list()]
        with pytest.raises(anthropic.PermissionDeniedError):
            stores.archive(store_id)
        with pytest.raises(anthropic.PermissionDeniedError):
            client.beta.sessions.list()


def test_the_sdk_names_its_workspace_and_hears_it_of_an_error(
    sdk: anthropic.Anthropic, session: Any, server_url: str, api_key: str
) -> None:
    headers = {"authorization": f"Bearer {api_key}"}
    own = httpx.get(f"{server_url}/v1/sessions", headers=headers).headers["anthropic-workspace-id"]

    assert session.id == sdk.beta.sessions.retrieve(session.id, workspace_id=own).id
    with pytest.raises(anthropic.PermissionDeniedError) as refused:
        sdk.beta.sessions.retrieve(session.id, workspace_id="wrkspc_01x")
    assert own == refused.value.workspace_id
