"""`--session`, end to end: a real server's session, its stores mounted as it has them, and its end."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from commands import Memfs, RunningServer
from running_up import Up, eventually, running_up

from memfs.config import default_server_data

Session = dict[str, Any]
MakeSession = Callable[..., Session]


@pytest.fixture
def api(store_server: RunningServer) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=store_server.url, headers={"x-api-key": store_server.key}) as client:
        yield client


@pytest.fixture
def store_id(api: httpx.Client, tmp_path: Path) -> str:
    return str(api.post("/v1/memory_stores", json={"name": f"Notes {tmp_path.name}"}).json()["id"])


@pytest.fixture
def make_session(api: httpx.Client, store_id: str) -> MakeSession:
    def make(**resource: str) -> Session:
        one = {"type": "memory_store", "memory_store_id": store_id, **resource}
        made: Session = api.post("/v1/sessions", json={"resources": [one]}).raise_for_status().json()
        return made

    return make


def with_token(store_server: RunningServer, home: Path, session: Session) -> Memfs:
    """Return the command with nothing but the session's token: what a sandbox is handed."""
    token = session["sessions_token"]
    memfs = Memfs.at_home(home, MEMFS_BASE_URL=store_server.url, MEMFS_SESSION_TOKEN=token)
    assert not (default_server_data(memfs.environ) / "api-key").exists()
    return Memfs({name: value for name, value in memfs.environ.items() if name != "MEMFS_API_KEY"})


def directory_of(up: Up, session: Session) -> Path:
    return up.mount / Path(session["resources"][0]["mount_path"]).name


def shown(up: Up) -> dict[str, Any]:
    (store,) = json.loads(up.status().out)["stores"]
    return dict(store)


def impatient(home: Path) -> Path:
    path = home / "impatient.toml"
    path.write_text("[worker]\npoll_s = 0.2\ndrain_timeout_s = 2\n")
    return path


def test_a_sessions_stores_are_mounted_as_it_has_them_with_its_token_alone(
    store_server: RunningServer, api: httpx.Client, make_session: MakeSession, store_id: str, tmp_path: Path
) -> None:
    session = make_session(instructions="Look here first.")

    with running_up(with_token(store_server, tmp_path, session), tmp_path, "--session", session["id"]) as up:
        (directory_of(up, session) / "plan.md").write_text("Monday\n")
        eventually(lambda: shown(up)["memories"] == 1)
        store = shown(up)
        lines = [Path(f"/proc/{pid}/cmdline").read_text() for pid in (up.process.pid, *up.children().values())]
        assert up.stop() == 0

    assert (store_id, "read_write", "Look here first.") == (
        store["store_id"], store["access"], store["instructions"],
    )  # fmt: skip
    (version,) = api.get(f"/v1/memory_stores/{store_id}/memory_versions").json()["data"]
    assert {"type": "session_actor", "session_id": session["id"]} == version["created_by"]
    assert "everything is synced" in up.told()
    assert session["sessions_token"] not in up.told() + "".join(lines)


def test_a_read_only_resource_is_mounted_read_only(
    store_server: RunningServer, make_session: MakeSession, tmp_path: Path
) -> None:
    session = make_session(access="read_only")

    with running_up(with_token(store_server, tmp_path, session), tmp_path, "--session", session["id"]) as up:
        eventually(directory_of(up, session).is_dir)
        with pytest.raises(OSError, match="Read-only file system"):
            (directory_of(up, session) / "plan.md").write_text("Monday\n")


