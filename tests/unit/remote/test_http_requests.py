"""Which requests the HTTP remote sends, and to whom."""

import asyncio
from datetime import UTC, datetime

import httpx
import pytest
from far_side import KEY, MEMORY, NOW, SHA, STORE, Far, ok, refusal
from listed import memories, versions

from memfs.api.models import View
from memfs.core.errors import (
    ChangeCursorExpired,
    ConfigError,
    InvalidContent,
    InvalidPath,
    InvalidRequest,
    RemoteUnavailable,
)
from memfs.remote.http import HttpRemote

pytestmark = pytest.mark.anyio


async def test_every_request_carries_the_headers_of_the_api() -> None:
    far = Far(ok(STORE))

    await far.remote().retrieve_store("memstore_1")

    headers = far.asked[0].headers
    assert f"Bearer {KEY}" == headers["authorization"]
    assert ("2026-10-21", "agent-memory-2026-07-22") == (headers["anthropic-version"], headers["anthropic-beta"])
    assert "gzip" in headers["accept-encoding"]
    assert "x-api-key" not in headers


@pytest.mark.parametrize("base_url", ["https://far.example/prefix/v9", "https://far.example/prefix/v9/"])
async def test_a_path_in_the_base_url_is_kept(base_url: str) -> None:
    far = Far(ok(STORE))

    await far.remote(base_url).retrieve_store("memstore_1")

    assert ("GET", "https://far.example/prefix/v9/v1/memory_stores/memstore_1", None) == far.sent


async def test_ids_are_percent_encoded_and_never_name_another_route() -> None:
    far = Far(ok(MEMORY), ok(MEMORY))

    await far.remote().retrieve_memory("memstore_1", "../a b?c#d%2f")

    url = "https://far.example/v1/memory_stores/memstore_1/memories/..%2Fa%20b%3Fc%23d%252f?view=full"
    assert ("GET", url, None) == far.sent
    with pytest.raises(InvalidRequest):
        await far.remote().retrieve_memory("memstore_1", "..")


async def test_creates_send_raw_utf_8() -> None:
    far = Far(ok(STORE), ok(MEMORY))
    remote = far.remote()

    await remote.create_store("nötes")
    assert ("POST", "https://far.example/v1/memory_stores", {"name": "nötes"}) == far.sent
    await remote.create_memory("memstore_1", "/é.md", "日本\r\n\0")

    url = "https://far.example/v1/memory_stores/memstore_1/memories"
    assert ("POST", url, {"path": "/é.md", "content": "日本\r\n\0"}) == far.sent
    assert "application/json" == far.asked[-1].headers["content-type"]
    assert "日本".encode() in far.asked[-1].content


async def test_an_update_sends_only_what_is_given() -> None:
    far = Far(ok(MEMORY), ok(MEMORY), ok(MEMORY))
    remote = far.remote()
    url = "https://far.example/v1/memory_stores/memstore_1/memories/mem_1"

    await remote.update_memory("memstore_1", "mem_1", content="")
    assert ("POST", url, {"content": ""}) == far.sent
    await remote.update_memory("memstore_1", "mem_1", path="/b.md", expect_sha256=SHA)

    precondition = {"type": "content_sha256", "content_sha256": SHA}
    assert ("POST", url, {"path": "/b.md", "precondition": precondition}) == far.sent


async def test_an_update_of_a_store_removes_metadata_by_null() -> None:
    far = Far(ok(STORE))

    await far.remote().update_store("memstore_1", description="", metadata={"gone": None})

    url = "https://far.example/v1/memory_stores/memstore_1"
    assert ("POST", url, {"description": "", "metadata": {"gone": None}}) == far.sent


async def test_an_archive_has_no_body_and_a_deletion_its_digest_in_the_query() -> None:
    far = Far(ok(STORE), ok({"type": "memory_deleted", "id": "mem_1"}))
    remote = far.remote()

    await remote.archive_store("memstore_1")
    assert ("POST", "https://far.example/v1/memory_stores/memstore_1/archive", None) == far.sent
    await remote.delete_memory("memstore_1", "mem_1", expect_sha256=SHA)

    url = f"https://far.example/v1/memory_stores/memstore_1/memories/mem_1?expected_content_sha256={SHA}"
    assert ("DELETE", url, None) == far.sent


