"""`memfs serve` as its operator runs it: an older database, settings from a file, what cannot be served."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import first_release
import httpx
import pytest
from commands import MEMFS, STOP_TIMEOUT_S, Memfs
from postgres import Cluster


@contextmanager
def served(*words: str | Path, **settings: str) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """Run a server until the block ends, and yield what it says before it is ready, and its process."""
    command = [MEMFS, "serve", "--listen", "127.0.0.1:0", *words]
    environ = {**os.environ, **settings}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ) as process:
        assert process.stdout is not None
        said = ""
        try:
            while "serving memory stores at" not in said:
                line = process.stdout.readline()
                assert line, said
                said += line
            yield said, process
        finally:
            process.terminate()
            process.wait(STOP_TIMEOUT_S)


def url_in(said: str) -> str:
    return said.splitlines()[-1].split()[4]


def old_memories(url: str) -> dict[str, str]:
    headers = {"authorization": f"Bearer {first_release.TOKEN}"}
    where = f"{url}/v1/memory_stores/{first_release.STORE}/memories"
    listed = httpx.get(where, params={"view": "full"}, headers=headers, timeout=30).json()["data"]
    return {memory["path"]: memory["content"] for memory in listed}


CONTENTS = {path: content.decode() for path, content in first_release.CONTENTS.items()}


def test_an_older_database_is_served_only_after_a_migration_that_keeps_a_copy(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    first_release.make(data / "memfs.db")

    refused = Memfs.at_home(tmp_path).run("serve", "--listen", "127.0.0.1:0", "--data", data)
    assert (refused.code, refused.out) == (3, "")
    assert "memfs serve --migrate" in refused.err

    with served("--data", data, "--migrate") as (said, _process):
        assert said.startswith("brought the database up from 0001")
        assert old_memories(url_in(said)) == CONTENTS
    with served("--data", data, "--migrate") as (said, _process):
        assert said.startswith("the database has this release's layout")
    (copy,) = data.glob("memfs.db.before-*")
    assert copy.stat().st_mode & 0o777 == 0o600


def test_a_first_start_may_ask_for_a_migration(tmp_path: Path) -> None:
    with served("--data", tmp_path / "no" / "data", "--migrate") as (said, _process):
        assert said.startswith("the database has this release's layout")
        assert httpx.get(f"{url_in(said)}/readyz", timeout=30).status_code == 200


def test_an_older_database_of_postgresql_is_brought_up_too(tmp_path: Path, postgres: Cluster) -> None:
    url = postgres.new_database()
    first_release.make(url)

    with served("--data", tmp_path / "data", "--database", url, "--migrate") as (said, _process):
        assert old_memories(url_in(said)) == CONTENTS


def test_the_settings_of_a_file_hold_and_the_access_log_is_on_by_itself(tmp_path: Path) -> None:
    config = tmp_path / "memfs.toml"
    config.write_text(
        '[server]\ndata = "data"\nmemories = 1\nmemory_bytes = 3\nrequests_per_minute = 4\nstrict_beta = true\n'
    )
    with served("--config", config) as (said, process):
        key = (tmp_path / "data/api-key").read_text().strip()
        headers = {"authorization": f"Bearer {key}", "anthropic-beta": "agent-memory-2026-07-22"}
        with httpx.Client(base_url=url_in(said), headers=headers, timeout=30) as client:
            store = client.post("/v1/memory_stores", json={"name": "a secret name"}).json()["id"]
            memories = f"/v1/memory_stores/{store}/memories"
            answers = [
                client.post(memories, json={"path": "/a", "content": "four"}),
                client.post(memories, json={"path": "/a", "content": "abc"}),
                client.post(memories, json={"path": "/b", "content": ""}),
                client.get("/v1/memory_stores"),
            ]
            without = httpx.get(f"{client.base_url}/v1/memory_stores", headers={"authorization": f"Bearer {key}"})
        process.terminate()
        _, log = process.communicate(timeout=STOP_TIMEOUT_S)

    assert [answer.status_code for answer in answers] == [400, 200, 409, 429]
    assert without.status_code == 400
    assert "POST /v1/memory_stores/{store_id}/memories 409" in log
    assert [word for word in (key, "secret", "/a", store) if word in log] == []


def test_a_stop_releases_who_waits_for_a_change(tmp_path: Path) -> None:
    with served("--data", tmp_path / "data") as (said, process):
        key = (tmp_path / "data/api-key").read_text().strip()
        with httpx.Client(base_url=url_in(said), headers={"authorization": f"Bearer {key}"}, timeout=50) as client:
            store = client.post("/v1/memory_stores", json={"name": "n"}).json()["id"]
            cursor = client.get(f"/v1/memory_stores/{store}/changes").json()["next"]
            stop = subprocess.Popen(["/bin/sh", "-c", f"sleep 0.5; kill {process.pid}"])
            answer = client.get(f"/v1/memory_stores/{store}/changes", params={"after": cursor, "wait": 45})
            stop.wait(STOP_TIMEOUT_S)
        process.wait(STOP_TIMEOUT_S)

    assert answer.json() == {"data": [], "next": cursor, "has_more": False}
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--tls-cert", "cert.pem"], 3, "--tls-key"),
        (["--workers", "2"], 2, "SQLite has one writer"),
        (["--database", "mysql://root:hush@db/x"], 3, "Write it like postgresql://"),
        (["--database", "postgresql://me:hush@127.0.0.1:9/x"], 7, "cannot be reached"),
    ],
)
def test_what_cannot_be_served_is_one_line_and_shows_no_password(
    tmp_path: Path, words: list[str], code: int, said: str
) -> None:
    refused = Memfs.at_home(tmp_path).run("serve", "--listen", "127.0.0.1:0", "--data", tmp_path / "data", *words)

    assert refused.code == code
    assert said in refused.err
    assert len(refused.err.splitlines()) == 1
    assert "hush" not in refused.err
