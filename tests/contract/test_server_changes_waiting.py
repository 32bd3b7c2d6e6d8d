"""Waiting for changes: who is woken by what, and that nobody is left waiting."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import psycopg
import pytest
from feed import LONG_S, asked, cursor, waits_for
from postgres import Cluster
from wire import connected, refusal, serving

from memfs.server import credentials
from memfs.server.keys import Keys
from memfs.server.prepared import now_us
from memfs.server.serve import StoreServer
from memfs.server.store.opening import open_database
from memfs.server.store.stamps import Stamps

MANY = 200


def made(client: httpx.Client) -> str:
    """Make a store and return its path."""
    return f"/v1/memory_stores/{client.post('/v1/memory_stores', json={'name': 'n'}).json()['id']}"


def note(client: httpx.Client, base: str, path: str) -> None:
    client.post(f"{base}/memories", json={"path": path, "content": path}).raise_for_status()


def paths(page: dict[str, Any]) -> list[str]:
    return [change["path"] for change in page["data"]]


@contextmanager
def following(client: httpx.Client, base: str, headers: dict[str, str] | None = None) -> Iterator[Future[Any]]:
    """Have one request wait for a change of a store, and yield its answer to be."""
    start = cursor(client, base)
    with ThreadPoolExecutor(1) as pool, httpx.Client(base_url=client.base_url, headers=client.headers) as other:
        query = {"after": start, "wait": "60"}
        waiting = pool.submit(other.get, f"{base}/changes", params=query, headers=headers, timeout=2 * LONG_S)
        waits_for(client, 1)
        yield waiting


@pytest.fixture
def own(tmp_path: Path, new_database: str | None) -> Iterator[StoreServer]:
    """A server of the test's own, so that nobody else waits there."""
    with serving(tmp_path / "data", database=new_database) as running:
        yield running


@pytest.fixture
def client(own: StoreServer) -> Iterator[httpx.Client]:
    with connected(own) as client:
        yield client


def test_a_write_through_the_same_server_ends_a_wait(client: httpx.Client) -> None:
    base = made(client)

    with following(client, base) as waiting:
        note(client, base, "/a")

        assert ["/a"] == paths(waiting.result(LONG_S).json())
    waits_for(client, 0)


def test_a_write_in_another_store_ends_no_wait(client: httpx.Client) -> None:
    base, other = made(client), made(client)

    with following(client, base) as waiting:
        for number in range(5):
            note(client, other, f"/{number}")
        waits_for(client, 1)
        note(client, base, "/a")

        assert ["/a"] == paths(waiting.result(LONG_S).json())


def test_a_write_through_another_server_on_the_same_database_ends_a_wait(
    client: httpx.Client, tmp_path: Path, new_database: str | None
) -> None:
    base = made(client)

    with serving(tmp_path / "data", database=new_database) as second, connected(second) as there:
        for path in ("/a", "/b", "/c"):
            with following(client, base) as waiting:
                note(there, base, path)
                assert [path] == paths(waiting.result(LONG_S).json())
        with following(there, base) as waiting:
            note(client, base, "/d")
            assert ["/d"] == paths(waiting.result(LONG_S).json())
        with following(client, base) as waiting:
            there.delete(base).raise_for_status()
            assert 404 == waiting.result(LONG_S).status_code


def test_a_listener_whose_connection_was_cut_listens_again(tmp_path: Path, postgres: Cluster) -> None:
    url = postgres.new_database()
    cut = """
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE 'LISTEN%'
    """
    with (
        serving(tmp_path / "data", database=url) as one, connected(one) as here,
        serving(tmp_path / "data", database=url) as other, connected(other) as there,
    ):  # fmt: skip
        base = made(here)
        with psycopg.connect(url, autocommit=True) as connection:
            assert [(True,), (True,)] == connection.execute(cut).fetchall()
        for path in ("/a", "/b"):
            with following(here, base) as waiting:
                note(there, base, path)

                assert [path] == paths(waiting.result(LONG_S).json())


