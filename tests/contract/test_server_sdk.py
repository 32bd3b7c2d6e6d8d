"""The official SDK as the client of the server: every endpoint of memory, paging helpers, exception classes.

Each test runs through the sync and through the async SDK, on every engine.
"""

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import anthropic
import httpx
import pytest
from blocking_sdk import KINDS, sdk_client

STALE = {"type": "content_sha256", "content_sha256": "0" * 64}
LARGE = "x" * 2_000_000


@pytest.fixture
def attempts() -> list[httpx.Request]:
    """The requests that the SDK really sent, retries included."""
    return []


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def sdk(kind: str, server_url: str, api_key: str, attempts: list[httpx.Request]) -> Iterator[anthropic.Anthropic]:
    with sdk_client(kind, attempts, base_url=server_url, api_key=api_key) as client:
        yield client


@pytest.fixture
def store_id(sdk: anthropic.Anthropic) -> str:
    return sdk.beta.memory_stores.create(name="From the SDK").id


def test_stores_through_the_sdk(sdk: anthropic.Anthropic) -> None:
    stores = sdk.beta.memory_stores
    since = datetime.now(UTC) - timedelta(seconds=1)

    made = stores.create(name="Notes", description="what was learnt", metadata={"team": "a", "kept": "1"})
    changed = stores.update(made.id, name="New", metadata={"team": None, "more": "2"})
    same = stores.update(made.id)
    listed = [store.id for store in stores.list(created_at_gte=since, limit=1)]
    archived = stores.archive(made.id)

    assert (made.type, made.archived_at, made.metadata) == ("memory_store", None, {"team": "a", "kept": "1"})
    assert (changed.name, changed.description, changed.metadata) == (
        "New",
        "what was learnt",
        {"kept": "1", "more": "2"},
    )
    assert same == changed
    assert same.created_at.tzinfo is not None
    assert made.id in listed
    assert archived.archived_at == archived.updated_at
    assert stores.archive(made.id) == archived == stores.retrieve(made.id)
    assert made.id not in [store.id for store in stores.list(created_at_gte=since)]
    assert made.id in [store.id for store in stores.list(created_at_gte=since, include_archived=True)]
    assert stores.delete(made.id).to_dict() == {"id": made.id, "type": "memory_store_deleted"}
    with pytest.raises(anthropic.NotFoundError) as missing:
        stores.retrieve(made.id)
    body: Any = missing.value.body
    assert missing.value.request_id == body["request_id"]


def test_memories_through_the_sdk(sdk: anthropic.Anthropic, store_id: str) -> None:
    memories = sdk.beta.memory_stores.memories
    content = "één\r\n\x00\u2028"

    made = memories.create(store_id, path="/notes/a.md", content=content, view="full")
    fitting: Any = {"type": "content_sha256", "content_sha256": made.content_sha256}
    moved = memories.update(made.id, memory_store_id=store_id, path="/b.md", precondition=fitting)
    edited = memories.update(made.id, memory_store_id=store_id, content="two")
    read = memories.retrieve(made.id, memory_store_id=store_id)
    gone = memories.delete(made.id, memory_store_id=store_id, expected_content_sha256=read.content_sha256)

    assert made.content == content
    assert made.content_sha256 == hashlib.sha256(content.encode()).hexdigest()
    assert (moved.id, moved.path, moved.content) == (made.id, "/b.md", None)
    assert (read.content, read.memory_version_id) == ("two", edited.memory_version_id)
    assert gone.to_dict() == {"id": made.id, "type": "memory_deleted"}
    assert made._request_id is not None
    assert made._request_id.startswith("req_")


def test_versions_through_the_sdk(sdk: anthropic.Anthropic, store_id: str) -> None:
    memories = sdk.beta.memory_stores.memories
    versions = sdk.beta.memory_stores.memory_versions
    made = memories.create(store_id, path="/a", content="one")
    edited = memories.update(made.id, memory_store_id=store_id, content="two")
    memories.delete(made.id, memory_store_id=store_id)

    listed = list(versions.list(store_id, memory_id=made.id, limit=1))
    first = versions.retrieve(made.memory_version_id, memory_store_id=store_id)
    since = list(versions.list(store_id, created_at_gte=edited.updated_at, view="full"))

    assert [one.operation for one in listed] == ["deleted", "modified", "created"]
    assert listed[2].id == made.memory_version_id
    assert first.content == "one"
    assert first.created_by is not None
    assert first.created_by.type == "api_actor"
    assert list(versions.list(store_id, api_key_id=first.created_by.api_key_id)) == listed
    assert [one.content for one in since] == [None, "two"]


