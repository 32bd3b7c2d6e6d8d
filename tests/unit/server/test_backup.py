"""A backup is one whole moment or no file; a restore is all of it or an empty database."""

import os
import resource
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, insert, select, text

from memfs.api.models import View
from memfs.api.requests import CreateStore
from memfs.core.errors import AlreadyHeld, BackupUnusable, Conflicted, MemfsError, StateUnavailable, UsageError
from memfs.core.limits import Limits
from memfs.core.paths import parse
from memfs.server.store import tables
from memfs.server.store.backup import back_up, restore
from memfs.server.store.callers import Caller
from memfs.server.store.database import Database
from memfs.server.store.memories import MemoryChange
from memfs.server.store.opening import open_database
from memfs.server.store.sql import SqlStore
from memfs.server.store.stamps import Stamps
from memfs.server.store.versions import Content

AWKWARD = [b"", b"\x00\r\n\xef\xbb\xbf\xe2\x80\xa8", bytes(100) * 1_024, "🎉 naïve".encode()]
STUCK = """
import sys
from pathlib import Path
from memfs.server.store.backup import back_up, restore
from memfs.server.store.opening import open_database

def stop(done, all):
    if done > all // 2:
        print("half", flush=True)
        sys.stdin.read()

what, where, file = sys.argv[1], sys.argv[2], Path(sys.argv[3])
database = open_database(where if "://" in where else Path(where))
back_up(database, file, watch=stop) if what == "backup" else restore(file, database, watch=stop)
"""


def fill(database: Database, memories: int = 4) -> SqlStore:
    """Make two stores with memories, versions of every kind, a key and a session."""
    store = SqlStore.on(database, Stamps(lambda: 1_000_000), Limits())
    who = caller(database)
    for name in ("notes", "naïve"):
        store_id = store.stores.create(who, CreateStore(name=name, description="d", metadata={"k": "v"})).id
        for number in range(memories):
            content = Content.of(AWKWARD[number % len(AWKWARD)])
            made = store.memories.create(who, store_id, parse(f"/{number}"), content, view=View.BASIC)
            change = MemoryChange(content=Content.of(f"{number}".encode()))
            store.memories.update(who, store_id, made.id, change, view=View.BASIC)
            if number % 3 == 0:
                store.versions.redact(who, store_id, made.memory_version_id)
            if number % 4 == 0:
                store.memories.delete(who, store_id, made.id, expect_sha256=None)
    with database.write() as connection:
        key = {"id": "apikey_1", "workspace_id": who.workspace_id, "name": "first", "access": "read_write"}
        connection.execute(insert(tables.api_keys), key | {"token_sha256": "x", "created_at": 1, "revoked_at": None})
    return store


def caller(database: Database) -> Caller:
    with database.read() as connection:
        return Caller(actor="apikey_1", workspace_id=connection.scalar(select(tables.workspaces.c.id)) or "")


def content(database: Database) -> dict[str, list[Any]]:
    """Return all rows but the epoch."""
    with database.read() as connection:
        return {
            table.name: sorted((tuple(row) for row in connection.execute(select(table))), key=repr)
            for table in tables.METADATA.sorted_tables
            if table is not tables.server
        }


def epoch(database: Database) -> str:
    with database.read() as connection:
        return connection.scalar(select(tables.server.c.epoch)) or ""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    directory = tmp_path / "backups"
    directory.mkdir()
    return directory / "memfs.backup"


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    """The place of another database, of each engine."""
    if request.param == "sqlite":
        return tmp_path / "other.db"
    url: str = request.getfixturevalue("postgres").new_database()
    return url


@pytest.fixture
def other(where: Path | str) -> Iterator[Database]:
    """Another, empty database."""
    with closing(open_database(where)) as opened:
        yield opened


def test_a_backup_comes_back_byte_for_byte_with_another_epoch(database: Database, other: Database, file: Path) -> None:
    fill(database)

    done = back_up(database, file)

    assert (done.stores, done.memories, done.versions) == (2, 6, 18)
    assert restore(file, other) == done
    assert content(other) == content(database)
    assert epoch(other) != epoch(database)
    assert [path.name for path in file.parent.iterdir()] == ["memfs.backup"]


