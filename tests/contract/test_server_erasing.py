"""Bytes of what was deleted are erased in the end, whatever came between the deletion and the erasing of its bytes."""

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from raw_bytes import files_with
from running_up import eventually
from wire import connected, refusal, serving

from memfs.server import serve
from memfs.server.serve import StoreServer
from memfs.server.store import sqlite
from memfs.server.upkeep import Upkeep

SECRET = "the secret bytes"
KILLED_FIRST = """
import os, signal, sys
from pathlib import Path
from memfs.server.serve import serve
from memfs.server.store import sqlite
sqlite._erase = lambda *_arguments, **_options: os.kill(os.getpid(), signal.SIGKILL)
serve("127.0.0.1", 0, Path(sys.argv[1]), on_ready=lambda url: print(url, flush=True))
"""


def delete(client: httpx.Client, base: str, _version_id: str) -> httpx.Response:
    return client.delete(base)


def redact(client: httpx.Client, base: str, version_id: str) -> httpx.Response:
    return client.post(f"{base}/memory_versions/{version_id}/redact")


EITHER = pytest.mark.parametrize(("act", "again"), [(delete, 404), (redact, 200)], ids=["delete", "redact"])
Act = Callable[[httpx.Client, str, str], httpx.Response]


def with_a_secret(client: httpx.Client) -> tuple[str, str]:
    """Make a store whose history alone holds a secret; return its path and the version's id."""
    base = "/v1/memory_stores/" + client.post("/v1/memory_stores", json={"name": "n"}).json()["id"]
    made = client.post(f"{base}/memories", json={"path": "/a", "content": f"{SECRET} " * 500}).json()
    client.post(f"{base}/memories/{made['id']}", json={"content": "kept"}).raise_for_status()
    return base, made["memory_version_id"]


@contextmanager
def reading(data: Path) -> Iterator[None]:
    """Read for long, as a backup does."""
    with closing(sqlite3.connect(data / "memfs.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM versions").fetchone()
        yield
        reader.execute("ROLLBACK")


@contextmanager
def refused_first(data: Path, act: Act) -> Iterator[tuple[StoreServer, httpx.Client, str, str]]:
    """Run a server whose deletion was kept from erasing by a reader, who is gone now."""
    with serving(data) as server, connected(server) as client:
        base, version_id = with_a_secret(client)
        with reading(data):
            assert refusal(act(client, base, version_id)) == (529, "overloaded_error")
            # Not 404 or 200 either, before the bytes are gone.
            assert refusal(act(client, base, version_id)) == (529, "overloaded_error")
        assert files_with(data, SECRET)
        yield server, client, base, version_id


@EITHER
@pytest.mark.expect_log("erased")
def test_a_repetition_of_what_could_not_be_erased_erases_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: Act, again: int
) -> None:
    monkeypatch.setattr(sqlite, "_BUSY_S", 0.05)
    with refused_first(tmp_path, act) as (_server, client, base, version_id):
        assert act(client, base, version_id).status_code == again

        assert files_with(tmp_path, SECRET) == []


@pytest.mark.parametrize("act", [delete, redact])
@pytest.mark.expect_log("erased")
def test_what_nobody_repeats_is_erased_by_the_server_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: Act
) -> None:
    monkeypatch.setattr(sqlite, "_BUSY_S", 0.05)
    monkeypatch.setattr(serve, "Upkeep", partial(Upkeep, settle_every_s=0.05))
    with refused_first(tmp_path, act):
        eventually(lambda: files_with(tmp_path, SECRET) == [])


@EITHER
def test_a_kill_between_the_deletion_and_the_erasing_is_made_good_at_the_next_start(
    tmp_path: Path, act: Act, again: int
) -> None:
    with subprocess.Popen([sys.executable, "-c", KILLED_FIRST, tmp_path], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        url = running.stdout.readline().strip()
        headers = {"authorization": f"Bearer {(tmp_path / 'api-key').read_text().strip()}"}
        with httpx.Client(base_url=url, headers=headers) as client:
            base, version_id = with_a_secret(client)
            with pytest.raises(httpx.TransportError):
                act(client, base, version_id)
        assert running.wait(20) == -signal.SIGKILL
    assert files_with(tmp_path, SECRET)

    with serving(tmp_path) as server, connected(server) as client:
        eventually(lambda: files_with(tmp_path, SECRET) == [])
        assert act(client, base, version_id).status_code == again


def test_who_may_not_delete_is_told_nothing_of_what_is_owed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor may a stranger's guesses have the database written anew."""
    with serving(tmp_path) as server, connected(server) as client:
        base, _ = with_a_secret(client)
        resources = [{"type": "memory_store", "memory_store_id": base.rpartition("/")[2]}]
        made: dict[str, Any] = client.post("/v1/sessions", json={"resources": resources}).json()
        monkeypatch.setattr(server._database, "settle", None)
        token = {"authorization": f"Bearer {made['sessions_token']}"}
        assert client.delete("/v1/memory_stores/memstore_none", headers=token).status_code == 404
