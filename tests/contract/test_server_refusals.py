"""The error table of the API over plain HTTP: what is refused, with which status and which type."""

import hashlib
from typing import Any

import httpx
import pytest
from wire import INVALID, refusal

STALE = "0" * 64
LONG = "x" * 102_401
MEMORY = {"path": "/a.md", "content": "one"}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"{", id="no JSON"),
        pytest.param(b"[]", id="no object"),
        pytest.param(b"\xff\xfe", id="no UTF-8"),
        pytest.param(b'{"name": 7}', id="a wrong type"),
        pytest.param(b'{"name": "n", "nmae": "n"}', id="an unknown field"),
        pytest.param(b'{"description": "d"}', id="no name"),
        pytest.param(b'{"name": null}', id="a null name"),
        pytest.param(b'{"name": ""}', id="an empty name"),
        pytest.param(b'{"name": "' + b"n" * 256 + b'"}', id="a long name"),
        pytest.param(b'{"name": "a\\u0007b"}', id="a control character"),
        pytest.param(b'{"name": "\\ud800"}', id="a lone surrogate"),
        pytest.param(b'{"name": "n", "description": "' + b"d" * 1_025 + b'"}', id="a long description"),
        pytest.param(b'{"name": "n", "metadata": {"k": 7}}', id="a metadata value that is no text"),
    ],
)
def test_a_store_is_not_made_from(raw: httpx.Client, body: bytes) -> None:
    answer = raw.post("/v1/memory_stores", content=body)

    assert refusal(answer) == INVALID


@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param({f"k{n}": "" for n in range(17)}, id="17 pairs"),
        pytest.param({"": "v"}, id="an empty key"),
        pytest.param({"k" * 65: "v"}, id="a long key"),
        pytest.param({"k": "v" * 513}, id="a long value"),
    ],
)
def test_metadata_past_a_limit_are_refused_by_their_own_code(
    raw: httpx.Client, base: str, metadata: dict[str, str]
) -> None:
    for answer in (
        raw.post("/v1/memory_stores", json={"name": "n", "metadata": metadata}),
        raw.post(base, json={"metadata": metadata}),
    ):
        assert refusal(answer) == INVALID
        assert answer.json()["error"]["details"] == {"error_code": "invalid_metadata"}


def test_the_largest_of_everything_is_accepted(raw: httpx.Client) -> None:
    body = {
        "name": "é" * 255,
        "description": "😀" * 1_024,
        "metadata": {f"{n:064}": "v" * 512 for n in range(16)},
    }

    answer = raw.post("/v1/memory_stores", json=body)

    assert answer.status_code == 200
    assert {name: answer.json()[name] for name in body} == body


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, (401, "authentication_error")),
        ({"authorization": "Bearer wrong"}, (401, "authentication_error")),
        ({"authorization": "Basic KEY"}, (401, "authentication_error")),
        ({"x-api-key": "wrong"}, (401, "authentication_error")),
        ({"authorization": "Bearer wrong", "x-api-key": "KEY"}, (401, "authentication_error")),
        (
            {"authorization": "Bearer KEY", "anthropic-beta": "managed-agents-2026-04-01,agent-memory-2026-07-22"},
            INVALID,
        ),
    ],
)
def test_a_request_is_turned_away(
    server_url: str, api_key: str, headers: dict[str, str], expected: tuple[int, str]
) -> None:
    with_key = {name: value.replace("KEY", api_key) for name, value in headers.items()}

    answer = httpx.get(f"{server_url}/v1/memory_stores", headers=with_key)

    assert refusal(answer) == expected


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "Bearer KEY"},
        {"authorization": "bearer KEY"},
        {"x-api-key": "KEY"},
        {"authorization": "Bearer KEY", "x-api-key": "wrong"},
        {"authorization": "Bearer KEY", "anthropic-beta": "agent-memory-2026-07-22"},
        {"authorization": "Bearer KEY", "anthropic-beta": "managed-agents-2026-04-01, other-2026-01-01"},
        {"authorization": "Bearer KEY", "anthropic-version": "2023-06-01"},
    ],
)
def test_a_request_is_let_in(server_url: str, api_key: str, headers: dict[str, str]) -> None:
    with_key = {name: value.replace("KEY", api_key) for name, value in headers.items()}

    answer = httpx.get(f"{server_url}/v1/memory_stores", headers=with_key)

    assert answer.status_code == 200


def test_both_beta_headers_are_refused_also_as_two_lines(raw: httpx.Client) -> None:
    both = [("anthropic-beta", "managed-agents-2026-04-01"), ("anthropic-beta", "agent-memory-2026-07-22")]

    assert refusal(raw.get("/v1/memory_stores", headers=both)) == INVALID