async def test_a_redaction_has_no_body() -> None:
    version = {"type": "memory_version", "id": "memver_1", "memory_id": "mem_1", "memory_store_id": "memstore_1"}
    far = Far(ok({**version, "operation": "created", "created_at": NOW, "redacted_at": NOW}))

    redacted = await far.remote().redact_version("memstore_1", "memver_1")

    url = "https://far.example/v1/memory_stores/memstore_1/memory_versions/memver_1/redact"
    assert ("POST", url, None) == far.sent
    assert (None, None) == (redacted.path, redacted.content)


async def test_a_listing_asks_for_large_pages_and_repeats_its_query_with_the_cursor() -> None:
    far = Far(ok({"data": [MEMORY], "next_page": "page_é+/"}), ok({"data": [{"type": "memory_prefix", "path": "/d/"}]}))

    found = await memories(far.remote(), "memstore_1", path_prefix="/a b+c/", depth=1)

    assert ["memory", "memory_prefix"] == [item.type for item in found]
    first, second = (dict(request.url.params) for request in far.asked)
    assert {"path_prefix": "/a b+c/", "depth": "1", "view": "basic", "limit": "100"} == first
    assert {**first, "page": "page_é+/"} == second
    assert b"path_prefix=%2Fa%20b%2Bc%2F" in far.asked[0].url.query


async def test_full_pages_are_small_and_times_are_utc() -> None:
    far = Far(ok({"data": []}))

    await versions(
        far.remote(),
        "memstore_1",
        view=View.FULL,
        memory_id="mem_1",
        created_at_gte=datetime(2026, 1, 2, 3, tzinfo=UTC),
    )

    assert {
        "memory_id": "mem_1",
        "created_at[gte]": "2026-01-02T03:00:00.000000Z",
        "view": "full",
        "limit": "20",
    } == dict(far.asked[0].url.params)


async def test_text_that_has_no_utf_8_is_refused_before_anything_is_sent() -> None:
    far = Far()
    remote = far.remote()

    with pytest.raises(InvalidContent):
        await remote.create_memory("memstore_1", "/a.md", "secret \ud800")
    with pytest.raises(InvalidContent):
        await remote.update_memory("memstore_1", "mem_1", content="\udfff")
    with pytest.raises(InvalidPath):
        await remote.update_memory("memstore_1", "mem_1", path="/\udcff")
    with pytest.raises(InvalidPath):
        await memories(remote, "memstore_1", path_prefix="/\udcff/")
    with pytest.raises(InvalidRequest):
        await remote.create_store("\udcff")
    assert [] == far.asked


async def test_at_most_as_many_calls_as_allowed_are_in_flight() -> None:
    running, most, gate = 0, 0, asyncio.Event()

    async def answer(_request: httpx.Request) -> httpx.Response:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == 3:
            gate.set()
        await gate.wait()
        running -= 1
        return ok(STORE)

    remote = HttpRemote("https://far.example", KEY, in_flight=3, transport=httpx.MockTransport(answer))
    await asyncio.gather(*(remote.retrieve_store(f"memstore_{n}") for n in range(12)))

    assert 3 == most


PAGE = {"data": [], "next": "page_é+/", "has_more": False}


async def test_the_feed_is_asked_for_large_pages_and_waited_for_only_where_asked() -> None:
    far = Far(ok(PAGE), ok(PAGE), ok(PAGE))
    remote = far.remote()

    start = await remote.read_changes("memstore_1", after=None)
    await remote.read_changes("memstore_1", after=start.next)
    await remote.read_changes("memstore_1", after=start.next, wait_s=0.5)

    after = {"limit": "1000", "after": "page_é+/"}
    assert [{"limit": "1000"}, after, {**after, "wait": "0.5"}] == [dict(asked.url.params) for asked in far.asked]
    assert {"/v1/memory_stores/memstore_1/changes"} == {asked.url.path for asked in far.asked}


