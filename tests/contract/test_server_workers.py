"""Several server processes on one socket: started, watched, counted together, ended; and what they need."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psycopg
from postgres import Cluster

RUN = [sys.executable, "-m", "memfs.cli", "serve", "--listen", "127.0.0.1:0"]
SOON_S = 30.0


@contextmanager
def workers(data: Path, database: str, count: int = 2) -> Iterator[tuple["subprocess.Popen[str]", httpx.Client]]:
    command = [*RUN, "--data", str(data), "--workers", str(count), "--no-access-log"]
    environ = {**os.environ, "MEMFS_DATABASE_URL": database}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environ) as running:
        try:
            assert running.stdout is not None
            said = running.stdout.readline()
            assert said.startswith("serving memory stores at "), said
            url = said.split()[4]
            headers = {"authorization": f"Bearer {(data / 'api-key').read_text().strip()}", "connection": "close"}
            with httpx.Client(base_url=url, headers=headers, timeout=SOON_S) as client:
                yield running, client
        finally:
            running.kill()


def children(parent: int) -> set[int]:
    return {int(pid) for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()}


def until(condition: Callable[[], bool], *, of: str) -> None:
    deadline = time.monotonic() + SOON_S
    while not condition():
        assert time.monotonic() < deadline, of
        time.sleep(0.05)


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_the_processes_serve_one_database_and_count_together(tmp_path: Path, postgres: Cluster) -> None:
    with workers(tmp_path / "data", postgres.new_database()) as (running, client):
        assert len(children(running.pid)) == 2
        store = client.post("/v1/memory_stores", json={"name": "n"}).json()["id"]
        answers = [client.get(f"/v1/memory_stores/{store}") for _ in range(40)]
        page = client.get("/metrics").text
        running.send_signal(signal.SIGTERM)
        said = running.communicate(timeout=SOON_S)[0]

    assert {answer.status_code for answer in answers} == {200}
    assert 'memfs_requests_total{method="GET",route="/v1/memory_stores/{store_id}",status="200"} 40.0' in page
    assert (running.returncode, said) == (0, "")


def test_a_process_that_is_killed_is_started_again(tmp_path: Path, postgres: Cluster) -> None:
    with workers(tmp_path / "data", postgres.new_database()) as (running, client):
        before = children(running.pid)
        victim = min(before)
        os.kill(victim, signal.SIGKILL)
        until(lambda: len(children(running.pid) - {victim}) == 2, of="a new process")

        assert {client.get("/v1/memory_stores").status_code for _ in range(10)} == {200}


def test_the_processes_end_with_the_one_that_watches_them(tmp_path: Path, postgres: Cluster) -> None:
    with workers(tmp_path / "data", postgres.new_database()) as (running, _client):
        orphans = children(running.pid)
        running.kill()
        running.wait(SOON_S)

        until(lambda: not any(lives(pid) for pid in orphans), of="the processes' end")


def test_sqlite_has_one_writer_and_says_what_to_do(tmp_path: Path) -> None:
    refused = subprocess.run(
        [*RUN, "--data", str(tmp_path / "data"), "--workers", "2"],
        capture_output=True,
        text=True,
        timeout=SOON_S,
        check=False,
    )

    assert refused.returncode == 2
    assert "SQLite has one writer" in refused.stderr
    assert "--database postgresql://" in refused.stderr


def test_processes_that_cannot_start_are_given_up(tmp_path: Path, postgres: Cluster) -> None:
    """The database is of another release: no process can serve it, and nobody waits for ever."""
    database = postgres.new_database()
    with workers(tmp_path / "data", database):
        pass
    with psycopg.connect(database) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    command = [*RUN, "--data", str(tmp_path / "data"), "--workers", "2", "--database", database]

    refused = subprocess.run(command, capture_output=True, text=True, timeout=SOON_S, check=False)

    assert refused.returncode == 3
    assert "layout 9999" in refused.stderr
    assert "Traceback" not in refused.stderr