@pytest.mark.parametrize("has_token", [True, False], ids=["token", "key"])
def test_when_the_session_ends_sync_stops_and_says_so_and_nothing_is_lost(
    memfs: Memfs, store_server: RunningServer, api: httpx.Client, make_session: MakeSession, store_id: str,
    tmp_path: Path, *, has_token: bool,
) -> None:  # fmt: skip
    session = make_session()
    ours = with_token(store_server, tmp_path, session) if has_token else memfs
    words = ("--session", session["id"], "-c", impatient(tmp_path))

    with running_up(ours, tmp_path, *words) as up:
        notes = directory_of(up, session)
        (notes / "before.md").write_text("pushed\n")
        eventually(lambda: shown(up)["memories"] == 1)
        api.post(f"/v1/sessions/{session['id']}/archive").raise_for_status()
        eventually(lambda: shown(up)["error"] is not None)
        (notes / "after.md").write_text("kept\n")
        eventually(lambda: shown(up)["pending"] == ["/after.md"])
        error = shown(up)["error"]
        assert {"before.md", "after.md"} == {path.name for path in notes.iterdir()}
        up.stop()

    assert ("authentication_failed" if has_token else "session_ended") == error["code"]
    assert ("The session has ended" if has_token else f"the session {session['id']} was archived") in error["message"]
    assert "1 not yet synced (/after.md)" in up.told()
    assert ["/before.md"] == [one["path"] for one in listed(api, store_id)]
    with running_up(memfs, tmp_path, "--store", store_id) as again:
        eventually(lambda: {"/before.md", "/after.md"} == {one["path"] for one in listed(api, store_id)})
        again.stop()


def listed(api: httpx.Client, store_id: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = api.get(f"/v1/memory_stores/{store_id}/memories").json()["data"]
    return found


def test_sync_once_takes_a_session_and_goes_on_with_it(
    store_server: RunningServer, api: httpx.Client, make_session: MakeSession, store_id: str, tmp_path: Path
) -> None:
    session = make_session()
    memfs = with_token(store_server, tmp_path, session)
    token_file = tmp_path / "token"
    token_file.write_text(session["sessions_token"])
    of_file = Memfs({name: value for name, value in memfs.environ.items() if name != "MEMFS_SESSION_TOKEN"})
    state = ("--once", "--state", tmp_path / "state")

    first = of_file.run("sync", *state, "--session", session["id"], "--session-token-file", token_file)
    (tmp_path / "state" / "stores" / store_id / "tree" / "a.md").write_text("text\n")
    second = memfs.run("sync", *state)

    assert (0, 0) == (first.code, second.code), first.err + second.err
    assert ["/a.md"] == [one["path"] for one in listed(api, store_id)]


def test_what_is_wrong_with_a_session_is_refused_before_anything_starts(
    memfs: Memfs, api: httpx.Client, make_session: MakeSession, tmp_path: Path
) -> None:
    (tmp_path / "mount").mkdir()
    over = make_session()
    api.post(f"/v1/sessions/{over['id']}/archive").raise_for_status()
    empty = api.post("/v1/sessions", json={}).raise_for_status().json()

    for words, code, message in (
        (("--session", over["id"]), 5, f"the session {over['id']} was archived"),
        (("--session", empty["id"]), 4, "has no memory store"),
        (("--session", "sesn_01nowhere"), 4, "there is no session sesn_01nowhere"),
        (("--session", over["id"], "--store", "Notes"), 2, "exclude each other"),
        (("--store", "Notes", "--session-token-file", "x"), 2, "for no session"),
    ):
        printed = memfs.run("up", *words, "--mount", tmp_path / "mount", "--state", tmp_path / "state")
        assert (code, 1) == (printed.code, len(printed.err.splitlines())), printed.err
        assert message in printed.err


def test_a_closed_in_command_has_the_sessions_stores_and_not_its_token(
    store_server: RunningServer, api: httpx.Client, make_session: MakeSession, store_id: str, tmp_path: Path
) -> None:
    session = make_session()
    memfs = with_token(store_server, tmp_path, session)
    place = session["resources"][0]["mount_path"]

    words = ("run", "--state", tmp_path / "state", "--session", session["id"], "--")
    printed = memfs.run(*words, "sh", "-c", f"echo text > {place}/a.md; env")

    assert 0 == printed.code, printed.err
    assert ["/a.md"] == [one["path"] for one in listed(api, store_id)]
    assert session["sessions_token"] not in printed.out + printed.err