def test_a_redaction_through_the_sdk(sdk: anthropic.Anthropic, store_id: str, attempts: list[httpx.Request]) -> None:
    memories = sdk.beta.memory_stores.memories
    versions = sdk.beta.memory_stores.memory_versions
    made = memories.create(store_id, path="/a", content="one")
    attempts.clear()
    with pytest.raises(anthropic.BadRequestError):
        versions.redact(made.memory_version_id, memory_store_id=store_id)
    memories.update(made.id, memory_store_id=store_id, content="two")

    redacted = versions.redact(made.memory_version_id, memory_store_id=store_id)
    again = versions.redact(made.memory_version_id, memory_store_id=store_id)

    assert len(attempts) == 4
    assert (redacted.path, redacted.content, redacted.content_sha256, redacted.content_size_bytes) == (None,) * 4
    assert redacted.redacted_at is not None
    assert redacted.redacted_by == redacted.created_by
    assert again == redacted == versions.retrieve(redacted.id, memory_store_id=store_id)
    assert [one.id for one in versions.list(store_id, memory_id=made.id)][-1] == redacted.id
    with pytest.raises(anthropic.NotFoundError):
        versions.redact("memver_none", memory_store_id=store_id)


def test_the_paging_helpers_walk_a_whole_store(sdk: anthropic.Anthropic, store_id: str) -> None:
    memories = sdk.beta.memory_stores.memories
    paths = [f"/d{n % 3}/{n:02}" for n in range(30)]
    for path in paths:
        memories.create(store_id, path=path, content=path)

    whole = list(memories.list(store_id, view="full", limit=100))
    level = list(memories.list(store_id, depth=1, limit=2))
    below = list(memories.list(store_id, path_prefix="/d1/", limit=3))

    assert [item.path for item in whole] == sorted(paths)
    assert all(item.type == "memory" and item.content == item.path for item in whole)
    assert [(item.type, item.path) for item in level] == [("memory_prefix", f"/d{n}/") for n in range(3)]
    assert [item.path for item in below] == sorted(path for path in paths if path.startswith("/d1/"))


@pytest.mark.parametrize(
    ("method", "arguments", "expected"),
    [
        pytest.param("create", {"path": "a", "content": ""}, anthropic.BadRequestError, id="a wrong path"),
        pytest.param("create", {"path": "/n", "content": None}, anthropic.BadRequestError, id="no content"),
        pytest.param("create", {"path": "/a", "content": ""}, anthropic.ConflictError, id="a taken path"),
        pytest.param("create", {"path": "/a/b", "content": ""}, anthropic.ConflictError, id="a path below a memory"),
        pytest.param("create", {"path": "/b", "content": LARGE}, anthropic.APIStatusError, id="a body past the cap"),
        pytest.param("update", {}, anthropic.BadRequestError, id="nothing to change"),
        pytest.param("update", {"content": "x", "precondition": STALE}, anthropic.ConflictError, id="a stale update"),
        pytest.param("delete", {"expected_content_sha256": "0" * 64}, anthropic.ConflictError, id="a stale delete"),
        pytest.param("retrieve", {"memory_id": "mem_x"}, anthropic.NotFoundError, id="an unknown memory"),
        pytest.param("list", {"memory_store_id": "memstore_x"}, anthropic.NotFoundError, id="an unknown store"),
        pytest.param("list", {"betas": ["managed-agents-2026-04-01"]}, anthropic.BadRequestError, id="both betas"),
    ],
)
def test_each_refusal_is_its_exception_class_and_one_request(
    sdk: anthropic.Anthropic,
    store_id: str,
    attempts: list[httpx.Request],
    method: str,
    arguments: dict[str, Any],
    expected: type[anthropic.APIStatusError],
) -> None:
    memories = sdk.beta.memory_stores.memories
    one = {"memory_store_id": store_id}
    made = memories.create(store_id, path="/a", content="one")
    if method not in {"create", "list"}:
        one["memory_id"] = made.id
    attempts.clear()

    with pytest.raises(expected) as refused:
        getattr(memories, method)(**(one | arguments))

    assert len(attempts) == 1
    assert refused.value.request_id is not None
    assert isinstance(refused.value.body, dict)
    assert refused.value.body["request_id"] == refused.value.request_id


