"""Who may do what: every endpoint of the API, asked by everyone who may not do it all.

The endpoints are those of the server itself: a new one fails here until its row is written.
"""

import pkgutil
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import httpx
import pytest
from keyring import new_key

from memfs.api import routes
from memfs.core.attachment import Access
from memfs.server import endpoints
from memfs.server.serve import StoreServer

ASKING = ("nobody", "other workspace", "other session", "reading session", "reading key", "ended session", "session")
READ = (401, 404, 404, 200, 200, 401, 200)
WRITE = (401, 404, 404, 403, 403, 401, 200)
MANAGE = (401, 404, 404, 403, 403, 401, 403)
OF_SESSION = (401, 404, 403, 403, 403, 401, 403)
LOOK_AT_SESSION = (401, 404, 403, 403, 200, 401, 200)
MAKE = (401, 200, 403, 403, 403, 401, 403)
OPEN = (200,) * len(ASKING)
Row = tuple[dict[str, Any] | None, tuple[int, ...]]
TABLE: dict[tuple[str, str], Row] = {
    ("POST", routes.STORES): ({"name": "New"}, MAKE),
    ("GET", routes.STORES): (None, (401, 200, 200, 200, 200, 401, 200)),
    ("GET", routes.STORE): (None, READ),
    ("POST", routes.STORE): ({"name": "New"}, MANAGE),
    ("DELETE", routes.STORE): (None, MANAGE),
    ("POST", routes.ARCHIVE): (None, MANAGE),
    ("POST", routes.MEMORIES): ({"path": "/new", "content": ""}, WRITE),
    ("GET", routes.MEMORIES): (None, READ),
    ("GET", routes.MEMORY): (None, READ),
    ("POST", routes.MEMORY): ({"content": "three"}, WRITE),
    ("DELETE", routes.MEMORY): (None, WRITE),
    ("GET", routes.VERSIONS): (None, READ),
    ("GET", routes.VERSION): (None, READ),
    ("POST", routes.REDACT): (None, MANAGE),
    ("GET", routes.CHANGES): (None, READ),
    ("POST", routes.SESSIONS): ({"title": "New"}, MAKE),
    ("GET", routes.SESSIONS): (None, (401, 200, 403, 403, 200, 401, 403)),
    ("GET", routes.SESSION): (None, LOOK_AT_SESSION),
    ("POST", routes.SESSION): ({"title": "New"}, OF_SESSION),
    ("DELETE", routes.SESSION): (None, OF_SESSION),
    ("POST", routes.ARCHIVE_SESSION): (None, OF_SESSION),
    ("GET", routes.SESSION_RESOURCES): (None, LOOK_AT_SESSION),
    ("POST", routes.SESSION_RESOURCES): ({"type": "file"}, OF_SESSION),
    ("GET", routes.HEALTH): (None, OPEN),
    ("GET", routes.READY): (None, OPEN),
    ("GET", routes.METRICS): (None, OPEN),
    ("GET", routes.OPENAPI): (None, OPEN),
    ("GET", routes.DOCS): (None, OPEN),
}


def every_endpoint() -> Iterator[tuple[str, str]]:
    for module in pkgutil.iter_modules(endpoints.__path__, endpoints.__name__ + "."):
        router = getattr(import_module(module.name), "router", None)
        for route in router.routes if router is not None else ():
            for method in sorted(route.methods):
                yield method, route.path


@pytest.fixture
def ids(raw: httpx.Client, base: str) -> dict[str, str]:
    """The ids of a store, of a memory in it, and of a version of it that may be redacted."""
    made = raw.post(f"{base}/memories", json={"path": "/a", "content": "one"}).json()
    raw.post(f"{base}/memories/{made['id']}", json={"content": "two"}).raise_for_status()
    return {
        "store_id": base.rpartition("/")[2],
        "memory_id": made["id"],
        "version_id": made["memory_version_id"],
    }


@pytest.fixture(scope="module")
def keys(server: StoreServer) -> dict[str, str]:
    """The credentials of those who have a key, by who asks."""
    stranger = new_key(server, workspace="people of elsewhere")
    reader = new_key(server, access=Access.READ_ONLY)
    return {
        "nobody": "",
        "other workspace": stranger["authorization"],
        "reading key": reader["authorization"],
    }


@pytest.fixture
def asking(raw: httpx.Client, ids: dict[str, str], keys: dict[str, str]) -> dict[str, str]:
    """Every credential, by who asks; `ids` gets the id of the session that may write."""

    def session(access: str, store_id: str = ids["store_id"]) -> dict[str, Any]:
        resource = {"type": "memory_store", "memory_store_id": store_id, "access": access}
        made: dict[str, Any] = raw.post(routes.SESSIONS, json={"resources": [resource]}).json()
        return made

    other_store = raw.post(routes.STORES, json={"name": "Other"}).json()["id"]
    ended, writer = session("read_write"), session("read_write")
    raw.post(routes.ARCHIVE_SESSION.format(session_id=ended["id"])).raise_for_status()
    ids["session_id"] = writer["id"]
    tokens = {
        "other session": session("read_write", other_store),
        "reading session": session("read_only"),
        "ended session": ended,
        "session": writer,
    }
    return keys | {who: f"Bearer {made['sessions_token']}" for who, made in tokens.items()}


@pytest.mark.parametrize(("method", "template"), list(every_endpoint()))
def test_each_endpoint_answers_each_who_asks_as_the_table_says(
    raw: httpx.Client, ids: dict[str, str], asking: dict[str, str], method: str, template: str
) -> None:
    body, expected = TABLE[method, template]

    found = {
        who: raw.request(method, template.format(**ids), json=body, headers={"authorization": asking[who]}).status_code
        for who in ASKING
    }

    assert dict(zip(ASKING, expected, strict=True)) == found


def test_every_row_of_the_table_is_of_one_endpoint() -> None:
    found = list(every_endpoint())

    assert len(found) == len(set(found))
    assert set(found) <= set(TABLE)


@pytest.mark.parametrize("who", ["reading session", "reading key"])
def test_who_may_only_read_changes_nothing(
    raw: httpx.Client, ids: dict[str, str], asking: dict[str, str], who: str
) -> None:
    def seen() -> list[Any]:
        shown = [raw.get(template.format(**ids)) for template in (routes.STORE, routes.VERSIONS, routes.SESSION)]
        return [answer.json() for answer in shown]

    before = seen()
    for (method, template), (body, _) in TABLE.items():
        if method != "GET":
            raw.request(method, template.format(**ids), json=body, headers={"authorization": asking[who]})

    assert before == seen()


def test_a_sessions_token_lists_its_own_stores_only(
    raw: httpx.Client, ids: dict[str, str], asking: dict[str, str]
) -> None:
    headers = {"authorization": asking["reading session"]}

    listed = raw.get(routes.STORES, headers=headers, params={"include_archived": "true"}).json()

    assert [ids["store_id"]] == [store["id"] for store in listed["data"]]


@pytest.fixture
def wrong(raw: httpx.Client) -> Callable[[str], int]:
    return lambda credential: raw.get(routes.STORES, headers={"authorization": credential}).status_code


@pytest.mark.parametrize(
    "credential",
    [
        "Bearer memfs-session-",
        "Bearer memfs-session-" + "x" * 43,
        "Bearer memfs-key-" + "x" * 43,
        "Bearer x",
        "Bearer",
    ],
)
def test_a_token_that_never_was_opens_nothing(wrong: Callable[[str], int], credential: str) -> None:
    assert 401 == wrong(credential)