def test_a_stopping_server_ends_every_wait_with_nothing(tmp_path: Path, new_database: str | None) -> None:
    with serving(tmp_path / "data", database=new_database) as own, connected(own) as client:
        base = made(client)
        start = cursor(client, base)
        with following(client, base) as waiting:
            own.stop()
            answer = waiting.result(LONG_S)

    assert (200, {"data": [], "next": start, "has_more": False}) == (answer.status_code, answer.json())


def test_the_end_of_its_store_ends_a_wait(client: httpx.Client) -> None:
    base = made(client)

    with following(client, base) as waiting:
        client.delete(base).raise_for_status()

        assert (404, "not_found_error") == refusal(waiting.result(LONG_S))
    waits_for(client, 0)


def test_the_end_of_its_session_ends_a_wait(client: httpx.Client) -> None:
    base = made(client)
    resource = {"type": "memory_store", "memory_store_id": base.rpartition("/")[2]}
    body = {"agent": "agent_a", "environment_id": "env_a", "resources": [resource]}
    session = client.post("/v1/sessions", json=body).json()
    token = {"authorization": f"Bearer {session['sessions_token']}"}

    with following(client, base, token) as waiting:
        client.post(f"/v1/sessions/{session['id']}/archive").raise_for_status()

        assert (401, "authentication_error") == refusal(waiting.result(LONG_S))


def test_a_key_that_is_revoked_while_it_waits_is_told_nothing_more(
    client: httpx.Client, new_database: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its wait ends at once where PostgreSQL tells of it, else with the next change, and without that change."""
    if new_database is None:
        monkeypatch.setattr(credentials, "FRESH_S", 0.0)  # else a key is believed for some seconds more
    base = made(client)
    with closing(open_database(new_database or tmp_path / "data" / "memfs.db")) as beside:
        keys = Keys(beside, Stamps(now_us))
        ci = keys.create("ci")
        key = {"authorization": f"Bearer {ci.token}"}
        with following(client, base, key) as waiting:
            keys.revoke(ci.key.id)
            if new_database is None:
                note(client, base, "/a")

            assert (401, "authentication_error") == refusal(waiting.result(LONG_S))
    assert (401, "authentication_error") == refusal(client.get(base, headers=key))


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_client_that_goes_away_waits_no_longer(own: StoreServer, client: httpx.Client) -> None:
    base = made(client)
    query = {"after": cursor(client, base), "wait": "60"}
    headers = {"authorization": f"Bearer {own.api_key}"}

    for _ in range(3):
        async with httpx.AsyncClient(base_url=own.url, headers=headers) as other, anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(lambda: other.get(f"{base}/changes", params=query, timeout=LONG_S))
            await anyio.to_thread.run_sync(waits_for, client, 5)
            tasks.cancel_scope.cancel()
        await anyio.to_thread.run_sync(waits_for, client, 0)
    note(client, base, "/a")

    assert ["/a"] == paths(asked(client, base, after=query["after"]))


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_everyone_who_waits_gets_the_one_write(own: StoreServer, client: httpx.Client) -> None:
    base = made(client)
    query = {"after": cursor(client, base), "wait": "60"}
    headers = {"authorization": f"Bearer {own.api_key}"}
    answers: list[list[str]] = []

    async with httpx.AsyncClient(
        base_url=own.url, headers=headers, limits=httpx.Limits(max_connections=None), timeout=2 * LONG_S
    ) as other:

        async def follow() -> None:
            answers.append(paths((await other.get(f"{base}/changes", params=query)).json()))

        async with anyio.create_task_group() as tasks:
            for _ in range(MANY):
                tasks.start_soon(follow)
            await anyio.to_thread.run_sync(waits_for, client, MANY)
            threads = threading.active_count()
            await anyio.to_thread.run_sync(note, client, base, "/a")

    assert [["/a"]] * MANY == answers
    assert threads < MANY
    waits_for(client, 0)