async def test_a_change_of_a_kind_that_came_later_is_read() -> None:
    change = {"type": "memory_change", "kind": "teleported", "created_at": NOW, "more": 1}
    far = Far(ok({**PAGE, "data": [change], "more": 1}))

    page = await far.remote().read_changes("memstore_1", after="page_x")

    assert [("teleported", None, None)] == [(one.kind, one.memory_id, one.created_by) for one in page.data]


async def test_an_expired_cursor_is_told_from_a_page_of_a_proxy() -> None:
    far = Far(refusal(410, "change_cursor_expired"), httpx.Response(410, html="<p>gone</p>"))
    remote = far.remote()

    with pytest.raises(ChangeCursorExpired):
        await remote.read_changes("memstore_1", after="page_x")
    with pytest.raises(RemoteUnavailable):
        await remote.read_changes("memstore_1", after="page_x")


async def test_the_feed_is_offered_once_an_answer_announced_it() -> None:
    announced = httpx.Response(404, json={}, headers={"memfs-changes": "1"})
    remote = Far(ok(STORE), announced, ok(STORE)).remote()
    offers = [remote.offers_changes]

    await remote.retrieve_store("memstore_1")
    offers.append(remote.offers_changes)
    with pytest.raises(RemoteUnavailable):
        await remote.retrieve_store("memstore_1")
    offers.append(remote.offers_changes)
    await remote.retrieve_store("memstore_1")

    assert [False, False, True, True] == [*offers, remote.offers_changes]


async def test_a_call_that_waits_has_its_wait_on_top_of_its_time() -> None:
    far = Far(ok(STORE), ok(PAGE))
    remote = far.remote()

    await remote.retrieve_store("memstore_1")
    await remote.read_changes("memstore_1", after="page_x", wait_s=60)

    assert [60, 120] == [asked.extensions["timeout"]["read"] for asked in far.asked]


async def test_calls_that_wait_hold_no_other_up() -> None:
    waiting, gate = 0, asyncio.Event()

    async def answer(request: httpx.Request) -> httpx.Response:
        nonlocal waiting
        if "wait" not in request.url.params:
            return ok(STORE)
        waiting += 1
        await gate.wait()
        return ok(PAGE)

    remote = HttpRemote("https://far.example", KEY, in_flight=2, transport=httpx.MockTransport(answer))
    async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        for _ in range(5):
            tasks.create_task(remote.read_changes("memstore_1", after="page_x", wait_s=20))
        await asyncio.gather(*(remote.retrieve_store("memstore_1") for _ in range(4)))
        gate.set()

    assert 5 == waiting


@pytest.mark.parametrize(
    "base_url",
    ["", "far.example", "ftp://far.example", "https://", "https://far.example/?a=b", "https://u:pw@far.example", "http://[::1"],
)  # fmt: skip
async def test_a_base_url_that_is_none_is_a_wrong_setting(base_url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        HttpRemote(base_url, KEY)

    assert "pw" not in str(caught.value)


@pytest.mark.parametrize("key", ["", "two words", "line\n", "schlüssel"])
async def test_a_key_that_cannot_be_a_header_is_a_wrong_setting_and_is_not_shown(key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        HttpRemote("https://far.example", key)

    assert not key or key.strip() not in str(caught.value)


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "localhost"])
async def test_a_proxy_is_not_asked_for_a_remote_on_this_host(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "")

    async with asyncio.timeout(10):
        url = f"http://{host}:1"
        with pytest.raises(RemoteUnavailable):
            await HttpRemote(url, KEY).retrieve_store("memstore_1")
    near, far = HttpRemote(url, KEY), HttpRemote("http://far.example", KEY)

    assert not near._connection._client._mounts
    assert far._connection._client._mounts
    await near.aclose()
    await far.aclose()
