"""A server process under hostile requests: its memory does not grow with what is sent to it, nor with how often."""

import gzip
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx

from memfs.server.serve import key_file

RUN = """
import sys
from pathlib import Path
from memfs.server.options import ServerOptions
from memfs.server.serve import serve
options = ServerOptions(database=sys.argv[2] or None)
serve("127.0.0.1", 0, Path(sys.argv[1]), options=options, on_ready=lambda url: print(url, flush=True))
"""
HUGE = 50_000_000
MARGIN = 45_000_000
"""Less than one of the bodies."""
BOMB = gzip.compress(b'{"path": "/a", "content": "' + b"\0" * HUGE)


@contextmanager
def process(data: Path, database: str | None) -> Iterator[tuple[int, httpx.Client]]:
    """Run a server as a process and yield its id and a client of it."""
    command = [sys.executable, "-c", RUN, str(data), database or ""]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        try:
            url = running.stdout.readline().strip()
            headers = {"authorization": f"Bearer {key_file(data).read_text().strip()}"}
            with httpx.Client(base_url=url, headers=headers, timeout=60) as client:
                yield running.pid, client
            running.terminate()
            _, said = running.communicate(timeout=30)
            assert (running.returncode, said) == (0, "")
        finally:
            running.kill()


def most_memory(pid: int) -> int:
    """Return the most bytes of memory that the process ever had."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.findall(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)[0]) * 1_024


def pieces() -> Iterator[bytes]:
    for _ in range(50):
        yield b" " * (HUGE // 50)


def attack(client: httpx.Client, memories: str, number: int) -> set[int]:
    """Send one of each, and return how they were answered."""
    headers = {"content-encoding": "gzip"}
    answers = [
        client.post(memories, content=b" " * HUGE),
        client.post(memories, content=pieces()),
        client.post(memories, content=BOMB, headers=headers),
        *below_the_cap(client, memories),
        client.get(memories, params={"page": "page_" + "A" * 40_000}),
        *(client.get(f"{memories}/mem_{number}_{n}" + "x" * 1_000) for n in range(50)),
        *(client.get(memories, headers={"authorization": f"Bearer {number}-{n}-{'x' * 1_000}"}) for n in range(50)),
    ]
    return {answer.status_code for answer in answers}


def below_the_cap(client: httpx.Client, memories: str) -> list[httpx.Response]:
    """Send bodies that are read, and need many times their size meanwhile."""
    deep = b'{"path": "/a", "content": ' + b"[" * 100_000
    return [
        client.post(memories, content=deep + b"]" * 100_000 + b"}"),
        client.post(memories, content=b'{"' + b'":0,"'.join(b"%d" % n for n in range(60_000)) + b'":0}'),
    ]


def test_its_memory_stays_what_it_was(tmp_path: Path, new_database: str | None) -> None:
    with process(tmp_path / "data", new_database) as (pid, client):
        store = client.post("/v1/memory_stores", json={"name": "n"}).json()["id"]
        memories = f"/v1/memory_stores/{store}/memories"
        with ThreadPoolExecutor(4) as threads:
            # Threads, connections and buffers that any use brings with it come first.
            list(threads.map(lambda n: client.get(f"{memories}/mem_{n}"), range(200)))
            list(threads.map(lambda _: below_the_cap(client, memories), range(16)))
            before = most_memory(pid)
            answered = list(threads.map(lambda number: attack(client, memories, number), range(8)))
        after = most_memory(pid)
        listed = client.get(memories).json()["data"]

    assert answered == [{400, 401, 404, 413}] * 8
    assert listed == []
    assert after - before < MARGIN
