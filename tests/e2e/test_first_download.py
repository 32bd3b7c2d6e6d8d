"""A first download from a slow server: a bar on a terminal, lines in a log, and `memfs up` shows its worker's."""

import os
import re
import select
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import httpx
import pytest
from commands import MEMFS, STOP_TIMEOUT_S, Memfs, RunningServer
from running_up import is_mounted

COUNT = 160
DELAY_S = 0.3
WITHIN_S = 60
BAR = re.compile(r"first download .*\d+/(\?|160)")


class Slow:
    """Passes connections on to a server whose every answer takes its time: a download lasts for seconds."""

    def __init__(self, server_url: str) -> None:
        address = httpx.URL(server_url)
        self._server = (address.host, address.port or 0)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._listen, daemon=True).start()

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = socket.create_connection(self._server)
                for source, sink, delay_s in ((client, server, 0.0), (server, client, DELAY_S)):
                    threading.Thread(target=pass_on, args=(source, sink, delay_s), daemon=True).start()


def pass_on(source: socket.socket, sink: socket.socket, delay_s: float) -> None:
    with closing(source), suppress(OSError):
        while said := source.recv(1 << 20):
            time.sleep(delay_s)
            sink.sendall(said)
        sink.shutdown(socket.SHUT_WR)


@pytest.fixture
def memfs(store_server: RunningServer, tmp_path: Path) -> Iterator[Memfs]:
    """The command, whose remote is slow."""
    slow = Slow(store_server.url)
    yield Memfs.at_home(tmp_path, MEMFS_BASE_URL=slow.url, MEMFS_API_KEY=store_server.key, TERM="xterm", COLUMNS="100")
    slow.close()


@pytest.fixture
def store_id(store_server: RunningServer) -> str:
    with httpx.Client(base_url=store_server.url, headers={"x-api-key": store_server.key}) as client:
        store_id = str(client.post("/v1/memory_stores", json={"name": "Big"}).json()["id"])
        for number in range(COUNT):
            body = {"path": f"/{number}.md", "content": "text\n"}
            client.post(f"/v1/memory_stores/{store_id}/memories", json=body).raise_for_status()
    return store_id


class Terminal:
    """What a command showed at a terminal."""

    def __init__(self, descriptor: int, process: "subprocess.Popen[bytes]") -> None:
        self._descriptor, self.process, self.shown = descriptor, process, ""

    def until(self, text: str) -> None:
        """Read until the terminal shows ``text``, or the command ends."""
        deadline = time.monotonic() + WITHIN_S
        while text not in self.shown:
            assert select.select([self._descriptor], [], [], max(0.0, deadline - time.monotonic()))[0], self.shown
            try:
                told = os.read(self._descriptor, 65_536).decode(errors="replace")
            except OSError:  # Nobody has the terminal any more.
                return
            self.shown += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", told)


@contextmanager
def at_terminal(memfs: Memfs, *words: str | Path) -> Iterator[Terminal]:
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [MEMFS, *words], stdin=theirs, stdout=theirs, stderr=theirs, env=dict(memfs.environ), start_new_session=True
    )
    os.close(theirs)
    try:
        yield Terminal(ours, process)
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(STOP_TIMEOUT_S)
        os.close(ours)


def test_the_worker_in_the_foreground_shows_a_bar_on_a_terminal(memfs: Memfs, store_id: str, tmp_path: Path) -> None:
    with at_terminal(memfs, "sync", "--once", "--store", store_id, "--state", tmp_path / "state") as terminal:
        terminal.until("is on both sides for good")  # It never says so: read to its end.
        code = terminal.process.wait(STOP_TIMEOUT_S)

    assert 0 == code, terminal.shown
    assert BAR.search(terminal.shown), terminal.shown


def test_elsewhere_its_log_tells_of_it(memfs: Memfs, store_id: str, tmp_path: Path) -> None:
    printed = memfs.run("sync", "--once", "--store", store_id, "--state", tmp_path / "state")

    assert 0 == printed.code
    assert re.search(r"INFO worker.telling: downloading \d+ memories", printed.err), printed.err
    assert "first download" not in printed.err


def test_up_shows_the_bar_of_its_worker(memfs: Memfs, store_id: str, tmp_path: Path) -> None:
    (tmp_path / "mount").mkdir()
    words = ("--store", store_id, "--mount", tmp_path / "mount", "--state", tmp_path / "state")
    with at_terminal(memfs, "up", *words) as terminal:
        terminal.until("ready. Ctrl-C")

    assert BAR.search(terminal.shown), terminal.shown
    assert "worker.telling: downloading" not in terminal.shown
    assert not is_mounted(tmp_path / "mount")
