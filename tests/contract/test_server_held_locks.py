"""A lock that somebody else holds keeps writes waiting, for a bounded time, and no read."""

import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest
from wire import connected, refusal, serving

from memfs.server import threads
from memfs.server.store import postgresql, sqlite

WRITERS = 60
"""More than the server has threads."""
OVERLOADED = (529, "overloaded_error")


@contextmanager
def held(data: Path, database: str | None, store_id: str) -> Iterator[None]:
    """Hold what a write of the store needs, as another program would."""
    if database is None:
        with closing(sqlite3.connect(data / "memfs.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            yield
            other.execute("ROLLBACK")
        return
    with psycopg.connect(database) as connection:
        connection.execute("SELECT id FROM stores WHERE id = %s FOR UPDATE", (store_id,))
        yield


@pytest.mark.expect_log("the database is busy")
def test_reads_go_on_while_writes_wait_for_a_lock_and_none_waits_for_ever(
    tmp_path: Path, new_database: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "_BUSY_S", 2.0)
    monkeypatch.setattr(postgresql, "_BUSY_MS", 2_000)
    monkeypatch.setattr(threads, "PATIENCE_S", 2.0)
    data = tmp_path / "data"
    with serving(data, database=new_database) as server, connected(server) as client:
        store = client.post("/v1/memory_stores", json={"name": "n"}).json()["id"]
        memories = f"/v1/memory_stores/{store}/memories"
        kept = client.post(memories, json={"path": "/kept", "content": "kept"}).json()["id"]
        begun = threading.Barrier(WRITERS + 1)

        def write(number: int) -> tuple[int, str]:
            begun.wait(20)
            return refusal(client.post(memories, json={"path": f"/{number}", "content": "x"}, timeout=60))

        with ThreadPoolExecutor(WRITERS) as pool, held(data, new_database, store):
            asked = [pool.submit(write, number) for number in range(WRITERS)]
            begun.wait(20)
            read = [client.get(f"{memories}/{kept}"), client.get(memories), client.get("/readyz")]
            still_waiting = sum(not one.done() for one in asked)
            refused = [one.result(60) for one in asked]
        again = client.post(memories, json={"path": "/again", "content": "x"})

    assert [200] * 3 == [one.status_code for one in read]
    assert still_waiting > 0
    assert [OVERLOADED] * WRITERS == refused
    assert again.status_code == 200
