"""What the HTTP remote makes of answers that are none. Real answers: tests/contract."""

import asyncio
import gzip
import json

import httpx
import pytest
from far_side import KEY, MEMORY, STORE, Far, ok, refusal
from listed import memories

from memfs.core.errors import (
    AuthenticationFailed,
    InvalidRequest,
    MemfsError,
    NotFound,
    PathConflict,
    RateLimited,
    RemoteUnavailable,
    RequestTooLarge,
)
from memfs.remote.http import HttpRemote

pytestmark = pytest.mark.anyio


async def test_a_compressed_answer_is_read() -> None:
    packed = gzip.compress(json.dumps(STORE).encode())
    headers = {"content-type": "application/json; charset=utf-8", "content-encoding": "gzip"}
    far = Far(httpx.Response(200, content=packed, headers=headers))

    assert "notes" == (await far.remote().retrieve_store("memstore_1")).name


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (httpx.Response(200, html="<html>sign in</html>"), "text/html instead of JSON"),
        (httpx.Response(200, text=json.dumps(STORE)), "text/plain instead of JSON"),
        (httpx.Response(204), "nothing instead of JSON"),
        (httpx.Response(200, content=b"{", headers={"content-type": "application/json"}), "json_invalid"),
        (ok({"id": "memstore_1"}), "name (missing)"),
        (ok([]), "the body"),
        (httpx.Response(302, headers={"location": "https://elsewhere.example/"}), "302"),
        (httpx.Response(502, html="<html>bad gateway</html>"), "502"),
        (httpx.Response(404, html="<html>no such host</html>"), "404"),
        (refusal(529, "overloaded_error"), "no"),
        (
            httpx.Response(200, content=b"no gzip", headers={"content-type": "application/json"}),
            "json_invalid",
        ),
    ],
)  # fmt: skip
async def test_an_answer_that_is_none_is_a_remote_that_is_unavailable(answer: httpx.Response, told: str) -> None:
    with pytest.raises(RemoteUnavailable) as caught:
        await Far(answer).remote().retrieve_store("memstore_1")

    assert told in caught.value.message
    assert "https://far.example" in caught.value.message
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    "page",
    [{}, {"data": None, "next_page": None}, {"data": [MEMORY, {"type": "memory"}]}, {"data": [{"type": "riddle"}]}, []],
    ids=["no-data", "null-data", "half-an-item", "unknown-item", "no-object"],
)
async def test_a_listing_never_ends_on_a_page_that_is_none(page: object) -> None:
    """Read as an empty last page it would mean that every memory is gone."""
    far = Far(ok({"data": [MEMORY], "next_page": "p2"}), ok(page))

    with pytest.raises(RemoteUnavailable):
        await memories(far.remote(), "memstore_1")


async def test_a_content_never_reaches_a_message() -> None:
    far = Far(ok({**MEMORY, "content": ["top secret"], "content_size_bytes": "top secret"}))

    with pytest.raises(RemoteUnavailable) as caught:
        await far.remote().retrieve_memory("memstore_1", "mem_1")

    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (httpx.ConnectError("Connection refused"), "cannot be reached (Connection refused)"),
        (httpx.ConnectTimeout("late"), "did not answer in time"),
        (httpx.ReadTimeout("late"), "did not answer in time"),
        (httpx.ReadError("reset"), "broke off the answer (ReadError)"),
        (httpx.RemoteProtocolError("closed"), "broke off the answer (RemoteProtocolError)"),
        (httpx.LocalProtocolError(f"Illegal header value {KEY}"), "broke off the answer (LocalProtocolError)"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
async def test_a_failing_network_is_a_remote_that_is_unavailable(failure: Exception, told: str) -> None:
    with pytest.raises(RemoteUnavailable) as caught:
        await Far(failure).remote().retrieve_store("memstore_1")

    assert f"https://far.example {told}" == caught.value.message
    assert KEY not in str(caught.value)


async def test_an_answer_that_trickles_for_ever_ends_with_the_call_s_own_timeout() -> None:
    async def answer(_request: httpx.Request) -> httpx.Response:
        await asyncio.Event().wait()
        raise AssertionError

    remote = HttpRemote("https://far.example", KEY, timeout_s=0.05, transport=httpx.MockTransport(answer))

    with pytest.raises(RemoteUnavailable, match="in time"):
        await remote.retrieve_store("memstore_1")


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (refusal(400, "invalid_request_error"), InvalidRequest),
        (refusal(404, "not_found_error"), NotFound),
        (refusal(413, "request_too_large"), RequestTooLarge),
        (refusal(409, "memory_path_conflict_error", conflicting_path="/a"), PathConflict),
    ],
    ids=["400", "404", "413", "409"],
)
async def test_a_refusal_is_the_error_it_names(answer: httpx.Response, kind: type[MemfsError]) -> None:
    with pytest.raises(kind) as caught:
        await Far(answer).remote().create_memory("memstore_1", "/a/b", "x")

    assert kind is type(caught.value)


async def test_a_wait_that_the_remote_asks_for_is_handed_on() -> None:
    answer = refusal(429, "rate_limit_error")
    answer.headers["retry-after"] = "12"

    with pytest.raises(RateLimited) as caught:
        await Far(answer).remote().retrieve_store("memstore_1")

    assert 12.0 == caught.value.retry_after_s


async def test_a_refused_key_is_told_with_the_remote_and_without_the_key() -> None:
    with pytest.raises(AuthenticationFailed) as caught:
        await Far(refusal(401, "authentication_error")).remote().retrieve_store("memstore_1")

    assert "https://far.example refuses the API key" in caught.value.message
    assert "--api-key-file" in caught.value.remedy
    assert KEY not in str(caught.value)


async def test_a_refused_token_of_a_session_is_told_as_such() -> None:
    far = httpx.MockTransport(Far(refusal(401, "authentication_error")))
    remote = HttpRemote("https://far.example", KEY, transport=far, is_session_token=True)

    with pytest.raises(AuthenticationFailed) as caught:
        await remote.retrieve_store("memstore_1")

    assert "https://far.example refuses the session's token" in caught.value.message
    assert "The session has ended" in caught.value.remedy
    assert KEY not in str(caught.value)