def test_a_strict_server_wants_a_beta_header(small_raw: httpx.Client) -> None:
    with_beta = {"anthropic-beta": "agent-memory-2026-07-22"}

    assert refusal(small_raw.get("/v1/memory_stores")) == INVALID
    assert small_raw.get("/v1/memory_stores", headers=with_beta).status_code == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/memory_stores/memstore_none"),
        ("POST", "/v1/memory_stores/memstore_none"),
        ("POST", "/v1/memory_stores/memstore_none/archive"),
        ("DELETE", "/v1/memory_stores/memstore_none"),
        ("GET", "/v1/memory_stores/memstore_none/memories"),
        ("POST", "/v1/memory_stores/memstore_none/memories"),
        ("GET", "/v1/memory_stores/memstore_none/memories/mem_none"),
        ("POST", "/v1/memory_stores/memstore_none/memories/mem_none"),
        ("DELETE", "/v1/memory_stores/memstore_none/memories/mem_none"),
        ("GET", "/v1/memory_stores/memstore_none/memory_versions"),
        ("GET", "/v1/memory_stores/memstore_none/memory_versions/memver_none"),
        ("POST", "/v1/memory_stores/memstore_none/memory_versions/memver_none/redact"),
        ("GET", "/v1/memory_stores/%2e%2e"),
        ("GET", "/v1/memory_stores/a%2Fb"),
        ("GET", "/v1/memory_stores/%00%ff"),
        ("GET", "/v1/memory_stores/"),
        ("GET", "/v1/memory_stores%0A"),
        ("GET", "/v1/nothing"),
        ("GET", "/"),
    ],
)
def test_nothing_is_there(raw: httpx.Client, method: str, path: str) -> None:
    """Also with a body that is wrong: a client must learn first that the store is gone."""
    answer = raw.request(method, path)

    assert refusal(answer) == (404, "not_found_error")


def test_an_encoded_slash_does_not_reach_another_endpoint(raw: httpx.Client, base: str) -> None:
    answer = raw.post(f"{base}%2Farchive")

    assert refusal(answer) == (404, "not_found_error")
    assert raw.get(base).json()["archived_at"] is None


def test_a_wrong_method_is_an_answer_of_the_api(raw: httpx.Client) -> None:
    answer = raw.patch("/v1/memory_stores/x")

    assert refusal(answer) == (405, "invalid_request_error")
    assert answer.headers["allow"]


def test_an_id_of_another_store_is_unknown(raw: httpx.Client, memories: str) -> None:
    made = raw.post(memories, json=MEMORY).json()
    other = "/v1/memory_stores/" + raw.post("/v1/memory_stores", json={"name": "Other"}).json()["id"]

    for answer in (
        raw.get(f"{other}/memories/{made['id']}"),
        raw.post(f"{other}/memories/{made['id']}", json={"content": "two"}),
        raw.delete(f"{other}/memories/{made['id']}"),
        raw.get(f"{other}/memory_versions/{made['memory_version_id']}"),
    ):
        assert refusal(answer) == (404, "not_found_error")
    assert raw.get(f"{memories}/{made['id']}").json()["content"] == "one"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"path": "/a.md"}, id="no content"),
        pytest.param({"path": "/a.md", "content": None}, id="null content"),
        pytest.param({"content": "one"}, id="no path"),
        pytest.param({"path": "/a.md", "content": LONG}, id="content too large"),
        pytest.param({"path": "/a.md", "content": "é" * 51_201}, id="too large in bytes, not in characters"),
        pytest.param({"path": "/a.md", "content": "one", "metadata": {}}, id="an unknown field"),
        pytest.param({"path": "/.anthropic-memory-store", "content": "one"}, id="the marker of the SDK's worker"),
    ],
)
def test_a_memory_is_not_made_from(raw: httpx.Client, memories: str, body: dict[str, Any]) -> None:
    assert refusal(raw.post(memories, json=body)) == INVALID
    assert raw.get(memories).json()["data"] == []


def test_a_lone_surrogate_is_no_content(raw: httpx.Client, memories: str) -> None:
    answer = raw.post(memories, content=b'{"path": "/a.md", "content": "\\ud83d"}')

    assert refusal(answer) == INVALID


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({}, id="neither content nor path"),
        pytest.param({"content": None, "path": None}, id="both null"),
        pytest.param({"precondition": {"type": "content_sha256", "content_sha256": STALE}}, id="only a precondition"),
        pytest.param({"content": "two", "precondition": {"type": "etag", "content_sha256": STALE}}, id="another type"),
        pytest.param({"content": "two", "precondition": {"type": "content_sha256"}}, id="no digest"),
        pytest.param(
            {"content": "two", "precondition": {"type": "content_sha256", "content_sha256": "A" * 64}}, id="upper case"
        ),
        pytest.param(
            {"content": "two", "precondition": {"type": "content_sha256", "content_sha256": STALE + "0"}}, id="too long"
        ),
        pytest.param({"content": "two", "precondtion": {}}, id="a misspelt precondition"),
        pytest.param({"content": LONG}, id="content too large"),
        pytest.param({"path": "a.md"}, id="a wrong path"),
    ],
)
def test_a_memory_is_not_changed_by(raw: httpx.Client, memories: str, body: dict[str, Any]) -> None:
    made = raw.post(memories, json=MEMORY).json()

    answer = raw.post(f"{memories}/{made['id']}", json=body)

    assert refusal(answer) == INVALID
    assert raw.get(f"{memories}/{made['id']}?view=basic").json() == made


