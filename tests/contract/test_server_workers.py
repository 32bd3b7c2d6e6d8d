"""Several server processes on one socket: started, watched, counted together, ended; and what they need."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Barrier

import httpx
import psycopg
import pytest
from postgres import Cluster, cluster, stop

from memfs.server.keys import Keys
from memfs.server.prepared import now_us
from memfs.server.store.opening import open_database
from memfs.server.store.stamps import Stamps

DYING = """
import sys
from pathlib import Path
from memfs.core.errors import ConfigError
from memfs.server import serve, workers
from memfs.server.options import ServerOptions
def refuse(*_arguments, **_options):
    raise ConfigError("it is so")
serve.StoreServer = refuse
options = ServerOptions(database=sys.argv[2])
try:
    workers.serve_with_workers("127.0.0.1", 0, Path(sys.argv[1]), workers=2, options=options, on_ready=print)
except workers.MemfsError as error:
    print(f"given up: {type(error).__name__}: {error}")
"""
RUN = [sys.executable, "-m", "memfs.cli", "serve", "--listen", "127.0.0.1:0"]
SOON_S = 30.0


@contextmanager
def workers(
    data: Path, database: str, count: int = 2, **environment: str
) -> Iterator[tuple["subprocess.Popen[str]", httpx.Client]]:
    command = [*RUN, "--data", str(data), "--workers", str(count), "--no-access-log"]
    environ = {**os.environ, "MEMFS_DATABASE_URL": database, **environment}
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

    assert said.endswith("INFO memfs.server.workers: stopped\n")
    assert said.count("\n") == 1
    assert {answer.status_code for answer in answers} == {200}
    assert 'memfs_requests_total{method="GET",route="/v1/memory_stores/{store_id}",status="200"} 40.0' in page
    assert running.returncode == 0


def test_a_process_that_is_killed_is_started_again(tmp_path: Path, postgres: Cluster) -> None:
    with workers(tmp_path / "data", postgres.new_database()) as (running, client):
        before = children(running.pid)
        victim = min(before)
        os.kill(victim, signal.SIGKILL)
        until(lambda: len(children(running.pid) - {victim}) == 2, of="a new process")

        assert {client.get("/v1/memory_stores").status_code for _ in range(10)} == {200}


def test_processes_that_find_no_database_are_started_until_they_do(tmp_path: Path) -> None:
    """However often, with one line about it, and with all of them in the end."""
    with cluster(is_durable=True) as own, workers(tmp_path / "data", own.new_database()) as (running, client):
        stop(own)
        before = children(running.pid)
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        seen: set[int] = set()
        until(lambda: seen.update(children(running.pid) - before) or len(seen) >= 5, of="five further processes")
        own.start()
        assert running.stdout is not None
        said = []
        while not said or not said[-1].endswith("all 2 server processes serve again\n"):
            said.append(running.stdout.readline())
        assert {client.get("/v1/memory_stores").status_code for _ in range(10)} == {200}

    told = [line.partition("workers: ")[2] for line in said if "server.workers: " in line]
    begin = "a server process ended, it is started again until it serves: "
    assert told[0] == f"{begin}SIGKILL\n"
    assert told[1].startswith(f"{begin}the PostgreSQL database cannot be reached (")
    assert len(told) == 3


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
def test_any_signal_to_all_of_them_ends_them_in_good_order(
    tmp_path: Path, postgres: Cluster, number: signal.Signals
) -> None:
    """As a terminal sends it, to each process; nothing of theirs is left."""
    with workers(tmp_path / "data", postgres.new_database(), TMPDIR=str(tmp_path)) as (running, _client):
        assert len(list(tmp_path.glob("memfs-metrics-*"))) == 1
        for pid in [running.pid, *children(running.pid)]:
            os.kill(pid, number)
        said = running.communicate(timeout=SOON_S)[0]

    assert (running.returncode, list(tmp_path.glob("memfs-metrics-*"))) == (0, [])
    assert said.splitlines()[-1].endswith("stopped")


def figure(client: httpx.Client, name: str) -> float:
    lines = client.get("/metrics").text.splitlines()
    return sum(float(line.split()[1]) for line in lines if line.split()[0] == name)


def test_who_waits_is_counted_in_every_process_and_forgotten_with_it(tmp_path: Path, postgres: Cluster) -> None:
    with workers(tmp_path / "data", postgres.new_database()) as (running, client), ThreadPoolExecutor(8) as pool:
        changes = f"/v1/memory_stores/{client.post('/v1/memory_stores', json={'name': 'n'}).json()['id']}/changes"
        waiting = {"after": client.get(changes).json()["next"], "wait": 60}
        for _ in range(8):
            pool.submit(client.get, changes, params=waiting)
        with httpx.Client(base_url=client.base_url) as one_process:  # a kept connection is of one of them
            until(lambda: figure(one_process, "memfs_waiters") == 8, of="eight who wait")
        before = children(running.pid)
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        until(lambda: len(children(running.pid) - before) == 2, of="new processes")

        until(lambda: figure(client, "memfs_waiters") == 0, of="nobody who waits")


def test_a_stop_releases_who_waits_in_any_of_them(tmp_path: Path, postgres: Cluster) -> None:
    with workers(tmp_path / "data", postgres.new_database()) as (running, client), ThreadPoolExecutor(6) as pool:
        changes = f"/v1/memory_stores/{client.post('/v1/memory_stores', json={'name': 'n'}).json()['id']}/changes"
        cursor = client.get(changes).json()["next"]
        waiting = [pool.submit(client.get, changes, params={"after": cursor, "wait": 60}) for _ in range(6)]
        until(lambda: figure(client, "memfs_waiters") == 6, of="six who wait")
        running.send_signal(signal.SIGTERM)
        answers = [one.result(SOON_S) for one in waiting]

        assert [answer.json() for answer in answers] == [{"data": [], "next": cursor, "has_more": False}] * 6
        assert running.wait(SOON_S) == 0


def test_the_processes_end_with_the_one_that_watches_them(tmp_path: Path, postgres: Cluster) -> None:
    """However it ends, and though one of them hangs; nothing of theirs is left."""
    with workers(tmp_path / "data", postgres.new_database(), TMPDIR=str(tmp_path)) as (running, _client):
        orphans = children(running.pid)
        hanging = max(orphans)
        os.kill(hanging, signal.SIGSTOP)
        try:
            running.kill()
            running.wait(SOON_S)
            until(lambda: not any(lives(pid) for pid in orphans - {hanging}), of="the others' end")
        finally:
            os.kill(hanging, signal.SIGCONT)
        until(lambda: not lives(hanging), of="the end of the one that hung")

    assert list(tmp_path.glob("memfs-metrics-*")) == []


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


def refused(data: Path, database: str, *words: str) -> "subprocess.CompletedProcess[str]":
    command = [*RUN, "--data", str(data), "--workers", "2", "--database", database, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=SOON_S, check=False)


def test_what_is_wrong_with_the_database_is_said_once(tmp_path: Path, postgres: Cluster) -> None:
    database = postgres.new_database()
    with workers(tmp_path / "data", database):
        pass
    with psycopg.connect(database) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")

    told = refused(tmp_path / "data", database)

    assert told.returncode == 3
    assert "layout 9999" in told.stderr
    assert told.stderr.count("\n") == 1


def test_what_is_wrong_with_the_certificate_is_said_once(tmp_path: Path, postgres: Cluster) -> None:
    file = tmp_path / "no-certificate"
    file.write_text("this is none")

    told = refused(tmp_path / "data", postgres.new_database(), "--tls-cert", str(file), "--tls-key", str(file))

    assert told.returncode == 3
    assert str(file) in told.stderr
    assert told.stderr.count("\n") == 1


def test_what_is_wrong_with_a_process_from_the_beginning_ends_all(tmp_path: Path, postgres: Cluster) -> None:
    command = [sys.executable, "-c", DYING, str(tmp_path / "data"), postgres.new_database()]

    told = subprocess.run(command, capture_output=True, text=True, timeout=SOON_S, check=False)

    assert (told.stdout, told.stderr) == ("given up: ConfigError: it is so\n", "")


def test_processes_that_begin_at_once_know_one_key(postgres: Cluster) -> None:
    """On several hosts, say: nothing but the database is between them."""
    database = postgres.new_database()
    open_database(database).close()
    for number in range(8):
        begun = Barrier(4)

        def begin(token: str = f"memfs-key-{number:016}", begun: Barrier = begun) -> str:
            with closing(open_database(database)) as opened:
                keys = Keys(opened, Stamps(now_us, last_us=0))
                begun.wait(SOON_S)
                return keys.ensure(token)

        with ThreadPoolExecutor(4) as pool:
            known = {one.result() for one in [pool.submit(begin) for _ in range(4)]}
        assert len(known) == 1
