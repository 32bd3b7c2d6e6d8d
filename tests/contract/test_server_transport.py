"""Below the API: clients that are slow, go away, speak no HTTP, or say a request in two ways at once.

Each is answered or hung up on, and none is a bug to the log: an unexpected line fails the test.
"""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import httpx
import pytest
from wire import connected, serving

from memfs.server import connection
from memfs.server.serve import StoreServer

NOTHING = b""


def opened(server: StoreServer) -> socket.socket:
    address = httpx.URL(server.url)
    return socket.create_connection((address.host, address.port or 0), timeout=20)


def rest(client: socket.socket) -> bytes:
    """Return all that comes until the server hangs up."""
    found = b""
    with suppress(ConnectionResetError):
        while part := client.recv(65_536):
            found += part
    return found


def is_well(client: socket.socket) -> bool:
    """Read the whole answer of the health endpoint, and tell whether it is the right one."""
    found = b""
    while not found.endswith(b"}") and (part := client.recv(1_000)):
        found += part
    return found.startswith(b"HTTP/1.1 200")


def said(server: StoreServer, request: bytes) -> bytes:
    """Send bytes and return all that comes until the server hangs up."""
    with closing(opened(server)) as client:
        with suppress(ConnectionResetError, BrokenPipeError):
            client.sendall(request)
        return rest(client)


def head(server: StoreServer, line: str, *headers: str) -> bytes:
    return "\r\n".join([line, "host: x", f"authorization: Bearer {server.api_key}", *headers, "", ""]).encode()


@pytest.fixture
def hasty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StoreServer]:
    """A server that waits for a request one second: long enough for one that is sent at once on a busy machine."""
    monkeypatch.setattr(connection, "REQUEST_S", 1.0)
    with serving(tmp_path / "data") as running:
        yield running


@pytest.mark.parametrize(
    ("line", "headers", "answered"),
    [
        pytest.param("", [], b"", id="silent from the begin"),
        pytest.param("GET /healthz HT", [], b"", id="in the first line"),
        pytest.param("POST /v1/memory_stores HTTP/1.1", ["content-length: 9"], b"", id="before the body"),
        pytest.param("POST /nowhere HTTP/1.1", ["content-length: 9"], b"HTTP/1.1 404", id="after its answer"),
    ],
)
def test_a_request_that_is_never_whole_is_hung_up_on(
    hasty: StoreServer, line: str, headers: list[str], answered: bytes
) -> None:
    request = head(hasty, line, *headers) if headers else line.encode()

    found = said(hasty, request)

    assert found[: len(answered) or None] == answered


def test_a_second_request_that_is_never_whole_is_hung_up_on_too(hasty: StoreServer) -> None:
    with closing(opened(hasty)) as client:
        client.sendall(head(hasty, "GET /healthz HTTP/1.1"))
        assert is_well(client)
        client.sendall(b"GET /hea")

        assert rest(client) == NOTHING


def test_a_connection_that_idles_between_requests_is_not_hung_up_on(hasty: StoreServer) -> None:
    with closing(opened(hasty)) as patient:
        patient.sendall(head(hasty, "GET /healthz HTTP/1.1"))
        assert is_well(patient)
        # As long as it takes the server to hang up on a silent one.
        assert said(hasty, b"") == NOTHING

        patient.sendall(head(hasty, "GET /healthz HTTP/1.1"))
        assert is_well(patient)


def test_a_request_that_is_never_whole_does_not_keep_the_server_from_ending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "LAST_S", 0.1)
    with serving(tmp_path / "data") as server, closing(opened(server)) as client:
        client.sendall(head(server, "POST /v1/memory_stores HTTP/1.1", "content-length: 9", "expect: 100-continue"))
        assert b"100 Continue" in client.recv(1_000)
        server.stop()

        assert rest(client) == NOTHING


