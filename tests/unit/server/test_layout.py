"""The layout of a database: new ones have the present one, older ones are carried over, all others are left alone."""

import sqlite3
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import first_release
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from first_release import CONTENTS, NEWEST, STORE, TOKEN, plain_engine
from sqlalchemy import MetaData, select, text

from memfs.api.models import Operation, View
from memfs.core.errors import ConfigError
from memfs.core.limits import Limits
from memfs.core.paths import parse
from memfs.server import migrations
from memfs.server.credentials import Credentials
from memfs.server.store import layout, tables
from memfs.server.store.callers import Caller
from memfs.server.store.listing import MemoryFilter
from memfs.server.store.opening import migrate, open_database
from memfs.server.store.sql import SqlStore, last_moment
from memfs.server.store.stamps import Stamps, microseconds
from memfs.server.store.stores import StoreFilter
from memfs.server.store.versions import Content, VersionFilter


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    """The place of a database that is not there yet, or of an empty one."""
    if request.param == "sqlite":
        return tmp_path / "memfs.db"
    url: str = request.getfixturevalue("postgres").new_database()
    return url


@pytest.fixture
def old(where: Path | str) -> Path | str:
    """The place of a database of the first release."""
    first_release.make(where)
    return where


def everything(where: Path | str) -> dict[str, Any]:
    """Return all rows of all tables, whatever the layout."""
    engine = plain_engine(where)
    found = MetaData()
    with engine.connect() as connection:
        found.reflect(connection)
        rows = {table.name: sorted(connection.execute(select(table)).all(), key=repr) for table in found.sorted_tables}
    engine.dispose()
    return rows


def differences(where: Path | str) -> list[Any]:
    """Return what a database's layout has otherwise than the tables that the store works with."""
    engine = plain_engine(where)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        found: list[Any] = compare_metadata(context, tables.METADATA)
    engine.dispose()
    # The tables' comments are for who reads the code.
    return [difference for difference in found if "comment" not in str(difference[0])]


def test_a_new_database_has_the_layout_of_the_tables(where: Path | str) -> None:
    open_database(where).close()

    assert [] == differences(where)
    assert [(layout.PRESENT,)] == everything(where)["alembic_version"]


def test_an_old_database_gets_the_layout_of_the_tables(old: Path | str) -> None:
    migrate(old)

    assert [] == differences(old)


@pytest.mark.parametrize("make", [lambda _where: None, first_release.make], ids=["new", "old"])
def test_texts_that_are_compared_go_by_their_bytes_on_postgresql(
    postgres: Any, make: Callable[[Path | str], None]
) -> None:
    """Whatever the language of the cluster: also in columns that only refer to another."""
    url = postgres.new_database()
    make(url)
    migrate(url)
    engine = plain_engine(url)
    query = text("SELECT table_name, column_name, collation_name FROM information_schema.columns")
    with engine.connect() as connection:
        found = {(row[0], row[1]): row[2] for row in connection.execute(query)}
    engine.dispose()

    keys = [column for table in tables.METADATA.sorted_tables for column in table.columns if "_id" in f"_{column.name}"]
    assert len(keys) >= 20
    assert {"C"} == {found[column.table.name, column.name] for column in [*keys, tables.memories.c.path]}


def test_an_old_database_is_refused_with_the_way_out(old: Path | str) -> None:
    before = everything(old)

    with pytest.raises(ConfigError, match="of an older release") as refused:
        open_database(old)

    assert "memfs serve --migrate" in refused.value.remedy
    assert before == everything(old)


def test_what_an_old_database_held_is_served_as_before(old: Path | str) -> None:
    assert migrate(old) == "0001"

    with closing(open_database(old)) as database:
        caller = Credentials(database, lambda: 0.0).find(TOKEN)
        assert caller is not None
        assert caller.actor == first_release.API_KEY
        store = SqlStore.on(database, Stamps(lambda: 5, last_us=last_moment(database)), Limits())
        stores = store.stores.list(caller, StoreFilter(include_archived=True), limit=9, page=None).data
        assert [first_release.ARCHIVED, STORE] == [one.id for one in stores]
        assert [True, False] == [one.archived_at is not None for one in stores]
        assert ("N\u00f6tes", {"k": "v"}) == (stores[1].name, stores[1].metadata)
        listed = store.listing.list(caller, STORE, MemoryFilter(), view=View.FULL, limit=9, page=None).data
        assert CONTENTS == {one.path: one.content.encode() for one in listed}  # type: ignore[union-attr]  # (all are memories, in full)
        assert sorted(CONTENTS) == [one.path for one in listed]
        versions = store.versions.list(caller, STORE, VersionFilter(), view=View.FULL, limit=9, page=None).data
        assert ["memver_gone2", "memver_gone1", "memver_3"] == [one.id for one in versions][:3]
        assert (Operation.DELETED, "gone") == (versions[0].operation, versions[1].content)
        assert (None, None, None) == (versions[-1].path, versions[-1].content, versions[-1].content_sha256)


