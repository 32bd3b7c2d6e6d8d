"""A request whose answer was lost is repeated by the SDK: the state is the one that a single request leaves.

The first attempt reaches the server and is done; then the connection is reset, and the SDK sends the request again by
itself, with ``x-stainless-retry-count: 1``.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import anthropic
import httpx
import pytest
from blocking_sdk import KINDS, sdk_client
from lossy import Lossy, lossy


@pytest.fixture(scope="module")
def line(server_url: str) -> Iterator[Lossy]:
    with lossy(server_url) as between:
        yield between


@pytest.fixture
def attempts() -> list[httpx.Request]:
    return []


@pytest.fixture(params=KINDS)
def sdk(
    request: pytest.FixtureRequest,
    line: Lossy,
    api_key: str,
    attempts: list[httpx.Request],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[anthropic.Anthropic]:
    monkeypatch.setattr("anthropic._base_client.INITIAL_RETRY_DELAY", 0.01)
    with sdk_client(request.param, attempts, base_url=line.url, api_key=api_key) as client:
        yield client


@pytest.fixture
def store_id(sdk: anthropic.Anthropic) -> str:
    return sdk.beta.memory_stores.create(name="Behind a bad line").id


@pytest.fixture
def memory(sdk: anthropic.Anthropic, store_id: str) -> str:
    return sdk.beta.memory_stores.memories.create(store_id, path="/a", content="one").id


@pytest.fixture(autouse=True)
def each_call_was_tried_twice(line: Lossy, attempts: list[httpx.Request]) -> Iterator[None]:
    """What a test calls after `lose` is sent twice, and the second attempt says that it is one."""
    yield
    assert line.is_done
    assert [request.headers["x-stainless-retry-count"] for request in attempts].count("1") == 1


def operations(sdk: anthropic.Anthropic, store_id: str) -> list[str]:
    """Return what happened to the memories of a store, oldest first."""
    listed = sdk.beta.memory_stores.memory_versions.list(store_id, limit=100)
    return [str(version.operation) for version in listed][::-1]


def test_a_store_is_made_once(sdk: anthropic.Anthropic, line: Lossy) -> None:
    since = datetime.now(UTC) - timedelta(seconds=1)
    line.lose()

    made = sdk.beta.memory_stores.create(name="made once", description=f"{since}", metadata={"k": "v"})

    found = [one for one in sdk.beta.memory_stores.list(created_at_gte=since) if one.description == f"{since}"]
    assert found == [made]


def test_a_store_is_changed(sdk: anthropic.Anthropic, line: Lossy, store_id: str) -> None:
    line.lose()

    changed = sdk.beta.memory_stores.update(store_id, name="Another", metadata={"more": "1"})

    assert (changed.name, changed.metadata) == ("Another", {"more": "1"})
    assert sdk.beta.memory_stores.retrieve(store_id) == changed


def test_a_store_is_archived(sdk: anthropic.Anthropic, line: Lossy, store_id: str) -> None:
    line.lose()

    archived = sdk.beta.memory_stores.archive(store_id)

    assert archived.archived_at == archived.updated_at
    assert sdk.beta.memory_stores.retrieve(store_id) == archived


def test_a_store_is_deleted_and_the_retry_finds_none(sdk: anthropic.Anthropic, line: Lossy, store_id: str) -> None:
    """Nothing of a deleted store is kept, so the retry cannot be told from a delete of what never was: 404."""
    line.lose()

    with pytest.raises(anthropic.NotFoundError):
        sdk.beta.memory_stores.delete(store_id)

    assert store_id not in [one.id for one in sdk.beta.memory_stores.list(include_archived=True, limit=100)]


def test_a_memory_is_made_once(sdk: anthropic.Anthropic, line: Lossy, store_id: str) -> None:
    line.lose()

    made = sdk.beta.memory_stores.memories.create(store_id, path="/a", content="one", view="full")

    assert (made.path, made.content) == ("/a", "one")
    assert [item.path for item in sdk.beta.memory_stores.memories.list(store_id)] == ["/a"]
    assert operations(sdk, store_id) == ["created"]


@pytest.mark.parametrize("is_conditional", [False, True], ids=["plain", "with a precondition"])
@pytest.mark.parametrize("path", [None, "/b"], ids=["content", "content and path"])
def test_a_memory_is_changed_once(
    sdk: anthropic.Anthropic, line: Lossy, store_id: str, memory: str, is_conditional: bool, path: str | None
) -> None:
    memories = sdk.beta.memory_stores.memories
    before = memories.retrieve(memory, memory_store_id=store_id)
    line.lose()

    changed = memories.update(
        memory,
        memory_store_id=store_id,
        content="two",
        path=path or anthropic.omit,
        precondition={"type": "content_sha256", "content_sha256": before.content_sha256}
        if is_conditional
        else anthropic.omit,
        view="full",
    )

    assert (changed.id, changed.path, changed.content) == (memory, path or "/a", "two")
    assert memories.retrieve(memory, memory_store_id=store_id) == changed
    assert operations(sdk, store_id) == ["created", "modified"]


def test_a_memory_is_renamed_once(sdk: anthropic.Anthropic, line: Lossy, store_id: str, memory: str) -> None:
    memories = sdk.beta.memory_stores.memories
    line.lose()

    moved = memories.update(memory, memory_store_id=store_id, path="/b/c")

    assert (moved.id, moved.path) == (memory, "/b/c")
    assert [item.path for item in memories.list(store_id)] == ["/b/c"]
    assert operations(sdk, store_id) == ["created", "modified"]


@pytest.mark.parametrize("is_conditional", [False, True], ids=["plain", "with a digest"])
def test_a_memory_is_deleted_once(
    sdk: anthropic.Anthropic, line: Lossy, store_id: str, memory: str, is_conditional: bool
) -> None:
    memories = sdk.beta.memory_stores.memories
    digest = memories.retrieve(memory, memory_store_id=store_id).content_sha256
    line.lose()

    gone = memories.delete(
        memory, memory_store_id=store_id, expected_content_sha256=digest if is_conditional else anthropic.omit
    )

    assert gone.to_dict() == {"type": "memory_deleted", "id": memory}
    assert operations(sdk, store_id) == ["created", "deleted"]
    with pytest.raises(anthropic.NotFoundError):
        memories.delete(memory, memory_store_id=store_id)


def test_a_version_is_redacted_once(sdk: anthropic.Anthropic, line: Lossy, store_id: str, memory: str) -> None:
    stores = sdk.beta.memory_stores
    first = stores.memories.retrieve(memory, memory_store_id=store_id).memory_version_id
    stores.memories.update(memory, memory_store_id=store_id, content="two")
    line.lose()

    redacted = stores.memory_versions.redact(first, memory_store_id=store_id)

    assert redacted.redacted_at is not None
    assert stores.memory_versions.retrieve(first, memory_store_id=store_id) == redacted


def test_a_repeated_session_is_another_one_and_its_token_opens_its_store(
    sdk: anthropic.Anthropic, line: Lossy, server_url: str, store_id: str
) -> None:
    """An equal session may be another agent's, so none is taken over; that of the lost answer stays unused."""
    line.lose()

    made = sdk.beta.sessions.create(
        agent="agent_a",
        environment_id="env_a",
        resources=[{"type": "memory_store", "memory_store_id": store_id, "access": "read_only"}],
    )

    token = made.to_dict()["sessions_token"]
    assert next(one.id for one in sdk.beta.sessions.list(memory_store_id=store_id)) == made.id
    with anthropic.Anthropic(base_url=server_url, auth_token=f"{token}") as session:
        assert [store.id for store in session.beta.memory_stores.list()] == [store_id]


def test_a_session_is_archived(sdk: anthropic.Anthropic, line: Lossy) -> None:
    made = sdk.beta.sessions.create(agent="agent_a", environment_id="env_a")
    line.lose()

    archived = sdk.beta.sessions.archive(made.id)

    assert archived.archived_at == archived.updated_at
    assert sdk.beta.sessions.retrieve(made.id) == archived
