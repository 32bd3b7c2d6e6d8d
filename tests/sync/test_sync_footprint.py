"""A full store: a worker that downloads 10,000 memories stays small and misses none."""

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest
from wire import connected, serving

from memfs.core.digest import content_sha256
from memfs.core.limits import Limits
from memfs.server.serve import StoreServer
from memfs.server.store import tables
from memfs.server.store.stamps import identifier
from memfs.state.layout import Layout

MEMORIES = Limits().memories
MOST_RSS_KIB = 120 * 1024
MEASURED = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
"""
"""Runs a command and prints its peak in KiB. A process starts with the peak of the one it was forked from, so that a
small one has to start what is measured: this test's own process may be large."""
BEGAN_US = 1_790_000_000_000_000


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def server(data: Path) -> Iterator[StoreServer]:
    with serving(data) as running:
        yield running


def full_store() -> dict[str, bytes]:
    """Return what the memories of a full store hold, by path without the leading slash."""
    return {f"d{number % 50}/e{number % 7}/note-{number}.md": b"line %d\n" % number * 20 for number in range(MEMORIES)}


def seed(database: Path, store_id: str, contents: dict[str, bytes]) -> None:
    """Put memories into a server's store as one transaction: over HTTP it would take minutes."""
    moments = count(BEGAN_US)
    memories, versions = [], []
    for path, content in contents.items():
        at = next(moments)
        about = ("/" + path, content_sha256(content), len(content), at)
        memory_id, version_id = identifier("mem", at), identifier("memver", at)
        memories.append((memory_id, store_id, version_id, *about, at))
        versions.append((version_id, store_id, memory_id, "created", *about, "apikey_seed", content))
    with closing(sqlite3.connect(database)) as connection, connection:
        fill(connection, tables.memories.name, memories, (
            "id", "store_id", "version_id", "path", "content_sha256", "content_size_bytes", "created_at", "updated_at",
        ))  # fmt: skip
        fill(connection, tables.versions.name, versions, (
            "id", "store_id", "memory_id", "operation", "path", "content_sha256", "content_size_bytes", "created_at",
            "created_by", "content",
        ))  # fmt: skip
        connection.execute("UPDATE stores SET memories = ? WHERE id = ?", (len(contents), store_id))


def fill(connection: sqlite3.Connection, table: str, rows: list[tuple[object, ...]], columns: tuple[str, ...]) -> None:
    places = ", ".join("?" * len(columns))
    connection.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})", rows)


def test_a_full_store_is_downloaded_whole_by_a_small_worker(server: StoreServer, data: Path, tmp_path: Path) -> None:
    with connected(server) as client:
        store_id = client.post("/v1/memory_stores", json={"name": "Full"}).json()["id"]
    expected = full_store()
    seed(data / "memfs.db", store_id, expected)
    command = [sys.executable, "-I", "-m", "worker", "--state", str(tmp_path / "state"), "--base-url", server.url]
    words = [sys.executable, "-I", "-c", MEASURED, *command, "--store", "Full", "--once"]
    worker = subprocess.run(
        words, env={"MEMFS_API_KEY": server.api_key}, stdout=subprocess.PIPE, timeout=110, check=False
    )
    tree = Layout(tmp_path / "state").store(store_id).tree

    assert 0 == worker.returncode
    found = {str(one.relative_to(tree)): one.read_bytes() for one in tree.rglob("*.md")}
    assert MEMORIES == len(found)
    assert expected == found
    assert int(worker.stdout) < MOST_RSS_KIB