def test_the_history_of_an_old_database_goes_on_in_order(old: Path | str) -> None:
    migrate(old)

    with closing(open_database(old)) as database:
        caller = Credentials(database, lambda: 0.0).find(TOKEN)
        assert isinstance(caller, Caller)
        store = SqlStore.on(database, Stamps(lambda: 5), Limits())
        made = store.memories.create(caller, STORE, parse("/new"), Content.of(b"new"), view=View.BASIC)
        store.stores.delete(caller, first_release.ARCHIVED)

    assert microseconds(made.created_at) > NEWEST
    rows = everything(old)
    assert [(STORE, len(CONTENTS) + 1, 1, 0)] == [
        (row.id, row.memories, row.last_seq, row.feed_from) for row in rows["stores"]
    ]
    assert [(STORE, 1, "created")] == [(row.store_id, row.seq, row.kind) for row in rows["changes"]]


def test_a_sqlite_file_is_copied_before_it_changes(tmp_path: Path) -> None:
    """Also what is only in its log yet."""
    path = tmp_path / "memfs.db"
    first_release.make(path)
    before = everything(path)
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("UPDATE stores SET description = 'in the log'")
        other.commit()

        migrate(path)

    copy = tmp_path / "memfs.db.before-0002"
    assert 0o600 == stat.S_IMODE(copy.stat().st_mode)
    copied = everything(copy)
    assert {"in the log"} == {row.description for row in copied["stores"]}
    assert [before[name] for name in before if name != "stores"] == [
        copied[name] for name in before if name != "stores"
    ]
    assert ["memfs.db", copy.name] == sorted(path.name for path in tmp_path.iterdir())


def test_a_migration_that_fails_leaves_the_old_database_as_it_was(
    old: Path | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = everything(old)
    upgrade = migrations.upgrade

    def fail_at_the_end(*arguments: Any) -> None:
        upgrade(*arguments)
        raise InterruptedError

    monkeypatch.setattr(migrations, "upgrade", fail_at_the_end)
    with pytest.raises((InterruptedError, ConfigError)):
        migrate(old)
    monkeypatch.undo()

    assert before == everything(old)
    assert migrate(old) == "0001"


def test_many_migrations_at_once_are_one(old: Path | str) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(migrate, [old] * 4))

    assert [(layout.PRESENT,)] == everything(old)["alembic_version"]
    assert 1 == len(everything(old)["workspaces"])
    if isinstance(old, Path):
        # None has copied what another one had made.
        assert [(2,)] == everything(old.with_name("memfs.db.before-0002"))["schema"]


def test_many_who_open_an_empty_database_make_it_once(where: Path | str) -> None:
    with ThreadPoolExecutor(4) as pool:
        for database in pool.map(open_database, [where] * 4):
            database.close()

    assert 1 == len(everything(where)["workspaces"])
    assert 1 == len(everything(where)["server"])


def test_a_present_database_is_not_migrated(where: Path | str, tmp_path: Path) -> None:
    assert migrate(where) is None
    before = everything(where)
    assert migrate(where) is None

    assert before == everything(where)
    assert {"memfs.db"} >= {path.name for path in tmp_path.iterdir()}


@pytest.mark.parametrize("use", [open_database, migrate])
@pytest.mark.parametrize(
    ("change", "shown"),
    [
        ("UPDATE alembic_version SET version_num = '0099'", "0099"),
        ("DROP TABLE alembic_version; CREATE TABLE schema (version BIGINT); INSERT INTO schema VALUES (3)", "layout 3"),
        ("DROP TABLE alembic_version", "of another program"),
    ],
    ids=["newer", "other number", "foreign"],
)
def test_a_layout_that_this_release_does_not_know_is_never_touched(
    where: Path | str, tmp_path: Path, use: Callable[[Path | str], object], change: str, shown: str
) -> None:
    open_database(where).close()
    engine = plain_engine(where)
    with engine.begin() as connection:
        for statement in change.split(";"):
            connection.exec_driver_sql(statement)
    engine.dispose()
    before = everything(where)

    with pytest.raises(ConfigError, match=shown) as refused:
        use(where)

    assert "--migrate" not in refused.value.remedy
    assert before == everything(where)
    assert {"memfs.db"} >= {path.name for path in tmp_path.iterdir()}
