"""`memfs keys` as an operator runs it, beside a running server."""

import json
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from commands import Memfs, RunningServer, serving

NOTICED_S = 15.0


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def running(data: Path) -> Iterator[RunningServer]:
    with serving(data) as server:
        yield server


@pytest.fixture
def keys(data: Path, tmp_path: Path) -> Callable[..., Any]:
    """Run a command of `memfs keys` on the data directory."""
    home = Memfs.at_home(tmp_path)
    return lambda *words: home.run("keys", *words, "--data", data)


def status(server: RunningServer, key: str, method: str = "GET") -> int:
    body = {"name": "Notes"} if method == "POST" else None
    headers = {"authorization": f"Bearer {key}"}
    return httpx.request(method, f"{server.url}/v1/memory_stores", json=body, headers=headers).status_code


def test_a_new_key_is_alone_on_standard_output_and_opens_the_running_server(
    running: RunningServer, keys: Callable[..., Any]
) -> None:
    made = keys("create", "--name", "ci")

    (key,) = made.out.split()
    assert (0, f"{key}\n") == (made.code, made.out)
    assert key.startswith("memfs-key-")
    assert key not in made.err
    assert "in the workspace 'default'" in made.err
    assert 200 == status(running, key, "POST")


def test_keys_are_listed_without_what_they_are(running: RunningServer, keys: Callable[..., Any]) -> None:
    made = json.loads(keys("create", "--name", "ci", "--read-only", "--json").out)
    table = keys("list")
    listed = json.loads(keys("list", "--json").out)

    key = made.pop("key")
    assert ["first key", "ci"] == [one["name"] for one in listed]
    assert {**listed[1], "is_new_workspace": False} == made
    assert ("read_only", "default", None) == (made["access"], made["workspace"], made["revoked_at"])
    assert 3 == len(table.out.splitlines())
    assert "read_only" in table.out
    assert not any(secret in table.out + str(listed) for secret in (key, running.key))
    assert (200, 403) == (status(running, key), status(running, key, "POST"))


def test_a_workspace_that_is_new_is_said_to_be_made(running: RunningServer, keys: Callable[..., Any]) -> None:
    first = keys("create", "--workspace", "team b")
    second = keys("create", "--workspace", "team b")

    assert "made the workspace 'team b' (wrkspc_01" in first.err
    assert "made the workspace" not in second.err
    assert 200 == status(running, first.out.strip(), "POST")
    sent = {"authorization": f"Bearer {second.out.strip()}"}
    assert 1 == len(httpx.get(f"{running.url}/v1/memory_stores", headers=sent).json()["data"])
    sent = {"authorization": f"Bearer {running.key}"}
    assert [] == httpx.get(f"{running.url}/v1/memory_stores", headers=sent).json()["data"]


def test_a_key_in_a_file_is_its_owners_and_never_written_over(
    running: RunningServer, keys: Callable[..., Any], tmp_path: Path
) -> None:
    file = tmp_path / "ci.key"

    made = keys("create", "--out", file)
    again = keys("create", "--out", file)
    nowhere = keys("create", "--out", tmp_path / "missing" / "ci.key")

    assert (0, "") == (made.code, made.out)
    assert 0o600 == stat.S_IMODE(file.stat().st_mode)
    assert 200 == status(running, file.read_text().strip())
    assert (2, "") == (again.code, again.out)
    assert "File exists" in again.err
    assert 2 == nowhere.code
    assert 2 == len(json.loads(keys("list", "--json").out))


def test_a_revoked_key_stops_opening_the_running_server_and_a_start_needs_another(
    running: RunningServer, keys: Callable[..., Any], data: Path
) -> None:
    key_id = json.loads(keys("list", "--json").out)[0]["id"]
    assert 200 == status(running, running.key)

    revoked = keys("revoke", key_id)
    again = keys("revoke", key_id, "--json")
    deadline = time.monotonic() + NOTICED_S
    while status(running, running.key) != 401:
        assert time.monotonic() < deadline, "the key still opens the server"
        time.sleep(0.2)
    refused = Memfs.at_home(data.parent).run("serve", "--data", data, "--listen", "127.0.0.1:0")
    (data / "api-key").unlink()

    assert (0, f"revoked {key_id} (first key)\n") == (revoked.code, revoked.out)
    assert "the next start needs another key" in revoked.err
    assert json.loads(again.out)["revoked_at"] is not None
    assert 3 == refused.code
    assert "is revoked. Put another key into its api-key file, or remove the file" in refused.err
    with serving(data) as restarted:
        assert 200 == status(restarted, restarted.key)


@pytest.mark.usefixtures("running")
def test_a_key_that_never_was_cannot_be_revoked(keys: Callable[..., Any]) -> None:
    refused = keys("revoke", "apikey_01nothing")

    assert (4, "") == (refused.code, refused.out)
    assert "there is no API key apikey_01nothing" in refused.err


@pytest.mark.parametrize("words", [("list",), ("create",), ("revoke", "apikey_01")])
def test_a_directory_without_a_database_is_refused_and_left_alone(
    keys: Callable[..., Any], data: Path, words: tuple[str, ...]
) -> None:
    refused = keys(*words)

    assert (3, "") == (refused.code, refused.out)
    assert "there is no database" in refused.err
    assert not data.exists()