def test_a_database_moves_to_the_other_engine_and_back(
    database: Database, other: Database, file: Path, tmp_path: Path
) -> None:
    fill(database)
    back_up(database, file)
    restore(file, other)
    again = tmp_path / "again.backup"
    back_up(other, again)
    with closing(open_database(tmp_path / "again.db")) as back:
        restore(again, back)

        assert content(back) == content(database)


def test_the_file_is_its_owners_only_from_its_first_byte_on(database: Database, file: Path) -> None:
    fill(database)
    seen = set()

    def look(_done: int, _all: int) -> None:
        seen.update((path.name, stat.S_IMODE(path.stat().st_mode)) for path in file.parent.iterdir())

    before = os.umask(0)
    try:
        back_up(database, file, watch=look)
    finally:
        os.umask(before)

    assert seen == {("memfs.backup.part", 0o600)}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_backup_among_writers_is_one_moment(database: Database, other: Database, file: Path) -> None:
    """The writers are on each engine in turn."""
    database, other = other, database
    store = SqlStore.on(database, Stamps(lambda: 1_000_000), Limits())
    who = caller(database)
    store_ids = [store.stores.create(who, CreateStore(name=name)).id for name in "ab"]
    begun, enough = threading.Barrier(5), threading.Event()

    def write(worker: int) -> None:
        number = 0
        while not enough.is_set():
            number += 1
            path = parse(f"/{worker}/{number}")
            made = store.memories.create(who, store_ids[number % 2], path, Content.of(b"x" * 500), view=View.BASIC)
            if number == 3:
                begun.wait(30)
            if number % 2:
                store.memories.delete(who, store_ids[1], made.id, expect_sha256=None)

    threads = [threading.Thread(target=write, args=[worker]) for worker in range(4)]
    for thread in threads:
        thread.start()
    begun.wait(30)
    done = back_up(database, file)
    enough.set()
    for thread in threads:
        thread.join(30)
    restore(file, other)

    rows = content(other)
    heads = {row[3] for row in rows["memories"]}
    seqs = {store_id: sorted(row[1] for row in rows["changes"] if row[0] == store_id) for store_id in store_ids}
    with other.read() as connection:
        kept = {row.id: row for row in connection.execute(select(tables.stores))}
    assert done.memories == len(heads) >= 4
    assert len(content(database)["versions"]) > done.versions
    assert heads <= {row[0] for row in rows["versions"]}
    for store_id in store_ids:
        assert kept[store_id].memories == len([row for row in rows["memories"] if row[1] == store_id])
        assert seqs[store_id] == list(range(1, kept[store_id].last_seq + 1))


def test_a_file_that_is_there_is_replaced_on_demand_only(database: Database, other: Database, file: Path) -> None:
    fill(database)
    file.write_text("precious")

    with pytest.raises(Conflicted, match=r"is there already.*--force"):
        back_up(database, file)
    assert file.read_text() == "precious"
    back_up(database, file, overwrite=True)
    restore(file, other)

    assert content(other) == content(database)


def test_the_database_is_not_replaced_by_its_own_backup(database: Database, database_path: Path) -> None:
    with pytest.raises(UsageError, match="the database itself"):
        back_up(database, database_path, overwrite=True)


@pytest.mark.parametrize("make", [Path.mkdir, lambda path: path.symlink_to("elsewhere")])
def test_what_is_no_file_is_not_replaced(database: Database, file: Path, make: Any) -> None:
    make(file)

    with pytest.raises(Conflicted, match="no file"):
        back_up(database, file, overwrite=True)


def test_a_database_that_is_not_empty_is_not_restored_into(database: Database, other: Database, file: Path) -> None:
    back_up(database, file)
    fill(other)
    before = content(other)

    with pytest.raises(Conflicted, match="is not empty"):
        restore(file, other)
    assert content(other) == before