@pytest.mark.parametrize(
    ("listing", "query"),
    [
        ("/memories", "depth=2"),
        ("/memories", "depth=-1"),
        ("/memories", "depth=x"),
        ("/memories", "path_prefix=/notes"),
        ("/memories", "limit=0"),
        ("/memories", "limit=101"),
        ("/memories", "limit=x"),
        ("/memories", "view=all"),
        ("/memories", "page=page_nonsense"),
        ("/memories", "page="),
        ("/memory_versions", "limit=0"),
        ("/memory_versions", "limit=101"),
        ("/memory_versions", "view=all"),
        ("/memory_versions", "operation=renamed"),
        ("/memory_versions", "created_at[gte]=yesterday"),
        ("/memory_versions", "created_at[lte]=1790000000"),
        ("/memory_versions", "created_at[lte]=%2B1790000000"),
        ("/memory_versions", "created_at[lte]=1790000000.5e0"),
        ("/memory_versions", "created_at[gte]=0001-01-01T00:00:00%2B14:00"),
        ("/memory_versions", "created_at[lte]=9999-12-31T23:59:59-14:00"),
        ("/memory_versions", "page=page_eyJ4IjoxfQ"),
    ],
)
def test_a_listing_refuses(raw: httpx.Client, base: str, listing: str, query: str) -> None:
    assert refusal(raw.get(f"{base}{listing}?{query}")) == INVALID


@pytest.mark.parametrize("query", ["limit=0", "limit=101", "include_archived=maybe", "created_at[gte]=x", "page=x"])
def test_the_listing_of_stores_refuses(raw: httpx.Client, query: str) -> None:
    assert refusal(raw.get(f"/v1/memory_stores?{query}")) == INVALID


def test_unknown_query_parameters_are_ignored(raw: httpx.Client, memories: str) -> None:
    answer = raw.get(f"{memories}?beta=true&order_by=path&order=desc&path_prefix=")

    assert answer.json() == {"data": [], "next_page": None}


def test_a_cursor_of_another_listing_is_refused(raw: httpx.Client, memories: str) -> None:
    for name in "abc":
        raw.post(memories, json={"path": f"/{name}/x.md", "content": ""}).raise_for_status()
    cursor = raw.get(f"{memories}?limit=1").json()["next_page"]
    other = raw.post("/v1/memory_stores", json={"name": "Other"}).json()["id"]

    assert raw.get(memories, params={"page": cursor, "limit": "5"}).status_code == 200
    for path, more in (
        (memories, {"depth": "1"}),
        (memories, {"path_prefix": "/a/"}),
        (f"/v1/memory_stores/{other}/memories", {}),
        (memories.replace("/memories", "/memory_versions"), {}),
        ("/v1/memory_stores", {}),
    ):
        assert refusal(raw.get(path, params={"page": cursor, **more})) == INVALID


def test_a_body_past_the_cap_is_413_and_the_connection_goes_on(raw: httpx.Client, memories: str) -> None:
    answer = raw.post(memories, json={"path": "/a.md", "content": "x" * 2_000_000})

    assert refusal(answer) == (413, "request_too_large")
    assert raw.post(memories, json=MEMORY).status_code == 200


def test_the_largest_content_is_accepted_however_it_is_escaped(raw: httpx.Client, memories: str) -> None:
    body = b'{"path": "/nul.md", "content": "' + b"\\u0000" * 102_400 + b'"}'

    answer = raw.post(memories, content=body)

    assert answer.status_code == 200
    assert answer.json()["content_sha256"] == hashlib.sha256(b"\x00" * 102_400).hexdigest()


def test_a_message_never_shows_a_content(raw: httpx.Client, memories: str) -> None:
    secret = "the-secret-of-the-memory"
    made = raw.post(memories, json={"path": "/a.md", "content": secret}).json()

    for answer in (
        raw.post(memories, json={"path": "/a.md", "content": secret}),
        raw.post(memories, json={"path": "/a.md", "content": secret, "extra": secret}),
        raw.post(memories, json={"path": "/b.md", "content": [secret]}),
        raw.post(f"{memories}/{made['id']}", json={"content": secret, "precondition": secret}),
        raw.post(memories, content=f'{{"content": "{secret}'.encode()),
    ):
        assert answer.status_code in {400, 409}
        assert secret not in answer.text
