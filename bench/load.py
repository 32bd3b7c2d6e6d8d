"""Clients of the server bench: each a process of its own with one kept connection, in a closed loop.

HTTP is said by hand over a plain socket, so that the clients cost little of the cores that they share with the server.
"""

import hashlib
import json
import multiprocessing
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from multiprocessing.connection import Connection
from typing import Any

TEXT = "The quick brown fox keeps notes about memory files.\n" * 40
OPERATIONS = ("retrieve", "update", "create", "list")
_END = b"\r\n\r\n"
_LENGTH = b"content-length: "


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a side's requests go."""

    host: str
    port: int
    key: str
    memories: str = ""
    """The path of the store's memories; empty on the bare side, where each operation has a constant answer."""
    read: tuple[str, ...] = ()
    """Ids of memories that are only read."""
    written: tuple[tuple[str, str], ...] = ()
    """For each client the id of a memory of its own, and its content's digest."""


@dataclass(slots=True, kw_only=True)
class Measured:
    """What clients did in a round."""

    seconds: float
    took_s: list[float] = field(default_factory=list)
    """Of each request, from the first byte sent to the last one received."""

    @property
    def rate(self) -> float:
        return len(self.took_s) / self.seconds


class Failed(Exception):
    """The server answered something else than 200."""


class Wire:
    """One kept connection."""

    def __init__(self, place: Place) -> None:
        self._socket = socket.create_connection((place.host, place.port), timeout=120)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._head = f" HTTP/1.1\r\nhost: {place.host}\r\nauthorization: Bearer {place.key}\r\n"

    def send(self, method: str, target: str, body: bytes = b"") -> None:
        about = f"content-type: application/json\r\ncontent-length: {len(body)}\r\n" if body else ""
        self._socket.sendall(f"{method} {target}{self._head}{about}\r\n".encode() + body)

    def receive(self) -> bytes:
        """Return the body of the next answer, which must be a 200 that says its length."""
        got = self._socket.recv(65_536)
        while _END not in got:
            got += self._more()
        head, _, body = got.partition(_END)
        length = int(head.lower().partition(_LENGTH)[2].partition(b"\r\n")[0])
        while len(body) < length:
            body += self._more()
        if not head.startswith(b"HTTP/1.1 200"):
            raise Failed(f"{head.splitlines()[0].decode()}: {body[:300].decode()}")
        return body

    def ask(self, method: str, target: str, body: Mapping[str, object] | None = None) -> dict[str, Any]:
        self.send(method, target, b"" if body is None else json.dumps(body).encode())
        return self.receive_json()

    def receive_json(self) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self.receive())
        return answer

    def close(self) -> None:
        self._socket.close()

    def _more(self) -> bytes:
        got = self._socket.recv(65_536)
        if not got:
            raise Failed("the server closed the connection")
        return got


def text(name: object) -> str:
    """Return a content of 2 KiB."""
    return f"{name}\n{TEXT}"[:2048]


def digest(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


def page(place: Place, *, cursor: str | None = None, limit: int = 100) -> str:
    return f"{place.memories}?limit={limit}" + (f"&page={cursor}" if cursor else "")


def requests(operation: str, place: Place, client: int) -> Iterator[tuple[str, str, bytes]]:
    """Yield requests without end: method, target, body. The bare side gets the same but for the target."""
    for method, target, body in _of_memfs(operation, place, client):
        yield method, (target if place.memories else f"/{operation}"), body


def _of_memfs(operation: str, place: Place, client: int) -> Iterator[tuple[str, str, bytes]]:
    unique = f"{client}-{time.time_ns()}"
    if operation == "retrieve":
        for number in count(client * 37):
            yield "GET", f"{place.memories}/{place.read[number % len(place.read)]}", b""
    if operation == "list":
        while True:
            yield "GET", page(place), b""
    if operation == "create":
        for number in count():
            made = {"path": f"/made/{unique}/{number}", "content": text(number)}
            yield "POST", place.memories, json.dumps(made).encode()
    memory, sha256 = place.written[client]
    for number in count():
        content = text(f"{unique} {number}")
        changed = {"content": content, "precondition": {"type": "content_sha256", "content_sha256": sha256}}
        yield "POST", f"{place.memories}/{memory}", json.dumps(changed).encode()
        sha256 = digest(content)


def _loop(wire: Wire, operation: str, place: Place, client: int, budget_s: float) -> list[float]:
    took_s = []
    end = time.perf_counter() + budget_s
    for request in requests(operation, place, client):
        began = time.perf_counter()
        if began >= end:
            return took_s
        wire.send(*request)
        wire.receive()
        took_s.append(time.perf_counter() - began)
    raise AssertionError


def _serve(pipe: Connection) -> None:
    wires: dict[tuple[str, int], Wire] = {}
    while (job := pipe.recv()) is not None:
        operation, place, client, budget_s = job
        where = (place.host, place.port)
        try:
            wire = wires[where] = wires.get(where) or Wire(place)
            pipe.send(_loop(wire, operation, place, client, budget_s))
        except Exception as error:  # noqa: BLE001  (the bench tells it, whatever it is)
            pipe.send(error)


@contextmanager
def clients(number: int) -> Iterator[Callable[[str, Place, float], Measured]]:
    """Start client processes; yield what has all of them do an operation for some seconds, at once."""
    context = multiprocessing.get_context("spawn")
    pipes, processes = [], []
    for _ in range(number):
        ours, theirs = context.Pipe()
        processes.append(context.Process(target=_serve, args=(theirs,), daemon=True))
        processes[-1].start()
        pipes.append(ours)

    def run(operation: str, place: Place, budget_s: float) -> Measured:
        began = time.perf_counter()
        for client, pipe in enumerate(pipes):
            pipe.send((operation, place, client, budget_s))
        found = [pipe.recv() for pipe in pipes]
        for error in found:
            if isinstance(error, Exception):
                raise error
        return Measured(seconds=time.perf_counter() - began, took_s=[one for took_s in found for one in took_s])

    try:
        yield run
    finally:
        for pipe, process in zip(pipes, processes, strict=True):
            pipe.send(None)
            process.join(20)
