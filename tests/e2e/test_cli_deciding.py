"""`memfs conflicts`, `resolve`, `resume`, `trash` and `drain`: with a worker that runs, and without one."""

import json
import os
import signal
import stat
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from commands import MEMFS, Memfs, Printed

from memfs.state.layout import Layout

WITHIN_S = 20.0


class Synced:
    """A store with a state directory, which commands sync."""

    def __init__(self, memfs: Memfs, store: str, state: Path) -> None:
        self.memfs, self.store, self.layout = memfs, store, Layout(state)
        self.sync()

    def run(self, *words: str | Path) -> Printed:
        return self.memfs.run(*words, "--state", self.layout.root)

    def sync(self) -> Printed:
        return self.run("sync", "--once", "--store", self.store)

    @property
    def tree(self) -> Path:
        (store,) = self.layout.stores.iterdir()
        return store / "tree"

    def put(self, path: str, content: str) -> None:
        assert 0 == self.memfs.run("memories", "put", self.store, path, stdin=content.encode()).code

    def remote(self) -> dict[str, str]:
        listed = json.loads(self.memfs.run("memories", "list", self.store, "--json").out)
        return {one["path"]: self.memfs.run("memories", "get", self.store, one["path"]).out for one in listed}

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run a worker meanwhile."""
        words = [MEMFS, "sync", "--store", self.store, "--state", self.layout.root]
        with subprocess.Popen(words, env=self.memfs.environ, stderr=subprocess.DEVNULL) as process:
            try:
                self.until(self.layout.worker_socket)
                yield
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(WITHIN_S)

    def until(self, path: Path) -> None:
        deadline = time.monotonic() + WITHIN_S
        while not path.exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)


@pytest.fixture
def synced(memfs: Memfs, request: pytest.FixtureRequest, tmp_path: Path) -> Synced:
    name = f"deciding {request.node.name}"
    assert 0 == memfs.run("stores", "create", name).code
    return Synced(memfs, name, tmp_path / "state")


def in_conflict(synced: Synced) -> str:
    """Let both sides edit one line; return the slug of the store."""
    synced.put("/note.md", "base\n")
    assert 0 == synced.sync().code
    synced.put("/note.md", "remote\n")
    (synced.tree / "note.md").write_text("local\n")
    assert 0 == synced.sync().code
    return str(json.loads(synced.run("status", "--json").out)["stores"][0]["slug"])


def test_a_conflict_is_listed_and_resolved_without_a_worker(synced: Synced) -> None:
    assert "no conflicts\n" == synced.run("conflicts").out
    slug = in_conflict(synced)

    listed = synced.run("conflicts", slug).out
    assert f"{slug}" in listed
    assert "/note.conflict-" in listed
    (found,) = json.loads(synced.run("conflicts", "--json").out)
    assert ["/note.md"] == [one["path"] for one in found["conflicts"]]

    done = synced.run("resolve", f"{slug}/note.md", "--take", "local")
    assert (0, f"resolved: {slug}/note.md has the local text\n") == (done.code, done.out)
    assert "no conflicts\n" == synced.run("conflicts").out or 0 == synced.sync().code
    assert {"/note.md": "local\n"} == synced.remote()


def test_a_conflict_is_resolved_by_the_worker_that_runs(synced: Synced, tmp_path: Path) -> None:
    in_conflict(synced)
    both = tmp_path / "both.md"
    both.write_text("both\n")

    with synced.running():
        done = synced.run("resolve", synced.tree / "note.md", "--take", both)
        drained = synced.run("drain")
        again = synced.run("resolve", synced.tree / "note.md", "--take", "local")

    assert (0, 0, 4) == (done.code, drained.code, again.code)
    assert "there is no conflict about /note.md" in again.err
    assert {"/note.md": "both\n"} == synced.remote()


@pytest.mark.parametrize("is_running", [False, True])
@pytest.mark.parametrize("decision", ["--accept", "--restore"])
def test_a_halted_store_is_named_and_decided_about(synced: Synced, decision: str, *, is_running: bool) -> None:
    for number in range(3):
        (synced.tree / f"{number}.md").write_text(f"{number}\n")
    assert 0 == synced.sync().code
    for number in range(3):
        (synced.tree / f"{number}.md").unlink()
    assert 1 == synced.sync().code
    told = synced.run("status").out
    assert "halted: 3 of 3 memories are gone here: nothing is deleted until you say `memfs resume " in told
    (store,) = json.loads(synced.run("status", "--json").out)["stores"]
    assert ("halted", "many_local") == (store["state"], store["halt"]["reason"])

    if is_running:
        with synced.running():
            resumed = synced.run("resume", store["slug"], decision)
            assert 0 == synced.run("drain").code
    else:
        resumed = synced.run("resume", store["slug"], decision)
        assert 0 == synced.sync().code

    assert 0 == resumed.code
    assert f"{store['slug']} goes on: 3 " in resumed.out
    expected = {} if decision == "--accept" else {f"/{number}.md": f"{number}\n" for number in range(3)}
    assert expected == synced.remote() == {f"/{one.name}": one.read_text() for one in synced.tree.iterdir()}
    assert f"{store['slug']} is not halted\n" == synced.run("resume", store["slug"], decision).out


def test_trash_is_listed_restored_and_emptied(synced: Synced) -> None:
    kept = {f"/kept{number}.md": "kept\n" for number in range(2)}
    for path, content in {"/a.md": "a.md\n", "/b.md": "b.md\n", **kept}.items():
        synced.put(path, content)
    synced.sync()
    for name in ("a.md", "b.md"):
        assert 0 == synced.memfs.run("memories", "rm", synced.store, f"/{name}").code
    assert 0 == synced.sync().code
    listed = json.loads(synced.run("trash", "list", "--json").out)
    names = {one["path"]: one["name"] for one in listed}
    assert {"/a.md", "/b.md"} == set(names)
    assert names["/a.md"] in synced.run("trash", "list").out
    slug = listed[0]["store"]

    assert f"restored: {slug}/a.md\n" == synced.run("trash", "restore", slug, names["/a.md"]).out
    assert f"restored: {slug}/d/b2.md\n" == synced.run("trash", "restore", slug, names["/b.md"], "--to", "d/b2.md").out
    assert 4 == synced.run("trash", "restore", slug, names["/b.md"]).code
    assert 0 == synced.sync().code
    assert {"/a.md": "a.md\n", "/d/b2.md": "b.md\n", **kept} == synced.remote()

    synced.memfs.run("memories", "rm", synced.store, "/a.md")
    synced.sync()
    assert f"{slug}: 0 deleted for good\n" == synced.run("trash", "empty", "--older-than", "1").out
    assert f"{slug}: 1 deleted for good\n" == synced.run("trash", "empty").out
    assert [] == json.loads(synced.run("trash", "list", slug, "--json").out)


def test_drain_proves_what_is_on_the_remote_and_names_what_is_not(synced: Synced) -> None:
    with synced.running():
        (synced.tree / "a.md").write_text("a\n")
        assert "everything is on the remote\n" == synced.run("drain").out
        assert {"/a.md": "a\n"} == synced.remote()
        (synced.tree / "bad.md").write_bytes(b"\xff")
        refused = synced.run("drain", "--timeout", "5")
    (synced.tree / "bad.md").unlink()
    (synced.tree / "b.md").write_text("b\n")
    drained = synced.run("drain")

    assert 1 == refused.code
    assert "/bad.md" in refused.out
    assert (0, {"/a.md": "a\n", "/b.md": "b\n"}) == (drained.code, synced.remote())


def test_who_asks_for_a_sync_or_waits_for_one_is_served_by_the_worker_that_runs(synced: Synced) -> None:
    with synced.running():
        (synced.tree / "a.md").write_text("a\n")
        assert 0 == synced.sync().code
        assert {"/a.md": "a\n"} == synced.remote()
        (synced.tree / "b.md").write_text("b\n")
        (store,) = json.loads(synced.run("status", "--wait", "--json").out)["stores"]
        assert ("synced", 2, []) == (store["state"], store["memories"], store["pending"])
        (synced.tree / "bad.md").write_bytes(b"\xff")
        refused = synced.sync()

    assert (1, True) == (refused.code, "/bad.md" in refused.err)


def test_the_socket_is_private_and_goes_with_the_worker(synced: Synced) -> None:
    with synced.running():
        assert 0o600 == stat.S_IMODE(synced.layout.worker_socket.stat().st_mode)
        assert os.geteuid() == synced.layout.worker_socket.stat().st_uid

    assert not synced.layout.worker_socket.exists()


def test_what_is_asked_wrongly_changes_nothing(synced: Synced, tmp_path: Path) -> None:
    slug = in_conflict(synced)

    assert 4 == synced.run("resolve", "nowhere/note.md", "--take", "local").code
    assert 2 == synced.run("resolve", f"{slug}/note.md", "--take", tmp_path / "missing").code
    assert 2 == synced.run("resume", slug).code
    assert 2 == synced.run("resume", slug, "--accept", "--restore").code
    assert 4 == synced.run("conflicts", "nowhere").code
    assert 4 == synced.run("trash", "restore", slug, "missing").code
    assert 4 == synced.run("trash", "restore", slug, "../state.db", "--to", "x").code
