"""Keys of a running server, on each engine: made and revoked beside it, and bound to what they may do."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from commands import Memfs
from wire import refusal

from memfs.api import routes
from memfs.server.serve import StoreServer

NOTICED_S = 15.0
PERMISSION = (403, "permission_error")


@pytest.fixture
def keys(server: StoreServer, engine: str, tmp_path: Path) -> Callable[..., Any]:
    """Run a command of `memfs keys` on the server's database, in a process of its own."""
    url = server._database.engine.url
    where: tuple[str, ...] = ("--database", url.render_as_string(hide_password=False))
    if engine == "sqlite":
        where = ("--data", str(Path(str(url.database)).parent))
    home = Memfs.at_home(tmp_path)

    def run(*words: str) -> Any:
        done = home.run("keys", *words, *where, "--json")
        assert 0 == done.code, done.err
        return json.loads(done.out)

    return run


def status(raw: httpx.Client, key: str) -> int:
    return raw.get(routes.STORES, headers={"authorization": f"Bearer {key}"}).status_code


def test_a_key_opens_the_running_server_from_its_making_to_its_revoking(
    raw: httpx.Client, keys: Callable[..., Any]
) -> None:
    made = keys("create", "--name", "ci")
    assert 200 == status(raw, made["key"])

    revoked = keys("revoke", made["id"])
    deadline = time.monotonic() + NOTICED_S
    while status(raw, made["key"]) != 401:
        assert time.monotonic() < deadline, "the key still opens the server"
        time.sleep(0.2)

    assert [revoked] == [one for one in keys("list") if one["id"] == made["id"]]
    assert refusal(raw.get(routes.STORES, headers={"authorization": f"Bearer {made['key']}"})) == (
        401, "authentication_error",
    )  # fmt: skip


def test_a_key_of_a_new_workspace_sees_what_it_makes_and_nothing_else(
    raw: httpx.Client, keys: Callable[..., Any], base: str
) -> None:
    made = keys("create", "--workspace", "made beside the server")
    headers = {"authorization": f"Bearer {made['key']}"}

    own = raw.post(routes.STORES, json={"name": "Own"}, headers=headers)
    listed = raw.get(routes.STORES, headers=headers).json()["data"]

    assert made["is_new_workspace"]
    assert [own.json()] == listed
    assert made["workspace_id"] == own.headers[routes.WORKSPACE]
    assert 404 == raw.get(base, headers=headers).status_code
    assert 404 == raw.get(f"{routes.STORES}/{own.json()['id']}").status_code


def test_a_key_is_taken_from_either_header(raw: httpx.Client, keys: Callable[..., Any], base: str) -> None:
    reader = keys("create", "--read-only")["key"]
    bare = {name: value for name, value in raw.headers.items() if name != "authorization"}

    with httpx.Client(base_url=raw.base_url, headers=bare) as client:
        assert 200 == client.get(base, headers={"x-api-key": reader}).status_code
        assert refusal(client.post(f"{base}/archive", headers={"x-api-key": reader})) == PERMISSION
