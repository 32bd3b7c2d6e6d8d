"""A server's own commands, ended in the middle by Ctrl-C or a kill: nothing half is left, a repetition does it all."""

import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import first_release
import pytest
from commands import Memfs
from raw_bytes import files_with
from sqlalchemy import MetaData, select, text

from memfs.api.models import View
from memfs.api.requests import CreateStore
from memfs.core.limits import Limits
from memfs.core.paths import parse
from memfs.server.keys import Keys
from memfs.server.store.callers import Caller
from memfs.server.store.memories import MemoryChange
from memfs.server.store.opening import migrate, open_database
from memfs.server.store.sql import SqlStore
from memfs.server.store.stamps import Stamps
from memfs.server.store.versions import Content

SECRET = "the pruned bytes"
MANY = 300
"""Versions: more than any command takes in one go."""
DAY_US = 86_400_000_000
Place = Callable[[], Path | str]
# Each stops a command in its middle, and says so.
STOP = """
import runpy, sys, time
def stop(*_arguments):
    print("in the middle", flush=True)
    time.sleep(60)
"""
MIDDLES = {
    "migrate": """
from memfs.server import migrations
upgrade = migrations.upgrade
migrations.upgrade = lambda *arguments: (upgrade(*arguments), stop())
""",
    "backup": """
from memfs.server.store.backup_file import Writer
close = Writer.close_table
Writer.close_table = lambda self, table, digest: stop() if table.name == "versions" else close(self, table, digest)
""",
    "restore": """
from memfs.server.store.backup_file import Reader
read = Reader.read
def some(self, table):
    for rows in read(self, table):
        yield rows
        if table.name == "versions":
            stop()
Reader.read = some
""",
    "prune": """
from memfs.server.store import pruning
remove = pruning._remove
removed = []
def once(*arguments):
    if removed:
        stop()
    removed.append(arguments)
    return remove(*arguments)
pruning._remove = once
""",
}
RUN = "runpy.run_module('memfs.cli', run_name='__main__', alter_sys=True)"
HOW = pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)], ids=["SIGINT", "SIGKILL"]
)


def cut_short(middle: str, number: signal.Signals, *words: str | Path) -> tuple[int, str]:
    """Run a command to its middle and end it there; return its exit code and what it said."""
    command = [sys.executable, "-c", f"{STOP}{MIDDLES[middle]}{RUN}", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "in the middle\n", running.communicate(timeout=20)[1]
        running.send_signal(number)
        said = "".join(running.communicate(timeout=30))
    return running.returncode, said


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def new(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Name the place of a database that is not there yet, or empty."""

    def place() -> Path | str:
        if engine == "sqlite":
            directory = tmp_path / f"data-{len(list(tmp_path.iterdir()))}"
            directory.mkdir(mode=0o700)
            return directory / "memfs.db"
        url: str = request.getfixturevalue("postgres").new_database()
        return url

    return place


def named(where: Path | str) -> list[str | Path]:
    """Return the option that names a database."""
    return ["--data", where.parent] if isinstance(where, Path) else ["--database", where]


def everything(where: Path | str) -> dict[str, Any]:
    """Return all rows of all tables, whatever the layout."""
    engine = first_release.plain_engine(where)
    found = MetaData()
    with engine.connect() as connection:
        found.reflect(connection)
        rows = {table.name: sorted(connection.execute(select(table)).all(), key=repr) for table in found.sorted_tables}
    engine.dispose()
    return rows


def fill(where: Path | str) -> None:
    """Make a store with one memory of many versions, all but the last ones old and secret."""
    now_us = 2_000_000_000_000_000
    with closing(open_database(where)) as database:
        stamps = Stamps(lambda: now_us)
        key = Keys(database, stamps).create("k").key
        caller = Caller(actor=key.id, workspace_id=key.workspace_id)
        store = SqlStore.on(database, stamps, Limits())
        store_id = store.stores.create(caller, CreateStore(name="notes")).id
        memory = store.memories.create(caller, store_id, parse("/a.md"), Content.of(b"first"), view=View.BASIC)
        for number in range(MANY):
            secret = f"{SECRET} {number}" if number < MANY - 10 else f"kept {number}"
            change = MemoryChange(content=Content.of(secret.encode()))
            store.memories.update(caller, store_id, memory.id, change, view=View.BASIC)
        with database.write() as connection:
            connection.execute(text(f"UPDATE versions SET created_at = created_at - {20_000 * DAY_US}"))


@HOW
def test_a_migration_cut_short_changes_nothing_and_is_done_by_the_next(
    tmp_path: Path, new: Place, number: signal.Signals, code: int
) -> None:
    where = new()
    first_release.make(where)
    before = everything(where)
    own = [] if isinstance(where, Path) else ["--data", tmp_path / "own"]

    ended = cut_short("migrate", number, "serve", "--listen", "127.0.0.1:0", "--migrate", *named(where), *own)

    assert ended == (code, "")
    assert everything(where) == before
    assert migrate(where) == "0001"


@HOW
def test_a_backup_cut_short_is_no_file_and_is_made_by_the_next(
    tmp_path: Path, new: Place, number: signal.Signals, code: int
) -> None:
    where, file = new(), tmp_path / "backups" / "memfs.backup"
    file.parent.mkdir()
    fill(where)

    ended = cut_short("backup", number, "backup", file, *named(where))

    assert ended == (code, "")
    # What a kill leaves is no backup, and taken over by the next.
    left = [] if number is signal.SIGINT else ["memfs.backup.part"]
    assert [path.name for path in file.parent.iterdir()] == left
    made = Memfs.at_home(tmp_path).run("backup", file, *named(where))
    assert (made.code, made.err) == (0, "")
    assert f"1 stores, 1 memories, {MANY + 1} versions" in made.out
    assert [path.name for path in file.parent.iterdir()] == ["memfs.backup"]


@HOW
def test_a_restore_cut_short_leaves_the_database_empty_for_the_next(
    tmp_path: Path, new: Place, number: signal.Signals, code: int
) -> None:
    where, target, file = new(), new(), tmp_path / "memfs.backup"
    fill(where)
    home = Memfs.at_home(tmp_path)
    assert home.run("backup", file, *named(where)).code == 0

    ended = cut_short("restore", number, "restore", file, *named(target))

    assert ended == (code, "")
    rows = everything(target)
    assert {name for name in rows if rows[name]} == {"alembic_version", "server", "workspaces"}
    restored = home.run("restore", file, *named(target))
    assert (restored.code, restored.err) == (0, "")
    assert everything(target)["versions"] == everything(where)["versions"]


@HOW
def test_a_pruning_cut_short_is_finished_by_the_next_down_to_the_bytes(
    tmp_path: Path, new: Place, number: signal.Signals, code: int
) -> None:
    where = new()
    fill(where)
    words = ["versions", "prune", *named(where)]

    ended = cut_short("prune", number, *words)

    assert ended == (code, "")
    assert len(everything(where)["versions"]) == MANY + 1 - 100  # what came in one turn before
    done = Memfs.at_home(tmp_path).run(*words)
    assert (done.code, done.err) == (0, "")
    assert f"removed {MANY + 1 - 100 - 10} versions" in done.out
    kept = {bytes(row.content).partition(b" ")[0] for row in everything(where)["versions"]}
    assert kept == {b"kept"}
    if isinstance(where, Path):
        assert files_with(where.parent, SECRET) == []
