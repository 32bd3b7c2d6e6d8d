"""A server as a process: first start, signals, restarts, and starts that cannot be."""

import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from wire import connected, serving

from memfs.core.errors import AlreadyHeld, ConfigError, MemfsError, UsageError
from memfs.server import serve as module
from memfs.server.serve import StoreServer, key_file

RUN = """
import sys
from pathlib import Path
from memfs.server.serve import serve
serve("127.0.0.1", 0, Path(sys.argv[1]), on_ready=lambda url: print(url, flush=True))
print("ended")
"""


@contextmanager
def process(data: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a server as a process and yield it with its URL."""
    command = [sys.executable, "-c", RUN, str(data)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
        assert running.stdout is not None
        try:
            yield running, running.stdout.readline().strip()
        finally:
            running.kill()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def bearer(data: Path) -> dict[str, str]:
    return {"authorization": f"Bearer {key_file(data).read_text().strip()}"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_first_start_makes_a_key_and_a_signal_ends_it_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    data = tmp_path / "new" / "data"

    with process(data) as (running, url):
        made = httpx.post(f"{url}/v1/memory_stores", headers=bearer(data), json={"name": "kept"})
        running.send_signal(number)
        said, _ = running.communicate(timeout=20)

    assert made.status_code == 200
    assert (running.returncode, said) == (0, "ended\n")
    assert (mode(data), mode(data / "api-key"), mode(data / "memfs.db")) == (0o700, 0o600, 0o600)
    assert key_file(data).read_text().startswith("memfs-key-")


def test_what_was_answered_survives_a_kill_and_the_key_stays(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with process(data) as (running, url):
        made = httpx.post(f"{url}/v1/memory_stores", headers=bearer(data), json={"name": "kept"}).json()
        key = bearer(data)
        running.kill()
        running.wait(20)

    with process(data) as (_, url):
        read = httpx.get(f"{url}/v1/memory_stores/{made['id']}", headers=key)

    assert read.json() == made
    assert key == bearer(data)


def test_a_request_under_way_is_answered_before_the_end(tmp_path: Path) -> None:
    body = b'{"name": "in time"}'
    with serving(tmp_path / "data") as server:
        address = httpx.URL(server.url)
        with socket.create_connection((address.host, address.port or 0), timeout=20) as connection:
            head = (
                f"POST /v1/memory_stores HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {server.api_key}\r\n"
                f"content-length: {len(body)}\r\nexpect: 100-continue\r\n\r\n"
            )
            connection.sendall(head.encode())
            assert b"100 Continue" in connection.recv(1_000)
            server.stop()
            connection.sendall(body)
            assert connection.recv(1_000).startswith(b"HTTP/1.1 200")

    with serving(tmp_path / "data") as server, connected(server) as client:
        assert [store["name"] for store in client.get("/v1/memory_stores").json()["data"]] == ["in time"]


def test_two_servers_may_share_one_directory(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with (
        serving(data) as one,
        serving(data) as two,
        connected(one) as first,
        connected(two) as second,
    ):
        made = first.post("/v1/memory_stores", json={"name": "shared"}).json()
        read = second.get(f"/v1/memory_stores/{made['id']}").json()

    assert one.api_key == two.api_key
    assert read == made


def test_the_database_holds_no_key(tmp_path: Path) -> None:
    with serving(tmp_path) as server, connected(server) as client:
        client.get("/v1/memory_stores").raise_for_status()

    assert server.api_key.encode() not in (tmp_path / "memfs.db").read_bytes()


def test_a_clock_that_is_behind_at_the_next_start_does_not_turn_the_history_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(tmp_path) as server, connected(server) as client:
        memories = f"/v1/memory_stores/{client.post('/v1/memory_stores', json={'name': 'n'}).json()['id']}/memories"
        made = client.post(memories, json={"path": "/a", "content": "1"}).json()
    monkeypatch.setattr(module.time, "time_ns", lambda: 1_000_000_000)

    with serving(tmp_path) as server, connected(server) as client:
        client.post(f"{memories}/{made['id']}", json={"content": "2"}).raise_for_status()
        history = client.get(memories.replace("/memories", "/memory_versions"), params={"view": "full"}).json()["data"]

    assert [one["content"] for one in history] == ["2", "1"]


def refused(host: str, port: int, data: Path) -> MemfsError:
    with pytest.raises(MemfsError) as caught:
        StoreServer(host, port, data)
    assert caught.value.remedy
    return caught.value


def test_a_port_in_use_is_said(tmp_path: Path, server_url: str) -> None:
    port = httpx.URL(server_url).port or 0

    error = refused("127.0.0.1", port, tmp_path / "data")

    assert type(error) is AlreadyHeld
    assert f"127.0.0.1:{port}" in error.message
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(("host", "port"), [("no-such-host.invalid", 0), ("192.0.2.1", 0), ("127.0.0.1", 70_000)])
def test_an_address_that_cannot_be_listened_on_is_said(tmp_path: Path, host: str, port: int) -> None:
    error = refused(host, port, tmp_path)

    assert type(error) is UsageError
    assert f"{host}:{port}" in error.message


def test_a_data_directory_that_is_a_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    for data in (tmp_path / "file", tmp_path / "file" / "below"):
        error = refused("127.0.0.1", 0, data)
        assert type(error) is ConfigError
        assert str(data) in error.message


@pytest.mark.parametrize("content", ["", "short", "two words of enough length", "ä" * 20])
def test_a_key_file_without_a_key_is_said(tmp_path: Path, content: str) -> None:
    (tmp_path / "api-key").write_text(content)

    error = refused("127.0.0.1", 0, tmp_path)

    assert type(error) is ConfigError
    assert str(tmp_path / "api-key") in error.message


def test_a_key_of_the_users_own_is_used(tmp_path: Path) -> None:
    (tmp_path / "api-key").write_text("a-key-of-my-own-making\n")

    with serving(tmp_path) as server, connected(server) as client:
        assert server.api_key == "a-key-of-my-own-making"
        assert client.get("/v1/memory_stores").status_code == 200


def test_a_damaged_database_is_said(tmp_path: Path) -> None:
    (tmp_path / "memfs.db").write_bytes(b"this is no database " * 100)

    error = refused("127.0.0.1", 0, tmp_path)

    assert type(error) is ConfigError
    assert str(tmp_path / "memfs.db") in error.message


def test_a_data_directory_that_cannot_be_made_is_said() -> None:
    error = refused("127.0.0.1", 0, Path("/proc/memfs-data"))

    assert type(error) is ConfigError
    assert "/proc/memfs-data" in error.message