@pytest.mark.parametrize("manner", ["keep-alive", "close"])
def test_a_client_that_never_reads_its_answer_is_hung_up_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, manner: str
) -> None:
    monkeypatch.setattr(connection, "READ_S", 0.2)
    with serving(tmp_path / "data") as server, connected(server) as client:
        memories = f"/v1/memory_stores/{client.post('/v1/memory_stores', json={'name': 'n'}).json()['id']}/memories"
        for number in range(20):
            client.post(memories, json={"path": f"/{number}", "content": "\0" * 100_000}).raise_for_status()
        with closing(opened(server)) as deaf:
            deaf.sendall(head(server, f"GET {memories}?view=full HTTP/1.1", f"connection: {manner}"))
            held = server._server.server_state.connections
            wait_until(lambda: len(held) == 2)
            wait_until(lambda: len(held) == 1)

        assert client.get("/healthz").status_code == 200


def wait_until(holds: Callable[[], bool]) -> None:
    last = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < last
        time.sleep(0.01)


def test_a_client_that_goes_away_in_the_middle_leaves_nothing(tmp_path: Path) -> None:
    body = b'{"name": "half'
    with serving(tmp_path / "data") as server, connected(server) as client:
        with closing(opened(server)) as leaving:
            leaving.sendall(head(server, "POST /v1/memory_stores HTTP/1.1", "content-length: 99") + body)
            leaving.shutdown(socket.SHUT_WR)
            rest(leaving)

        assert client.get("/v1/memory_stores").json()["data"] == []


def test_a_request_of_two_lengths_is_refused_and_nothing_after_it_is_read(server: StoreServer) -> None:
    two = head(server, "POST /v1/memory_stores HTTP/1.1", "content-length: 5", "transfer-encoding: chunked")
    hidden = head(server, "GET /healthz HTTP/1.1")

    answer = said(server, two + b"0\r\n\r\n" + hidden)

    assert answer.startswith(b"HTTP/1.1 400")
    assert b'"invalid_request_error"' in answer
    assert b'"status":"ok"' not in answer


@pytest.mark.parametrize(
    "request_bytes",
    [
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", id="TLS"),
        pytest.param(b"GET /healthz HTTP/1.1\r\nhost: x\r\nx: " + b"x" * 300_000, id="an endless header"),
        pytest.param(b"GET /healthz HTTP/1.1\r\nhost: x\r\n" + b"x: y\r\n" * 50_000, id="endless headers"),
        pytest.param(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n", id="two sizes"),
        pytest.param(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n", id="a negative size"),
        pytest.param(b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: odd\r\n\r\n", id="an unknown encoding"),
    ],
)
def test_what_is_no_http_is_hung_up_on(server: StoreServer, request_bytes: bytes) -> None:
    assert said(server, request_bytes).startswith((b"HTTP/1.1 400", b"HTTP/1.1 501"))


def test_an_upgrade_is_not_taken_up(server: StoreServer) -> None:
    upgrade = ("connection: close, upgrade", "upgrade: websocket")

    assert said(server, head(server, "GET /healthz HTTP/1.1", *upgrade)).startswith(b"HTTP/1.1 200")


def test_a_long_answer_is_packed_for_those_who_ask(raw: httpx.Client, memories: str) -> None:
    ids = [
        raw.post(memories, json={"path": path, "content": content}).json()["id"]
        for path, content in (("/long", "a long text " * 5_000), ("/short", "short"))
    ]

    for url in (f"{memories}/{ids[0]}", f"{memories}/{ids[1]}", f"{memories}?view=full"):
        packed = raw.get(url, headers={"accept-encoding": "gzip"})
        plain = raw.get(url, headers={"accept-encoding": "identity"})
        is_long = len(plain.content) > 4_096
        assert packed.json() == plain.json()
        assert packed.headers.get("content-encoding") == ("gzip" if is_long else None)
        assert "content-encoding" not in plain.headers
        assert int(packed.headers["content-length"]) < len(plain.content) / 10 or not is_long


@pytest.mark.parametrize("deep", [b"[" * 500_000, b'{"a":' * 100_000])
def test_endless_nesting_is_refused(raw: httpx.Client, memories: str, deep: bytes) -> None:
    answer = raw.post(memories, content=b'{"path": "/a", "content": ' + deep)

    assert (answer.status_code, answer.json()["error"]["type"]) == (400, "invalid_request_error")
