"""A database that breaks or goes away under a server: an envelope to the client, the reason to the log, once."""

import logging
import sqlite3
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from postgres import cluster, stop
from wire import connected, refusal, serving

from memfs.server.serve import StoreServer
from memfs.server.store import sqlite, tables

SECRET = "a-content-that-is-nobody-elses"
API_ERROR = (500, "api_error")
OVERLOADED = (529, "overloaded_error")
INSIDES = ("Traceback", "sqlalchemy", "psycopg", "sqlite", "changes", "INSERT", "SELECT")


def drop_changes(server: StoreServer) -> None:
    """Break the database: nothing can be written without this table."""
    with server._database.write() as connection:
        tables.changes.drop(connection)


def new_memories(client: httpx.Client) -> str:
    return f"/v1/memory_stores/{client.post('/v1/memory_stores', json={'name': 'n'}).json()['id']}/memories"


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.expect_log("failed")
def test_a_broken_database_is_a_500_that_says_nothing_of_it(
    tmp_path: Path, new_database: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(tmp_path, database=new_database) as server, connected(server) as client:
        memories = new_memories(client)
        kept = client.post(memories, json={"path": "/a", "content": "kept"}).json()
        drop_changes(server)
        answers = [
            client.post(memories, json={"path": f"/{SECRET}", "content": SECRET}),
            client.post(f"{memories}/{kept['id']}", json={"content": SECRET}),
            client.delete(f"{memories}/{kept['id']}"),
        ]
        listed = client.get(memories, params={"view": "full"}).json()["data"]

    assert [refusal(answer) for answer in answers] == [API_ERROR] * 3
    assert [word for word in (*INSIDES, SECRET) for answer in answers if word in answer.text] == []
    assert warnings(caplog) == [f"request {answer.headers['request-id']} failed" for answer in answers]
    assert caplog.text.count("Traceback (most recent call last)") >= 3
    assert SECRET not in caplog.text
    # What failed left nothing, and what needs nothing of the broken part goes on.
    assert [(item["path"], item["content"]) for item in listed] == [("/a", "kept")]


@pytest.mark.expect_log("the database is busy")
def test_a_sqlite_file_in_somebodys_hands_is_a_529(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sqlite, "_BUSY_S", 0.05)
    with serving(tmp_path) as server, connected(server) as client:
        memories = new_memories(client)
        with closing(sqlite3.connect(tmp_path / "memfs.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            refused = client.post(memories, json={"path": "/a", "content": SECRET})
            read = client.get(memories)
            other.execute("ROLLBACK")
        again = client.post(memories, json={"path": "/a", "content": SECRET})

    assert refusal(refused) == OVERLOADED
    assert refused.headers["retry-after"] == "1"
    assert (read.status_code, again.status_code) == (200, 200)
    assert len(warnings(caplog)) == 1


@pytest.mark.expect_log("the database cannot be reached")
def test_a_postgresql_that_is_gone_is_a_529(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with (
        cluster() as postgres,
        serving(tmp_path, database=postgres.new_database()) as server,
        connected(server) as client,
    ):
        memories = new_memories(client)
        stop(postgres)
        answers = [
            client.post(memories, json={"path": "/a", "content": SECRET}),
            client.get(memories),
            client.get("/readyz"),
        ]
        healthy = client.get("/healthz")

    assert [refusal(answer) for answer in answers] == [OVERLOADED, OVERLOADED, (503, "overloaded_error")]
    # A process that is started anew for that would not find its database either.
    assert healthy.status_code == 200
    assert [word for word in INSIDES for answer in answers if word in answer.text] == []
    assert len([text for text in warnings(caplog) if "could not be served" in text]) == 2
    assert SECRET not in caplog.text
