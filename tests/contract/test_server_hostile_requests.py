"""Requests that bend HTTP: each gets the answer that HTTP has for it, or is hung up on, and the server goes on."""

import json
import socket
from contextlib import closing, suppress

import httpx
import pytest
from wire import connected

from memfs.server.serve import StoreServer

NO_HTTP = b"HTTP/1.1 400 Bad Request"
LINE = "POST /v1/memory_stores HTTP/1.1"


def said(server: StoreServer, request: bytes) -> bytes:
    """Send bytes and return all that comes until the server hangs up."""
    address = httpx.URL(server.url)
    found = b""
    with closing(socket.create_connection((address.host, address.port or 0), timeout=20)) as client:
        with suppress(ConnectionResetError, BrokenPipeError):
            client.sendall(request)
        with suppress(ConnectionResetError):
            while part := client.recv(65_536):
                found += part
    return found


def head(server: StoreServer, line: str, *headers: str) -> bytes:
    fixed = ("host: x", f"authorization: Bearer {server.api_key}", "connection: close")
    return "\r\n".join([line, *fixed, *headers, "", ""]).encode("latin-1")


def answered(server: StoreServer, request: bytes) -> tuple[int, str]:
    """Return status and error type of an answer that must be the API's; the type of a success is empty."""
    start, _, body = said(server, request).partition(b"\r\n\r\n")
    lines = start.decode().lower().split("\r\n")
    request_ids = [line.partition(": ")[2] for line in lines if line.startswith("request-id: ")]
    answer = json.loads(body)
    assert len(request_ids) == 1
    if "error" not in answer:
        return int(lines[0].split()[1]), ""
    assert answer["request_id"].lower() == request_ids[0]
    return int(lines[0].split()[1]), answer["error"]["type"]


