"""Another workspace's ids: to a key they are as unknown as ids that never were, in every place."""

from typing import Any

import httpx
import pytest
from keyring import new_key
from wire import INVALID, refusal

from memfs.api import routes
from memfs.server.serve import StoreServer

UNKNOWN = (404, "not_found_error")
SESSION = {"agent": "agent_a", "environment_id": "env_a"}
STALE = {"type": "content_sha256", "content_sha256": "0" * 64}


@pytest.fixture
def stranger(server: StoreServer) -> dict[str, str]:
    return new_key(server, workspace="the strangers")


@pytest.fixture
def ids(raw: httpx.Client, base: str, memories: str) -> dict[str, str]:
    """The ids of a memory whose first version may be redacted."""
    made = raw.post(memories, json={"path": "/a", "content": "one"}).json()
    raw.post(f"{memories}/{made['id']}", json={"content": "two"}).raise_for_status()
    return {
        "store_id": base.rpartition("/")[2],
        "memory_id": made["id"],
        "version_id": made["memory_version_id"],
        "session_id": raw.post(routes.SESSIONS, json=SESSION).json()["id"],
    }


def told(answer: httpx.Response) -> dict[str, Any]:
    """Return an answer without what differs from request to request."""
    error: dict[str, Any] = answer.json()["error"]
    return error


@pytest.mark.parametrize(
    ("method", "template", "body"),
    [
        ("GET", routes.STORE, None),
        ("POST", routes.STORE, {"name": "taken over"}),
        ("POST", routes.STORE, {"name": 7}),
        ("POST", routes.ARCHIVE, None),
        ("DELETE", routes.STORE, None),
        ("GET", routes.MEMORIES, None),
        ("POST", routes.MEMORIES, {"path": "/b", "content": ""}),
        ("POST", routes.MEMORIES, {"path": "/a/b", "content": ""}),
        ("POST", routes.MEMORIES, {"path": "no path"}),
        ("GET", routes.MEMORY, None),
        ("POST", routes.MEMORY, {"content": "taken over"}),
        ("POST", routes.MEMORY, {"content": "two", "precondition": STALE}),
        ("POST", routes.MEMORY, {}),
        ("DELETE", routes.MEMORY, None),
        ("GET", routes.VERSIONS, None),
        ("GET", routes.VERSION, None),
        ("POST", routes.REDACT, None),
        ("POST", routes.REDACT, {"x": 1}),
        ("GET", routes.CHANGES, None),
        ("GET", routes.SESSION, None),
        ("POST", routes.SESSION, {"title": "taken over"}),
        ("POST", routes.SESSION, {"title": 7}),
        ("POST", routes.ARCHIVE_SESSION, None),
        ("DELETE", routes.SESSION, None),
        ("GET", routes.SESSION_RESOURCES, None),
        ("POST", routes.SESSION_RESOURCES, {"type": "memory_store"}),
    ],
)
def test_what_another_workspace_has_is_unknown(
    raw: httpx.Client,
    memories: str,
    ids: dict[str, str],
    stranger: dict[str, str],
    method: str,
    template: str,
    body: dict[str, Any] | None,
) -> None:
    """Also by the words of the answer: a stranger cannot find out which ids there are."""
    before = raw.get(memories, params={"view": "full"}).json()
    never = {name: value[:-8] + "1" * 8 for name, value in ids.items()}

    answer = raw.request(method, template.format(**ids), json=body, headers=stranger)
    of_none = raw.request(method, template.format(**never), json=body, headers=stranger)

    assert refusal(answer) == UNKNOWN
    hidden = str(told(answer))
    for name, value in ids.items():
        hidden = hidden.replace(value, never[name])
    assert hidden == str(told(of_none))
    assert raw.get(memories, params={"view": "full"}).json() == before


def test_listings_hold_what_is_of_the_own_workspace_only(
    raw: httpx.Client, ids: dict[str, str], stranger: dict[str, str]
) -> None:
    own = raw.post(routes.STORES, json={"name": "the stranger's"}, headers=stranger).json()["id"]
    listed = raw.get(routes.STORES, params={"include_archived": "true", "limit": "100"}, headers=stranger).json()

    assert own in [store["id"] for store in listed["data"]]
    assert ids["store_id"] not in [store["id"] for store in listed["data"]]
    nothing: dict[str, Any] = {"data": [], "next_page": None}
    for url, name in ((routes.VERSIONS.format(store_id=own), "memory_id"), (routes.SESSIONS, "memory_store_id")):
        answer = raw.get(url, params={name: ids.get(name, ids["store_id"])}, headers=stranger)
        assert answer.json() == nothing
    assert raw.get(routes.SESSIONS, headers=stranger).json() == nothing


def test_a_store_of_another_workspace_cannot_be_attached(
    raw: httpx.Client, ids: dict[str, str], stranger: dict[str, str]
) -> None:
    resource = {"type": "memory_store", "memory_store_id": ids["store_id"]}

    answer = raw.post(routes.SESSIONS, json=SESSION | {"resources": [resource]}, headers=stranger)

    assert refusal(answer) == INVALID


def test_ids_of_two_workspaces_do_not_mix(raw: httpx.Client, ids: dict[str, str], stranger: dict[str, str]) -> None:
    own = raw.post(routes.STORES, json={"name": "the stranger's"}, headers=stranger).json()["id"]

    for method, template in (("GET", routes.MEMORY), ("DELETE", routes.MEMORY), ("GET", routes.VERSION)):
        answer = raw.request(method, template.format(**(ids | {"store_id": own})), headers=stranger)
        assert refusal(answer) == UNKNOWN
    assert refusal(raw.post(routes.REDACT.format(**(ids | {"store_id": own})), headers=stranger)) == UNKNOWN


def test_a_cursor_of_another_workspace_is_refused(raw: httpx.Client, stranger: dict[str, str]) -> None:
    for name in ("a", "b"):
        raw.post(routes.STORES, json={"name": name}).raise_for_status()
    cursor = raw.get(routes.STORES, params={"limit": "1"}).json()["next_page"]

    assert refusal(raw.get(routes.STORES, params={"page": cursor}, headers=stranger)) == INVALID


def test_a_create_of_another_workspace_is_no_retry_of_ones_own(raw: httpx.Client, stranger: dict[str, str]) -> None:
    retry = {"x-stainless-retry-count": "1"}
    made = raw.post(routes.STORES, json={"name": "the same name"}).json()

    assert raw.post(routes.STORES, json={"name": "the same name"}, headers=retry | stranger).json()["id"] != made["id"]
