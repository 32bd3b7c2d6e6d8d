"""A store server in a thread, plain HTTP to it, and reading its answers."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from memfs.server.options import ServerOptions
from memfs.server.serve import StoreServer

INVALID = (400, "invalid_request_error")
READY_S = 20.0


@contextmanager
def serving(data: Path, **options: Any) -> Iterator[StoreServer]:
    """Run a server in a thread of this process until the block ends; ``options`` are those of `ServerOptions`."""
    ready = threading.Event()
    chosen = ServerOptions(**options)
    server = StoreServer("127.0.0.1", 0, data, options=chosen, on_ready=lambda _url: ready.set())
    thread = threading.Thread(target=server.run, name="store-server")
    thread.start()
    try:
        assert ready.wait(READY_S)
        yield server
    finally:
        server.stop()
        thread.join(READY_S)
        assert not thread.is_alive()


@contextmanager
def connected(server: StoreServer) -> Iterator[httpx.Client]:
    """Speak plain HTTP to a server, with its key."""
    headers = {"authorization": f"Bearer {server.api_key}"}
    with httpx.Client(base_url=server.url, headers=headers, timeout=30) as client:
        yield client


def refusal(answer: httpx.Response) -> tuple[int, str]:
    """Return status and type of an answer, which must be a whole error envelope."""
    body = answer.json()
    assert body["type"] == "error"
    assert body["request_id"] == answer.headers["request-id"]
    assert body["request_id"].startswith("req_01")
    assert body["error"]["message"]
    return answer.status_code, body["error"]["type"]
