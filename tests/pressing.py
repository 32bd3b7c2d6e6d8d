"""Clients that press on servers, in processes of their own: each logs what was answered, and what no answer came to.

`press` starts the processes and ends them; run as a program this is one of them. A request without an answer, or with
one that says that the server or its database could not serve it, may have been done or not.
"""

import hashlib
import json
import random
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from http.client import HTTPConnection, HTTPException
from typing import Any, cast
from urllib.parse import urlsplit

PROCESSES, CLIENTS = 4, 4
"""Sixteen clients at once."""
PATHS = ("/a", "/a/b", "/a/b/c", "/a/d", "/e", "/e/f", "/g", "/h/i", "/h/j", "/k")
REFUSALS = frozenset({400, 404, 409})
END_S = 60.0
_AGAIN_S = 0.02
Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What the clients are to do."""

    kind: str
    """``increments`` of counters, or a random ``history``."""
    urls: tuple[str, ...]
    """Of servers of one database; the clients are dealt out among them."""
    key: str
    memories: str
    """The path of the store's memories."""
    ids: tuple[str, ...] = ()
    """The counters' memories."""
    seed: int


@dataclass(slots=True, kw_only=True)
class Log:
    """What the clients saw."""

    done: list[Json]
    """Answers of writes that were done."""
    lost: list[str]
    """Contents of writes whose outcome is not known."""


@contextmanager
def press(work: Work) -> Iterator[Log]:
    """Press from several processes while the block runs; the log is whole after it."""
    log = Log(done=[], lost=[])
    running = []
    for number in range(PROCESSES):
        process = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdin is not None
        process.stdin.write(json.dumps(asdict(work) | {"seed": work.seed * PROCESSES + number}).encode() + b"\n")
        process.stdin.flush()
        running.append(process)
    try:
        yield log
        for process in running:
            said, _ = process.communicate(timeout=END_S)  # closes its input, and that is the end for it
            assert process.returncode == 0
            found = json.loads(said)
            log.done += found["done"]
            log.lost += found["lost"]
    finally:
        for process in running:
            with process:
                process.kill()


class Lost(Exception):
    """Nobody knows whether the request was done."""


class Client:
    """One client in a thread: its connection, its chance, its log."""

    def __init__(self, work: Work, number: int, ended: threading.Event) -> None:
        address = urlsplit(work.urls[number % len(work.urls)])
        self._connection = HTTPConnection(address.hostname or "", address.port, timeout=20)
        self._headers = {"authorization": f"Bearer {work.key}"}
        self.work = work
        self.ended = ended
        self.name = f"{work.seed}-{number}"
        self.dice = random.Random(self.name)
        self.log = Log(done=[], lost=[])
        self.failure: Exception | None = None
        self._tries = 0

    def run(self) -> None:
        step = self._increment if self.work.kind == "increments" else self._change_something
        try:
            while not self.ended.is_set():
                try:
                    step()
                except Lost:
                    self.ended.wait(_AGAIN_S)  # nothing tells when a server is there again
        except Exception as error:  # noqa: BLE001  (told in the main thread)
            self.failure = error

    def ask(self, method: str, path: str, body: Json | None = None) -> tuple[int, Json]:
        """Return status and answer."""
        try:
            self._connection.request(method, path, None if body is None else json.dumps(body), self._headers)
            answer = self._connection.getresponse()
            status, content = answer.status, json.loads(answer.read())
        except (OSError, HTTPException) as error:
            self._connection.close()
            raise Lost from error
        if status >= 500:
            raise Lost
        return status, content

    def write(self, path: str, body: Json) -> int:
        """Send a write whose content is this client's own."""
        try:
            status, answer = self.ask("POST", path, body)
        except Lost:
            self.log.lost.append(body.get("content", ""))
            raise
        if status == 200:
            self.log.done.append(answer)
        assert status == 200 or status in REFUSALS, answer
        return status

    def unique(self) -> str:
        self._tries += 1
        return f"{self.name} {self._tries}"

    def _increment(self) -> None:
        path = f"{self.work.memories}/{self.dice.choice(self.work.ids)}"
        while not self.ended.is_set():
            status, memory = self.ask("GET", path)
            assert status == 200, memory
            content = f"{int(memory['content'].split()[0]) + 1} {self.unique()}"
            expected = {"type": "content_sha256", "content_sha256": memory["content_sha256"]}
            if self.write(path, {"content": content, "precondition": expected}) == 200:
                assert self.log.done[-1]["content_sha256"] == hashlib.sha256(content.encode()).hexdigest()
                return

    def _change_something(self) -> None:
        memories, act = self.work.memories, self.dice.random()
        if act < 0.3:
            self.write(memories, {"path": self.dice.choice(PATHS), "content": self.unique()})
            return
        found = cast("Sequence[Json]", self.ask("GET", f"{memories}?limit=100")[1]["data"])
        if not found:
            return
        shown = [one["path"] for one in found]
        assert not any(below.startswith(f"{path}/") for path in shown for below in shown), shown
        one = self.dice.choice(found)
        path = f"{memories}/{one['id']}"
        if act < 0.55:
            self.write(path, {"path": self.dice.choice(PATHS)})
        elif act < 0.75:
            self.write(path, {"content": self.unique()})
        elif act < 0.9:
            status, answer = self.ask("DELETE", path)
            assert status == 200 or status in REFUSALS, answer
        else:
            self._redact_one()

    def _redact_one(self) -> None:
        versions = self.work.memories.replace("/memories", "/memory_versions")
        found = cast("Sequence[Json]", self.ask("GET", f"{versions}?limit=50")[1]["data"])
        if found:
            status, answer = self.ask("POST", f"{versions}/{self.dice.choice(found)['id']}/redact")
            assert status == 200 or status in REFUSALS, answer


def main() -> None:
    wanted = json.loads(sys.stdin.readline())
    work = Work(**{**wanted, "urls": tuple(wanted["urls"]), "ids": tuple(wanted["ids"])})
    ended = threading.Event()
    clients = [Client(work, number, ended) for number in range(CLIENTS)]
    threads = [threading.Thread(target=client.run) for client in clients]
    for thread in threads:
        thread.start()
    sys.stdin.read()
    ended.set()
    for thread in threads:
        thread.join()
    for client in clients:
        if client.failure is not None:
            raise client.failure
    log = Log(
        done=[one for client in clients for one in client.log.done],
        lost=[one for client in clients for one in client.log.lost],
    )
    print(json.dumps(asdict(log)))  # noqa: T201  (the process's answer)


if __name__ == "__main__":
    main()
