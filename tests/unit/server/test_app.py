"""The layer around the endpoints: a bug, an overload and a lost connection are answers of the API as well."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from memfs.core.errors import RateLimited, RemoteUnavailable
from memfs.core.limits import Limits
from memfs.server.app import create_app
from memfs.server.credentials import Credentials
from memfs.server.keys import Keys
from memfs.server.metrics import Metrics
from memfs.server.options import ServerOptions
from memfs.server.store.database import Database
from memfs.server.store.sql import SqlStore
from memfs.server.store.stamps import Stamps
from memfs.server.store.stores import Stores
from memfs.server.threads import threads
from memfs.server.waiters import Waiters

TOKEN = "memfs-key-of-a-test"
OTHER = "memfs-key-of-another"
SECRET = "a-content-that-no-log-may-show"


@pytest.fixture
def ask(database: Database, stamps: Stamps, clock: Any) -> Callable[..., httpx.Response]:
    """Ask the application, without a socket."""
    keys = Keys(database, stamps)
    for token in (TOKEN, OTHER):
        keys.ensure(token)

    async def once(method: str, path: str, *, settle_retries: bool = True, **more: Any) -> httpx.Response:
        store = SqlStore.on(database, stamps, Limits())
        options = ServerOptions(settle_retries=settle_retries)
        metrics = Metrics(waiters=int, connections=int, database_bytes=int)
        running = threads(database)
        app = create_app(store, Credentials(database, clock), stamps, options, Waiters(), metrics, running)
        transport = httpx.ASGITransport(app)
        headers = {"authorization": f"Bearer {TOKEN}", **more.pop("headers", {})}
        running.start()
        try:
            async with httpx.AsyncClient(transport=transport, base_url="http://server") as client:
                return await client.request(method, path, headers=headers, **more)
        finally:
            running.stop()

    return lambda *arguments, **more: asyncio.run(once(*arguments, **more))


@pytest.mark.expect_log("failed")
def test_a_bug_is_a_500_that_its_log_names_without_the_content(
    ask: Callable[..., httpx.Response], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Stores, "create", broken)
    answer = ask("POST", "/v1/memory_stores", json={"name": SECRET})

    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert answer.status_code == 500
    assert answer.json()["error"]["type"] == "api_error"
    assert answer.json()["request_id"] == answer.headers["request-id"]
    assert [record.getMessage() for record in errors] == [f"request {answer.headers['request-id']} failed"]
    assert "ZeroDivisionError" in caplog.text
    assert SECRET not in caplog.text + answer.text


@pytest.mark.expect_log("the database is busy")
@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (RemoteUnavailable("the database is busy", retry_after_s=1.0), 529, "overloaded_error"),
        (RateLimited("slow down", retry_after_s=1.0), 429, "rate_limit_error"),
    ],
)
def test_an_overload_says_when_to_come_again(
    ask: Callable[..., httpx.Response],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    status: int,
    kind: str,
) -> None:
    def busy(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(Stores, "list", busy)
    answer = ask("GET", "/v1/memory_stores")

    assert (answer.status_code, answer.json()["error"]["type"]) == (status, kind)
    assert answer.headers["retry-after"] == "1"
    # Whoever runs the server reads of what is the server's fault, once and without a traceback.
    told = [record for record in caplog.records if record.name == "memfs.server.app"]
    assert [(record.levelname, record.exc_info) for record in told] == [("WARNING", None)] * (status == 529)


def test_an_ordinary_request_leaves_no_line_in_the_log(
    ask: Callable[..., httpx.Response], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="memfs")
    made = ask("POST", "/v1/memory_stores", json={"name": SECRET}).json()
    ask("POST", f"/v1/memory_stores/{made['id']}/memories", json={"path": "/a", "content": SECRET})

    assert [record for record in caplog.records if record.name.startswith("memfs")] == []
    assert SECRET not in caplog.text
    assert TOKEN not in caplog.text


def test_a_clock_that_steps_back_does_not_turn_the_history_round(
    ask: Callable[..., httpx.Response], clock: Any
) -> None:
    store = ask("POST", "/v1/memory_stores", json={"name": "n"}).json()["id"]
    memories = f"/v1/memory_stores/{store}/memories"
    made = ask("POST", memories, json={"path": "/a", "content": "0"}).json()
    for number in range(3):
        clock.now_s -= 100
        ask("POST", f"{memories}/{made['id']}", json={"content": f"{number + 1}"})

    history = ask("GET", f"/v1/memory_stores/{store}/memory_versions", params={"view": "full"}).json()["data"]
    assert [one["content"] for one in history] == ["3", "2", "1", "0"]


def test_a_repeated_create_is_settled_for_two_minutes_only(ask: Callable[..., httpx.Response], clock: Any) -> None:
    retry = {"x-stainless-retry-count": "1"}
    store = ask("POST", "/v1/memory_stores", json={"name": "n"}).json()
    memories = f"/v1/memory_stores/{store['id']}/memories"
    body = {"path": "/a", "content": ""}
    made = ask("POST", memories, json=body).json()
    unused = ask("POST", "/v1/memory_stores", json={"name": "unused"}).json()
    clock.now_s += 119
    assert ask("POST", memories, json=body, headers=retry).json() == made
    assert ask("POST", "/v1/memory_stores", json={"name": "unused"}, headers=retry).json() == unused
    assert ask("POST", "/v1/memory_stores", json={"name": "n"}, headers=retry).json()["id"] != store["id"]

    clock.now_s += 2
    assert ask("POST", memories, json=body, headers=retry).status_code == 409
    assert ask("POST", "/v1/memory_stores", json={"name": "n"}, headers=retry).json()["id"] != store["id"]


def test_a_server_may_be_told_not_to_settle_retries(ask: Callable[..., httpx.Response]) -> None:
    """Where two holders of one key use create as a lock, a retry must not be told that it won."""
    retry = {"x-stainless-retry-count": "1"}
    memories = f"/v1/memory_stores/{ask('POST', '/v1/memory_stores', json={'name': 'n'}).json()['id']}/memories"
    body = {"path": "/a", "content": ""}
    ask("POST", memories, json=body)

    assert ask("POST", memories, json=body, headers=retry, settle_retries=False).status_code == 409


@pytest.mark.parametrize("count", ["0", "", "-1", "x", "00"])
def test_what_counts_no_attempt_is_no_retry(ask: Callable[..., httpx.Response], count: str) -> None:
    first = ask("POST", "/v1/memory_stores", json={"name": "n"}).json()
    second = ask("POST", "/v1/memory_stores", json={"name": "n"}, headers={"x-stainless-retry-count": count}).json()

    assert first["id"] != second["id"]


def test_a_retry_is_settled_for_the_one_who_made_it_only(ask: Callable[..., httpx.Response]) -> None:
    another = {"authorization": f"Bearer {OTHER}", "x-stainless-retry-count": "1"}
    store = ask("POST", "/v1/memory_stores", json={"name": "n"}).json()
    memories = f"/v1/memory_stores/{store['id']}/memories"
    ask("POST", memories, json={"path": "/a", "content": ""})

    assert ask("POST", memories, json={"path": "/a", "content": ""}, headers=another).status_code == 409
    assert ask("POST", "/v1/memory_stores", json={"name": "n"}, headers=another).json()["id"] != store["id"]


def test_a_repeated_delete_is_settled_for_two_minutes_and_for_its_own_actor_only(
    ask: Callable[..., httpx.Response], clock: Any
) -> None:
    retry = {"x-stainless-retry-count": "1"}
    memories = f"/v1/memory_stores/{ask('POST', '/v1/memory_stores', json={'name': 'n'}).json()['id']}/memories"
    one = f"{memories}/{ask('POST', memories, json={'path': '/a', 'content': ''}).json()['id']}"
    gone = ask("DELETE", one).json()

    assert ask("DELETE", one, headers=retry).json() == gone
    assert ask("DELETE", one).status_code == 404
    assert ask("DELETE", one, headers=retry | {"authorization": f"Bearer {OTHER}"}).status_code == 404
    assert ask("DELETE", one, headers=retry, settle_retries=False).status_code == 404
    assert ask("DELETE", f"{memories}/mem_unknown", headers=retry).status_code == 404
    assert ask("DELETE", f"{memories}/%00", headers=retry).status_code == 404
    clock.now_s += 121
    assert ask("DELETE", one, headers=retry).status_code == 404