def test_metadata_past_a_limit_are_the_sdks_own_class(sdk: anthropic.Anthropic) -> None:
    with pytest.raises(anthropic.BadRequestError) as refused:
        sdk.beta.memory_stores.create(name="n", metadata={"k" * 65: ""})

    assert refused.value.error_code == "invalid_metadata"
    assert type(refused.value) is not anthropic.BadRequestError


def test_a_path_conflict_names_what_is_in_the_way(sdk: anthropic.Anthropic, store_id: str) -> None:
    memories = sdk.beta.memory_stores.memories
    made = memories.create(store_id, path="/a", content="")

    with pytest.raises(anthropic.ConflictError) as refused:
        memories.create(store_id, path="/a/b", content="")

    assert refused.value.type == "memory_path_conflict_error"
    assert isinstance(refused.value.body, dict)
    assert refused.value.body["error"]["conflicting_path"] == "/a"
    assert refused.value.body["error"]["conflicting_memory_id"] == made.id


@pytest.mark.parametrize(
    ("credential", "header"),
    [
        pytest.param({"api_key": "KEY"}, "authorization", id="an API key"),
        pytest.param({"auth_token": "KEY"}, "authorization", id="a token"),
        pytest.param(
            {"auth_token": "KEY", "default_headers": {"authorization": anthropic.omit, "x-api-key": "KEY"}},
            "x-api-key",
            id="the header of older clients",
        ),
    ],
)
def test_each_credential_opens_the_server_and_a_wrong_one_does_not(
    kind: str, server_url: str, api_key: str, credential: dict[str, Any], header: str
) -> None:
    for key, expected in ((api_key, None), ("wrong", anthropic.AuthenticationError)):
        attempts: list[httpx.Request] = []
        headers = credential.get("default_headers", {})
        options = {name: key for name in credential if name != "default_headers"}
        given = {name: key if value == "KEY" else value for name, value in headers.items()}
        with sdk_client(kind, attempts, base_url=server_url, default_headers=given, **options) as client:
            assert refusal_of(client) is expected
        assert [header in request.headers for request in attempts] == [True]
        assert len({"authorization", "x-api-key"} & set(attempts[0].headers)) == 1


def refusal_of(client: anthropic.Anthropic, **options: Any) -> type[anthropic.APIStatusError] | None:
    """Return how the server refuses a listing, or None if it does not."""
    try:
        assert client.beta.memory_stores.list(limit=1, **options).data is not None
    except anthropic.APIStatusError as error:
        return type(error)
    return None


@pytest.mark.parametrize(
    ("beta", "expected"),
    [
        ("agent-memory-2026-07-22", None),
        ("managed-agents-2026-04-01", None),
        ("agent-memory-2026-07-22, managed-agents-2026-04-01", anthropic.BadRequestError),
        (anthropic.omit, None),
    ],
    ids=["the memory beta", "the agents beta", "both", "none"],
)
def test_either_beta_header_and_none_are_taken_and_both_are_not(
    kind: str, server_url: str, api_key: str, beta: Any, expected: type[anthropic.APIStatusError] | None
) -> None:
    attempts: list[httpx.Request] = []
    with sdk_client(kind, attempts, base_url=server_url, api_key=api_key) as client:
        assert refusal_of(client, extra_headers={"anthropic-beta": beta}) is expected
    assert [request.headers.get("anthropic-beta") for request in attempts] == [None if beta is anthropic.omit else beta]


def test_an_archived_store_can_be_read_and_no_longer_written(sdk: anthropic.Anthropic, store_id: str) -> None:
    stores = sdk.beta.memory_stores
    made = stores.memories.create(store_id, path="/a", content="one")
    stores.archive(store_id)

    with pytest.raises(anthropic.BadRequestError):
        stores.memories.create(store_id, path="/new", content="")
    with pytest.raises(anthropic.BadRequestError):
        stores.update(store_id, name="new")

    assert stores.memories.retrieve(made.id, memory_store_id=store_id).content == "one"
    assert stores.memories.delete(made.id, memory_store_id=store_id).id == made.id
