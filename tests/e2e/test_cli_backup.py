"""`memfs backup`, `restore` and `versions prune` as an operator runs them, beside a server."""

import json
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from commands import Memfs, serving
from sqlalchemy import select, text

from memfs.api.models import View
from memfs.api.requests import CreateStore
from memfs.core.limits import Limits
from memfs.core.paths import parse
from memfs.server.store import tables
from memfs.server.store.callers import Caller
from memfs.server.store.memories import MemoryChange
from memfs.server.store.opening import open_database
from memfs.server.store.sql import SqlStore
from memfs.server.store.stamps import Stamps
from memfs.server.store.versions import Content

DAY_US = 86_400_000_000


@pytest.fixture
def home(tmp_path: Path) -> Memfs:
    """The command without any server that it knows of."""
    return Memfs.at_home(tmp_path)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The directory of a server that has run: one store, a memory with twelve versions."""
    directory = tmp_path / "data"
    with serving(directory), closing(open_database(directory / "memfs.db")) as database:
        store = SqlStore.on(database, Stamps(lambda: time.time_ns() // 1_000), Limits())
        with database.read() as connection:
            key = connection.execute(select(tables.api_keys)).one()
        caller = Caller(actor=key.id, workspace_id=key.workspace_id)
        store_id = store.stores.create(caller, CreateStore(name="notes")).id
        memory = store.memories.create(caller, store_id, parse("/a.md"), Content.of(b"text 00"), view=View.BASIC)
        for number in range(1, 12):
            change = MemoryChange(content=Content.of(f"text {number:02}".encode()))
            store.memories.update(caller, store_id, memory.id, change, view=View.BASIC)
    return directory


def age(data: Path, days: int) -> None:
    """Make all that was written so many days older."""
    with closing(open_database(data / "memfs.db")) as database, database.write() as connection:
        for table in ("versions", "changes"):
            connection.execute(text(f"UPDATE {table} SET created_at = created_at - {days * DAY_US}"))


def test_a_backup_of_a_running_server_is_served_by_another_with_the_same_keys(
    home: Memfs, data: Path, tmp_path: Path
) -> None:
    file, new = tmp_path / "memfs.backup", tmp_path / "new"
    with serving(data) as server:
        old_key = server.key
        made = home.run("backup", file, "--data", data)
    restored = home.run("restore", file, "--data", new)

    assert (0, "") == (made.code, made.err)
    assert made.out == f"backed up {file} ({file.stat().st_size} bytes): 1 stores, 1 memories, 12 versions\n"
    assert (0, "") == (restored.code, restored.err)
    assert "memfs keys create" in restored.out
    assert (0o700, 0o600) == (new.stat().st_mode & 0o777, (new / "memfs.db").stat().st_mode & 0o777)
    with serving(new) as server:
        assert server.key != old_key
        names = [one["name"] for one in json.loads(home.run("keys", "list", "--data", new, "--json").out)]
        assert names == ["first key", f"first key of {datetime.now(UTC):%Y-%m-%d}"]
        for key in (old_key, server.key):
            settings = {"MEMFS_BASE_URL": server.url, "MEMFS_API_KEY": key}
            assert b"text 11" == home.run("memories", "get", "notes", "/a.md", **settings).raw


def test_backup_and_restore_tell_programs_what_they_did(home: Memfs, data: Path, tmp_path: Path) -> None:
    file = tmp_path / "memfs.backup"
    made = json.loads(home.run("backup", file, "--data", data, "--json").out)
    restored = json.loads(home.run("restore", file, "--data", tmp_path / "new", "--json").out)

    assert made == restored
    assert {"file": str(file), "bytes": file.stat().st_size, "stores": 1, "memories": 1, "versions": 12} == {
        name: made[name] for name in ("file", "bytes", "stores", "memories", "versions")
    }


def test_what_is_refused_has_its_exit_code_and_changes_nothing(home: Memfs, data: Path, tmp_path: Path) -> None:
    file, missing, foreign = tmp_path / "memfs.backup", tmp_path / "missing", tmp_path / "notes.txt"
    foreign.write_text("notes")
    (tmp_path / "taken.part").mkdir()
    assert 0 == home.run("backup", file, "--data", data).code
    for words, code, message in (
        (["backup", file, "--data", data], 6, "is there already"),
        (["backup", missing / "file", "--data", data], 10, "(No such file or directory). Check its name, and make"),
        (["backup", foreign / "file", "--data", data], 10, "is no directory"),
        (["backup", tmp_path / "taken", "--data", data], 10, "(Is a directory). Name a file"),
        (["backup", tmp_path, "--data", data], 6, "is there already, and no file"),
        (["backup", tmp_path / "other", "--data", missing], 3, "there is no database"),
        (["backup", tmp_path / "other", "--data", data, "--database", "postgresql://h/d"], 2, "two databases"),
        (["restore", file, "--data", data], 6, "the database is not empty: it has api keys. Restore into one"),
        (["restore", foreign, "--data", missing], 10, "no backup"),
        (["restore", missing, "--data", missing], 10, "(No such file or directory). Check its name"),
        (["restore", tmp_path, "--data", missing], 10, "(Is a directory). Name a file"),
        (["restore", file, "--data", foreign], 3, "cannot be used (File exists)"),
        (["versions", "prune", "--data", missing], 3, "there is no database"),
        (["versions", "prune", "--data", data, "--retention-days", "29"], 2, "30 or more"),
        (["versions", "prune", "--data", data, "--keep-newest", "9"], 2, "10 or more"),
        (["versions", "prune", "--data", data, "--store", "nothing"], 4, "no memory store"),
    ):
        done = home.run(*words)
        assert (code, "") == (done.code, done.out), words
        assert message in done.err
        assert done.err.count("\n") == 1

    assert not missing.exists()
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["memfs.backup", "notes.txt"]


def test_prune_says_first_and_then_removes_beside_the_running_server(home: Memfs, data: Path) -> None:
    age(data, days=40)
    with serving(data) as server:
        settings = {"MEMFS_BASE_URL": server.url, "MEMFS_API_KEY": server.key}
        foreseen = home.run("versions", "prune", "--dry-run", "--data", data)
        before = json.loads(home.run("versions", "list", "notes", "--json", **settings).out)
        none = home.run("versions", "prune", "--data", data, "--retention-days", "50")
        done = json.loads(home.run("versions", "prune", "--data", data, "--store", "notes", "--json").out)
        left = json.loads(home.run("versions", "list", "notes", "--json", **settings).out)

    assert foreseen.out.splitlines()[0].split() == ["STORE", "NAME", "VERSIONS", "BYTES", "CHANGES"]
    assert foreseen.out.splitlines()[-1] == "would remove 2 versions (14 bytes) and 12 changes"
    assert none.out == "removed 0 versions (0 bytes) and 0 changes\n"
    assert (False, 30, 10, 2, 14, 12) == tuple(
        done[name] for name in ("dry_run", "retention_days", "keep_newest", "versions", "bytes", "changes")
    )
    assert (12, 10) == (len(before), len(left))
