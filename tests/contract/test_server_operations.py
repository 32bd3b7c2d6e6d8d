"""What is asked of a server beside the API: its health, its figures, its endpoints, its log, its limits."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest
from postgres import cluster, stop
from wire import connected, refusal, serving

from memfs.core.limits import Limits
from memfs.server import endpoints

PAIRS = [("/a", "four"), ("/a", "abc"), ("/b", "")]
OPEN = ["/healthz", "/readyz", "/metrics", "/openapi.json", "/docs"]


@contextmanager
def own(tmp_path: Path, **options: Any) -> Iterator[httpx.Client]:
    with serving(tmp_path / "data", **options) as server, connected(server) as client:
        yield client


def figures(client: httpx.Client) -> dict[str, float]:
    lines = client.get("/metrics").text.splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))}


@pytest.mark.parametrize("path", OPEN)
def test_what_is_not_of_the_api_needs_no_key_and_has_a_request_id(server_url: str, path: str) -> None:
    answer = httpx.get(server_url + path)

    assert answer.status_code == 200
    assert answer.headers["request-id"].startswith("req_01")


def test_the_figures_say_what_was_answered_and_written(tmp_path: Path) -> None:
    with own(tmp_path) as client:
        store = client.post("/v1/memory_stores", json={"name": "secret-name"}).json()["id"]
        made = client.post(f"/v1/memory_stores/{store}/memories", json={"path": "/secret", "content": "x"}).json()
        client.post(f"/v1/memory_stores/{store}/memories/{made['id']}", json={"content": "y"})
        client.post(f"/v1/memory_stores/{store}/memories/{made['id']}", json={"content": "y"})
        client.get("/v1/memory_stores/unknown")
        client.get("/no-such-thing/secret")
        found = figures(client)
        page = client.get("/metrics").text

    def requests(method: str, route: str, status: int) -> float:
        return found[f'memfs_requests_total{{method="{method}",route="{route}",status="{status}"}}']

    assert requests("POST", "/v1/memory_stores", 200) == 1
    assert requests("POST", "/v1/memory_stores/{store_id}/memories/{memory_id}", 200) == 2
    assert requests("GET", "/v1/memory_stores/{store_id}", 404) == 1
    assert requests("GET", "none", 404) == 1
    assert found['memfs_versions_total{operation="created"}'] == 1
    assert found['memfs_versions_total{operation="modified"}'] == 1
    assert found['memfs_versions_total{operation="deleted"}'] == 0
    assert found['memfs_versions_total{operation="redacted"}'] == 0
    assert "_created" not in page
    assert found['memfs_request_seconds_count{route="/v1/memory_stores"}'] == 1
    assert found["memfs_waiters"] == 0
    assert found["memfs_database_bytes"] > 4_096
    assert "secret" not in page
    assert store not in page


@pytest.mark.expect_log("could not be served")
def test_a_server_without_its_database_lives_and_is_not_ready(tmp_path: Path) -> None:
    with cluster() as running, own(tmp_path, database=running.new_database()) as client:
        assert client.get("/readyz").status_code == 200
        stop(running)
        answer = client.get("/readyz")

        assert refusal(answer) == (503, "overloaded_error")
        assert refusal(client.get("/v1/memory_stores/memstore_1")) == (529, "overloaded_error")
        assert client.get("/healthz").json() == {"status": "ok"}
        assert figures(client)["memfs_database_bytes"] == 0


def test_every_endpoint_is_in_the_document(raw: httpx.Client) -> None:
    document = raw.get("/openapi.json").json()
    written = {(method.upper(), path) for path, operations in document["paths"].items() for method in operations}
    served = {
        (method, route.path)
        for module in vars(endpoints).values()
        if isinstance(module, ModuleType)
        for route in module.router.routes
        for method in route.methods
    }

    assert served == written
    assert {path for path, told in document["paths"].items() if told.get("get", {}).get("security") == []} == set(OPEN)
    assert document["components"]["schemas"].keys() >= {"Error", "Store", "Memory", "MemoryVersion", "ChangesPage"}


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("HEAD", "/healthz", "GET"),
        ("OPTIONS", "/v1/memory_stores", "GET, POST"),
        ("TRACE", "/v1/memory_stores", "GET, POST"),
        ("POST", "/metrics", "GET"),
    ],
)
def test_a_method_that_is_not_answered_is_told_once_which_are(
    raw: httpx.Client, method: str, path: str, allowed: str
) -> None:
    answer = raw.request(method, path)

    assert (answer.status_code, answer.headers.get_list("allow")) == (405, [allowed])


def test_the_id_of_a_request_is_the_servers_own(raw: httpx.Client) -> None:
    answer = raw.get("/healthz", headers={"request-id": "mine", "x-request-id": "mine"})

    assert len(answer.headers.get_list("request-id")) == 1
    assert "mine" not in str(answer.headers)


def test_the_page_for_people_needs_nothing_from_elsewhere(raw: httpx.Client) -> None:
    page = raw.get("/docs").text

    assert "POST /v1/memory_stores/{store_id}/memories/{memory_id}" in page
    assert "x-api-key: KEY" in page
    assert "<code>content</code></th><td>body, required: string" in page
    assert page.count("<code>410</code>") == 1
    assert not re.search("<script|https?://|src=", page)


def test_the_access_log_says_who_and_how_and_never_what(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="memfs.server.access")
    with serving(tmp_path / "data", access_log=True) as server, connected(server) as client:
        store = client.post("/v1/memory_stores", json={"name": "hush"}).json()["id"]
        answer = client.get(f"/v1/memory_stores/{store}/memories", params={"path_prefix": "/hush/"})
        client.get("/v1/memory_stores", headers={"authorization": "Bearer hush"})
    lines = [record.getMessage() for record in caplog.records if record.name == "memfs.server.access"]

    assert re.fullmatch(
        r"req_01\w+ GET /v1/memory_stores/\{store_id\}/memories 200 [\d.]+ ms \d+ bytes apikey_01\w+", lines[1]
    )
    assert lines[1].startswith(answer.headers["request-id"])
    assert re.fullmatch(r"req_01\w+ GET /v1/memory_stores 401 [\d.]+ ms \d+ bytes -", lines[2])
    assert "hush" not in caplog.text
    assert server.api_key not in caplog.text


def test_without_an_access_log_nothing_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with own(tmp_path) as client:
        client.get("/v1/memory_stores")

    assert [record for record in caplog.records if record.name.startswith("memfs.server.access")] == []


def test_a_caller_with_too_many_requests_waits_and_others_do_not(tmp_path: Path) -> None:
    with serving(tmp_path / "data", requests_per_minute=3) as server, connected(server) as client:
        answers = [client.get("/v1/memory_stores") for _ in range(4)]
        assert client.get("/healthz").status_code == 200

    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert refusal(answers[3]) == (429, "rate_limit_error")
    assert 1 <= int(answers[3].headers["retry-after"]) <= 20


def test_a_body_past_the_chosen_size_is_refused(tmp_path: Path) -> None:
    with own(tmp_path, body_bytes=100) as client:
        answer = client.post("/v1/memory_stores", json={"name": "n" * 100})

    assert refusal(answer) == (413, "request_too_large")


def test_the_chosen_limits_hold(tmp_path: Path) -> None:
    with own(tmp_path, limits=Limits(memories=1, memory_bytes=3)) as client:
        memories = f"/v1/memory_stores/{client.post('/v1/memory_stores', json={'name': 'n'}).json()['id']}/memories"
        answers = [client.post(memories, json={"path": path, "content": text}) for path, text in PAIRS]

    assert [answer.status_code for answer in answers] == [400, 200, 409]