def killed_halfway(what: str, database: Path | str, file: Path) -> None:
    words = [sys.executable, "-I", "-c", STUCK, what, str(database), str(file)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "half\n"
        process.send_signal(signal.SIGKILL)


def test_a_killed_backup_leaves_no_file_and_is_not_in_the_way_of_the_next(
    database: Database, other: Database, where: Path | str, file: Path
) -> None:
    fill(other)
    killed_halfway("backup", where, file)

    assert not file.exists()
    back_up(other, file)
    restore(file, database)
    assert content(database) == content(other)
    assert [path.name for path in file.parent.iterdir()] == ["memfs.backup"]


def test_a_killed_restore_leaves_an_empty_database(database: Database, file: Path, where: Path | str) -> None:
    fill(database)
    back_up(database, file)
    killed_halfway("restore", where, file)

    with closing(open_database(where)) as new:
        assert [name for name, rows in content(new).items() if rows] == ["workspaces"]
        restore(file, new)
        assert content(new) == content(database)


def test_a_second_backup_to_the_same_file_is_refused_while_the_first_is_at_work(database: Database, file: Path) -> None:
    fill(database)

    def meanwhile(_done: int, _all: int) -> None:
        with pytest.raises(AlreadyHeld, match="just now"):
            back_up(database, file)

    back_up(database, file, watch=meanwhile)
    assert [path.name for path in file.parent.iterdir()] == ["memfs.backup"]


def test_a_full_disk_is_said_and_leaves_no_file(database: Database, file: Path) -> None:
    fill(database, memories=16)
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, most))
    try:
        with pytest.raises(StateUnavailable, match=r"cannot be written.*Free space"):
            back_up(database, file)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    assert list(file.parent.iterdir()) == []


def test_what_is_no_backup_is_refused(database: Database, database_path: Path, other: Database, tmp_path: Path) -> None:
    fill(database)
    (tmp_path / "notes").write_text("no database at all")
    (tmp_path / "empty").touch()

    for foreign in (database_path, tmp_path / "notes", tmp_path / "empty"):
        with pytest.raises(BackupUnusable, match="is no backup"):
            restore(foreign, other)


@pytest.mark.parametrize("revision", ["0001", "9999"])
def test_the_backup_of_another_release_is_refused_with_the_way_out(
    database: Database, other: Database, file: Path, revision: str
) -> None:
    back_up(database, file)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = ?", [revision])
        connection.commit()

    with pytest.raises(BackupUnusable, match=f"layout {revision}.*the release that made it"):
        restore(file, other)


def test_a_changed_byte_is_found_or_matters_not(database: Database, file: Path) -> None:
    """Wherever it is: either nothing is restored, or everything as it was."""
    fill(database)
    back_up(database, file)
    whole, expected = file.read_bytes(), content(database)
    refused = 0
    for place in range(0, len(whole), len(whole) // 60):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 0x20]) + whole[place + 1 :])
        with closing(open_database(file.with_name(f"{place}.db"))) as new:
            try:
                restore(file, new)
            except MemfsError:
                refused += 1
                assert [name for name, rows in content(new).items() if rows] == ["workspaces"]
            else:
                assert content(new) == expected

    assert refused > 20


def test_a_file_that_was_not_copied_whole_is_refused(database: Database, other: Database, file: Path) -> None:
    fill(database)
    back_up(database, file)
    whole, before = file.read_bytes(), content(other)
    for size in range(0, len(whole), len(whole) // 20):
        file.write_bytes(whole[:size])
        with pytest.raises(BackupUnusable):
            restore(file, other)

    assert content(other) == before


def test_a_text_that_the_other_engine_cannot_take_is_said_and_nothing_is_restored(
    database: Database, file: Path, request: pytest.FixtureRequest
) -> None:
    fill(database)
    with database.write() as connection:
        connection.execute(tables.stores.update().values(description="secret \0"))
    back_up(database, file)
    with closing(open_database(request.getfixturevalue("postgres").new_database())) as other:
        with pytest.raises(BackupUnusable, match="cannot take") as refused:
            restore(file, other)

        assert [name for name, rows in content(other).items() if rows] == ["workspaces"]
        assert "secret" not in str(refused.value)


def test_the_backup_has_the_tables_of_a_new_database(database: Database, file: Path) -> None:
    back_up(database, file)
    with closing(sqlite3.connect(file)) as connection:
        made = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))
    with database.read() as connection:
        expected = {
            row.name for row in connection.execute(text("SELECT name FROM sqlite_master WHERE sql IS NOT NULL"))
        }
        assert connection.scalar(select(func.count()).select_from(tables.workspaces)) == 1

    assert set(made) == expected | {"backup_tables"}