@pytest.mark.parametrize(
    ("line", "headers", "expected"),
    [
        pytest.param("GET /v1/memory_stores HTTP/1.0", [], (200, ""), id="HTTP 1.0"),
        pytest.param("GET http://x/v1/memory_stores HTTP/1.1", [], (200, ""), id="a target for proxies"),
        pytest.param("GET HTTPS://other/v1/memory_stores?limit=1 HTTP/1.1", [], (200, ""), id="of another host"),
        pytest.param("GET http://x/v1/nothing HTTP/1.1", [], (404, "not_found_error"), id="of no endpoint"),
        pytest.param("GET http:// HTTP/1.1", [], (404, "not_found_error"), id="of no host"),
        pytest.param("GET file:///etc/passwd HTTP/1.1", [], (404, "not_found_error"), id="of another scheme"),
        pytest.param("GET x HTTP/1.1", [], (404, "not_found_error"), id="a target of no form"),
        pytest.param("OPTIONS * HTTP/1.1", [], (404, "not_found_error"), id="a star"),
        pytest.param("CONNECT x:443 HTTP/1.1", [], (404, "not_found_error"), id="a tunnel"),
        pytest.param("GET //v1/memory_stores HTTP/1.1", [], (404, "not_found_error"), id="two slashes"),
        pytest.param("GET /v1/../v1/memory_stores HTTP/1.1", [], (404, "not_found_error"), id="a way round"),
        pytest.param("TRACE /v1/memory_stores HTTP/1.1", [], (405, "invalid_request_error"), id="a trace"),
        pytest.param("PUT /v1/memory_stores HTTP/1.1", [], (405, "invalid_request_error"), id="a method of no use"),
        pytest.param("BREW /v1/memory_stores HTTP/1.1", [], (405, "invalid_request_error"), id="a method of no one"),
        pytest.param("GET /v1/memory_stores HTTP/1.1", ["x: y"] * 10_000, (200, ""), id="10,000 headers"),
        pytest.param("GET /v1/memory_stores HTTP/1.1", ["x: " + "y" * 50_000], (200, ""), id="a long header"),
        pytest.param("GET /v1/memory_stores HTTP/1.1", ["x: \xff\xfe"], (200, ""), id="a header of no ASCII"),
        pytest.param(
            "GET /v1/memory_stores HTTP/1.1",
            ["x-stainless-retry-count: " + "9" * 20_000, "x-stainless-timeout: NOT_GIVEN", "anthropic-version: \xff"],
            (200, ""),
            id="headers of clients without sense",
        ),
        pytest.param(
            LINE, ["content-length: 9999999999999999"], (413, "request_too_large"), id="a promise of too much"
        ),
        pytest.param(
            "GET /v1/memory_stores HTTP/1.1",
            ["upgrade: websocket", "sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==", "sec-websocket-version: 13"],
            (200, ""),
            id="an upgrade to a websocket",
        ),
        pytest.param(
            "GET /v1/memory_stores HTTP/1.1",
            ["upgrade: h2c", "http2-settings: AAMAAABkAAQAAP__"],
            (200, ""),
            id="an upgrade to HTTP 2",
        ),
    ],
)
def test_an_odd_request_is_answered_by_the_api(
    server: StoreServer, line: str, headers: list[str], expected: tuple[int, str]
) -> None:
    assert answered(server, head(server, line, *headers)) == expected


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"-5\r\nhello\r\n0\r\n\r\n", id="a negative piece"),
        pytest.param(b"0x5\r\nhello\r\n0\r\n\r\n", id="a size with a prefix"),
        pytest.param(b" 5\r\nhello\r\n0\r\n\r\n", id="a size with a space"),
        pytest.param(b"g\r\nhello\r\n0\r\n\r\n", id="a size of no digits"),
        pytest.param(b"\r\nhello\r\n0\r\n\r\n", id="no size"),
        pytest.param(b"f" * 30 + b"\r\nhello", id="a size past all sense"),
        pytest.param(b"5;" + b"x" * 100_000, id="an endless extension"),
        pytest.param(b"5\r\nhelloXX0\r\n\r\n", id="a piece longer than it says"),
        pytest.param(b"0\r\n" + b"x: y\r\n" * 20_000, id="endless trailers"),
        pytest.param(b"0\r\nx y\r\n\r\n", id="trailers that are none"),
    ],
)
def test_pieces_that_are_none_are_refused_and_nothing_after_them_is_read(server: StoreServer, body: bytes) -> None:
    hidden = head(server, "GET /healthz HTTP/1.1")
    answer = said(server, head(server, LINE, "transfer-encoding: chunked") + body + hidden)

    assert answer.startswith(NO_HTTP)
    assert answer.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize(
    ("line", "headers"),
    [
        pytest.param(LINE, ["transfer-encoding: gzip, chunked"], id="packed pieces"),
        pytest.param(LINE, ["transfer-encoding: chunked, chunked"], id="pieces of pieces"),
        pytest.param(LINE, ["content-length: 1e3"], id="a size that is no number"),
        pytest.param(LINE, ["content-length: +5"], id="a size with a sign"),
        pytest.param(LINE, ["content-length: " + "9" * 60], id="a size past all sense"),
        pytest.param("GET /heal thz HTTP/1.1", [], id="a space in the target"),
        pytest.param("GET /\xff HTTP/1.1", [], id="a target of no ASCII"),
        pytest.param("GET /healthz HTTP/1.1", ["x: a\0b"], id="a NUL in a header"),
        pytest.param("GET /healthz HTTP/1.1", ["x : y"], id="a space before the colon"),
        pytest.param("GET /healthz HTTP/1.1", ["host: y"], id="two hosts"),
        pytest.param("GET /healthz HTTP/1.1", ["x: " + "y" * 300_000], id="an endless header"),
    ],
)
def test_what_is_no_http_is_refused(server: StoreServer, line: str, headers: list[str]) -> None:
    answer = said(server, head(server, line, *headers))

    assert answer.startswith((NO_HTTP, b"HTTP/1.1 501"))


def test_requests_sent_in_one_go_are_answered_in_their_order(server: StoreServer) -> None:
    one = head(server, "GET /healthz HTTP/1.1").replace(b"connection: close\r\n", b"")
    last = head(server, "GET /v1/nothing HTTP/1.1")

    answer = said(server, one * 50 + last)

    assert answer.count(b"HTTP/1.1 200") == 50
    assert answer.rpartition(b"HTTP/1.1 ")[2].startswith(b"404")


def test_many_connections_that_say_nothing_do_not_keep_others_out(server: StoreServer) -> None:
    address = httpx.URL(server.url)
    silent = [socket.create_connection((address.host, address.port or 0), timeout=20) for _ in range(200)]
    try:
        with connected(server) as client:
            assert client.get("/v1/memory_stores").status_code == 200
    finally:
        for one in silent:
            one.close()
