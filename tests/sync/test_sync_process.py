"""The worker as the process it is, against a real server: started, watched, signalled, stopped."""

import fcntl
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from wire import connected, serving

from memfs.core.attachment import Access, Attachment
from memfs.server.serve import StoreServer
from memfs.state.attachments import attach, attached
from memfs.state.layout import Layout
from memfs.state.summary import summaries

WITHIN_S = 15.0
WORKER = [sys.executable, "-I", "-m", "worker"]
MakeWorker = Callable[..., "Worker"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StoreServer]:
    with serving(tmp_path_factory.mktemp("server") / "data") as running:
        yield running


@pytest.fixture(scope="module")
def client(server: StoreServer) -> Iterator[httpx.Client]:
    with connected(server) as found:
        yield found


@pytest.fixture
def store_id(client: httpx.Client, request: pytest.FixtureRequest) -> str:
    return str(client.post("/v1/memory_stores", json={"name": request.node.name}).json()["id"])


class Worker:
    """A running worker process on a state directory of its own."""

    def __init__(self, state: Path, arguments: list[str], api_key: str) -> None:
        self.layout = Layout(state)
        environ = {**os.environ, "MEMFS_API_KEY": api_key}
        command = [*WORKER, "--state", str(state), *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ)

    def tree(self) -> Path:
        until(lambda: attached(self.layout) != [])
        return self.layout.store(attached(self.layout)[0].store_id).tree

    def stop(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """Send a signal; return the exit code and what was said on standard error."""
        self.process.send_signal(number)
        return self.end()

    def end(self) -> tuple[int, str]:
        _, said = self.process.communicate(timeout=WITHIN_S)
        return self.process.returncode, said

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate(timeout=WITHIN_S)


@pytest.fixture
def worker(server: StoreServer, store_id: str, tmp_path: Path) -> Iterator[MakeWorker]:
    """Return a function that starts a worker of the store."""
    started: list[Worker] = []

    def start(*arguments: str, base_url: str = "", store: str = "", key: str = "", state: str = "state") -> Worker:
        told = ["--base-url", base_url or server.url, "--store", store or store_id, "--poll", "0.2", *arguments]
        started.append(Worker(tmp_path / state, told, key or server.api_key))
        return started[-1]

    yield start
    for one in started:
        one.kill()


def until(holds: Callable[[], Any]) -> None:
    """Wait until something holds; how long it takes is not the test's business, only that it comes."""
    deadline = time.monotonic() + WITHIN_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def contents(client: httpx.Client, store_id: str) -> dict[str, str]:
    answer = client.get(f"/v1/memory_stores/{store_id}/memories", params={"view": "full"})
    return {one["path"]: one["content"] for one in answer.json()["data"]}


def create(client: httpx.Client, store_id: str, path: str, content: str) -> str:
    answer = client.post(f"/v1/memory_stores/{store_id}/memories", json={"path": path, "content": content})
    return str(answer.raise_for_status().json()["id"])


def text(path: Path) -> str | None:
    return path.read_text() if path.exists() else None


def test_edits_travel_both_ways_until_the_worker_is_stopped(
    worker: MakeWorker, client: httpx.Client, store_id: str
) -> None:
    create(client, store_id, "/theirs.md", "one\n")
    running = worker()
    tree = running.tree()
    until(lambda: text(tree / "theirs.md") == "one\n")

    (tree / "d").mkdir()
    (tree / "d" / "mine.md").write_text("mine\n")
    until(lambda: contents(client, store_id).get("/d/mine.md") == "mine\n")

    memory_id = create(client, store_id, "/d/later.md", "later\n")
    until(lambda: text(tree / "d" / "later.md") == "later\n")
    client.post(f"/v1/memory_stores/{store_id}/memories/{memory_id}", json={"content": "edited\n"})
    until(lambda: text(tree / "d" / "later.md") == "edited\n")
    client.delete(f"/v1/memory_stores/{store_id}/memories/{memory_id}")
    until(lambda: not (tree / "d" / "later.md").exists())

    (tree / "d" / "mine.md").rename(tree / "moved.md")
    until(lambda: set(contents(client, store_id)) == {"/theirs.md", "/moved.md"})
    (tree / "theirs.md").unlink()
    until(lambda: set(contents(client, store_id)) == {"/moved.md"})
    code, said = running.stop()

    assert 0 == code
    assert said.rstrip().endswith("stopped: 0 paths are not synced")


def test_what_was_written_just_before_the_stop_is_sent(worker: MakeWorker, client: httpx.Client, store_id: str) -> None:
    running = worker()
    tree = running.tree()
    (tree / "note.md").write_text("last words\n")
    code, _ = running.stop(signal.SIGINT)

    assert 0 == code
    assert {"/note.md": "last words\n"} == contents(client, store_id)


def test_what_could_not_be_sent_is_named_in_the_last_line(worker: MakeWorker, store_id: str, tmp_path: Path) -> None:
    known = Attachment(store_id=store_id, name="Notes", slug="notes", access=Access.READ_WRITE)
    layout = Layout(tmp_path / "state")
    attach(layout, [known])
    (layout.store(store_id).tree / "note.md").write_text("kept\n")
    with unreachable() as url:
        running = worker("--drain-timeout", "0.5", base_url=url)
        until(lambda: [one.pending_paths for one in summaries(layout)] == [("/note.md",)])
        (summary,) = summaries(layout)
        code, said = running.stop()

    assert 0 == code
    assert summary.sync_error is not None
    assert "remote_unavailable" == summary.sync_error[0]
    assert said.rstrip().endswith("stopped: 1 path is not synced: notes/note.md")


def test_a_worker_that_started_without_its_server_syncs_when_it_comes(worker: MakeWorker, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    first = tmp_path / "first"
    with serving(first) as late:
        key = late.api_key
        with connected(late) as client:
            client.post("/v1/memory_stores", json={"name": "Late"})
    running = worker(base_url=f"http://127.0.0.1:{port}", store="Late", key=key)
    assert running.process.poll() is None

    with serving_at(first, port) as client:
        tree = running.tree()
        (tree / "note.md").write_text("text\n")
        late_id = attached(running.layout)[0].store_id
        until(lambda: contents(client, late_id) == {"/note.md": "text\n"})
        code, _ = running.stop()

    assert 0 == code


def test_sigusr1_has_everything_looked_at_anew(worker: MakeWorker, client: httpx.Client, store_id: str) -> None:
    running = worker("--poll", "3600")
    tree = running.tree()
    (tree / "mine.md").write_text("mine\n")
    until(lambda: contents(client, store_id) == {"/mine.md": "mine\n"})
    create(client, store_id, "/theirs.md", "theirs\n")

    running.process.send_signal(signal.SIGUSR1)

    until(lambda: text(tree / "theirs.md") == "theirs\n")


def test_once_syncs_and_exits(worker: MakeWorker, client: httpx.Client, store_id: str) -> None:
    create(client, store_id, "/theirs.md", "theirs\n")
    code, _ = worker("--once").end()
    assert 0 == code
    tree = worker("--once").tree()
    assert "theirs\n" == text(tree / "theirs.md")


def test_once_names_what_is_not_synced_and_exits_1(worker: MakeWorker) -> None:
    first = worker("--once")
    assert 0 == first.end()[0]
    tree = first.tree()
    (tree / "bytes.bin").write_bytes(b"\xff")
    (tree / "draft.tmp").write_text("held back")
    (tree / "good.md").write_text("good")

    code, said = worker("--once").end()

    assert 1 == code
    assert "2 paths are not synced" in said
    assert "/bytes.bin" in said
    assert "/draft.tmp" in said


@pytest.mark.parametrize(
    ("arguments", "expected", "message"),
    [
        ({"store": "nobody"}, 4, "there is no store 'nobody'"),
        ({"key": "wrong"}, 5, "key"),
    ],
)
def test_what_cannot_be_attached_ends_the_worker_with_one_line(
    arguments: dict[str, str], expected: int, message: str, worker: MakeWorker
) -> None:
    code, said = worker(**arguments).end()

    assert expected == code
    assert said.startswith("memfs: ")
    assert 1 == len(said.splitlines())
    assert message in said


def test_a_second_worker_of_a_state_is_refused(worker: MakeWorker) -> None:
    first = worker()
    first.tree()

    code, said = worker().end()

    assert 9 == code
    assert "another worker works on the state" in said


def test_once_with_the_remote_away_exits_7(worker: MakeWorker) -> None:
    with unreachable() as url:
        code, said = worker("--once", base_url=url).end()

    assert 7 == code
    assert said.startswith("memfs: ")


def test_a_killed_worker_goes_on_where_it_was(worker: MakeWorker, client: httpx.Client, store_id: str) -> None:
    first = worker()
    tree = first.tree()
    (tree / "note.md").write_text("one\n")
    until(lambda: contents(client, store_id) == {"/note.md": "one\n"})
    (tree / "note.md").write_text("two\n")
    first.kill()

    second = worker()
    until(lambda: contents(client, store_id) == {"/note.md": "two\n"})
    code, _ = second.stop()

    assert 0 == code
    assert ["note.md"] == [one.name for one in tree.iterdir()]


@contextmanager
def unreachable() -> Iterator[str]:
    """Hold a port at which nobody answers."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}"


@contextmanager
def serving_at(data: Path, port: int) -> Iterator[httpx.Client]:
    """Run a server at a port that was chosen before."""
    import threading  # noqa: PLC0415  (for this one test)

    ready = threading.Event()
    server = StoreServer("127.0.0.1", port, data, on_ready=lambda _url: ready.set())
    thread = threading.Thread(target=server.run, name="late-server")
    thread.start()
    try:
        assert ready.wait(WITHIN_S)
        with connected(server) as client:
            yield client
    finally:
        server.stop()
        thread.join(WITHIN_S)


@contextmanager
def silent() -> Iterator[str]:
    """Hold a port at which calls are taken and never answered."""
    with socket.create_server(("127.0.0.1", 0)) as held:
        yield f"http://127.0.0.1:{held.getsockname()[1]}"


@pytest.fixture
def edited_before(store_id: str, tmp_path: Path) -> Layout:
    """A state whose last worker is gone, with a file that no worker has seen."""
    known = Attachment(store_id=store_id, name="Notes", slug="notes", access=Access.READ_WRITE)
    layout = Layout(tmp_path / "state")
    attach(layout, [known])
    (layout.store(store_id).tree / "note.md").write_text("kept\n")
    return layout


def test_a_stop_before_the_remote_answered_names_what_is_here(worker: MakeWorker, edited_before: Layout) -> None:
    with silent() as url:
        running = worker("--drain-timeout", "0.5", base_url=url)
        until(lambda: locked(edited_before.worker_lock))
        until(lambda: catches(running.process.pid, signal.SIGTERM))
        code, said = running.stop()

    assert 0 == code
    assert said.rstrip().endswith("stopped: 1 path is not synced: notes/note.md")


def test_a_remote_that_does_not_answer_is_not_waited_for_before_looking(
    worker: MakeWorker, edited_before: Layout
) -> None:
    with silent() as url:
        worker(base_url=url)
        until(lambda: [one.pending_paths for one in summaries(edited_before)] == [("/note.md",)])


def test_a_store_that_fails_for_good_ends_the_worker_also_while_the_remote_is_away(
    worker: MakeWorker, edited_before: Layout, store_id: str
) -> None:
    with unreachable() as url:
        running = worker(base_url=url)
        until(lambda: [one.pending_paths for one in summaries(edited_before)] == [("/note.md",)])
        with closing(sqlite3.connect(edited_before.store(store_id).database, isolation_level=None)) as database:
            database.execute("DROP TABLE pending")
        (edited_before.store(store_id).tree / "more.md").write_text("more\n")
        code, said = running.end()

    assert 0 != code
    assert "pending" in said


def locked(path: Path) -> bool:
    """Tell whether another process holds the lock."""
    if not path.exists():
        return False
    with path.open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def catches(pid: int, number: signal.Signals) -> bool:
    """Tell whether a process handles the signal: before that it would end by it."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught.split()[1], 16) >> (number - 1) & 1)
