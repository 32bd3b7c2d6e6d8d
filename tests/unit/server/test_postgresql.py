"""PostgreSQL below the store: what its failures are to whoever asked, and who is told what it says."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from postgres import Cluster
from sqlalchemy import create_engine, insert, select, text, update

from memfs.core.errors import ConcurrentChange, ConfigError, MemfsError, RemoteUnavailable
from memfs.server.store import postgresql, tables
from memfs.server.store.database import Database
from memfs.server.store.opening import open_database

WORKSPACE = {"id": "wrkspc_1", "name": "of the tests", "created_at": 1}
KEY = {"workspace_id": "wrkspc_1", "name": "k", "access": "read_write", "created_at": 1}


def with_workspace(database: Database) -> None:
    with database.write() as connection:
        connection.execute(insert(tables.workspaces), WORKSPACE)


def test_a_read_can_write_nothing_on_postgresql(postgres: Cluster) -> None:
    def write_while_reading(database: Database) -> None:
        with database.read() as connection:
            connection.execute(insert(tables.workspaces), WORKSPACE)

    with closing(open_database(postgres.new_database())) as database:
        with pytest.raises(RemoteUnavailable):
            write_while_reading(database)

        # The connection goes back without what made it a reader's.
        with database.write() as connection:
            connection.execute(insert(tables.workspaces), WORKSPACE)


def test_two_writes_in_each_others_way_are_repeated_by_whoever_asked(postgres: Cluster) -> None:
    """One of them is given up by PostgreSQL, with nothing left of it."""
    both_hold = threading.Barrier(2)

    def write(database: Database, first: str, second: str) -> None:
        with database.write() as connection:
            for key_id in (first, second):
                connection.execute(
                    update(tables.api_keys).where(tables.api_keys.c.id == key_id).values(name=f"of {first}")
                )
                if key_id == first:
                    both_hold.wait(10)

    with closing(open_database(postgres.new_database())) as database:
        with_workspace(database)
        with database.write() as connection:
            for name in "ab":
                connection.execute(insert(tables.api_keys), KEY | {"id": name, "token_sha256": name})
        with ThreadPoolExecutor(2) as pool:
            ways = [pool.submit(write, database, *order) for order in ("ab", "ba")]
        failures = [way.exception() for way in ways]
        with database.read() as connection:
            names = connection.scalars(select(tables.api_keys.c.name)).all()

    assert [ConcurrentChange] == [type(failure) for failure in failures if failure is not None]
    assert len(set(names)) == 1


def test_a_postgresql_that_others_hold_too_long_is_overloaded(
    postgres: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql, "_BUSY_MS", 10)
    with closing(open_database(postgres.new_database())) as database:
        with_workspace(database)

        def lock() -> None:
            with database.write() as connection:
                connection.execute(select(tables.workspaces).with_for_update())

        with database.write() as connection:
            connection.execute(select(tables.workspaces).with_for_update())
            with pytest.raises(RemoteUnavailable, match="busy") as refused:
                lock()
        lock()

    assert refused.value.retry_after_s == 1.0


def test_connections_that_were_cut_heal_by_themselves(postgres: Cluster) -> None:
    """As after a restart of PostgreSQL: the write under way fails, the next finds it again."""
    cut = text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")

    def cut_under_way() -> None:
        with database.write() as connection, other.write() as cutting:
            cutting.execute(text("SELECT 1"))
            cutting.execute(cut)
            connection.execute(insert(tables.workspaces), WORKSPACE)

    url = postgres.new_database()
    with closing(open_database(url)) as database, closing(open_database(url)) as other:
        with pytest.raises(RemoteUnavailable, match="cannot be reached"):
            cut_under_way()

        with_workspace(database)


@pytest.mark.parametrize(
    ("written", "error", "shown"),
    [
        ("postgresql://stranger:hunter2@{place}", RemoteUnavailable, 'role "stranger" does not exist'),
        ("postgresql://memfs:hunter2@{place}x", RemoteUnavailable, 'x" does not exist'),
        ("postgresql://memfs:hunter2@127.0.0.1:1/memfs", RemoteUnavailable, "Connection refused"),
        ("postgresql://memfs:hunter2@{place}?nonsense=hunter2", ConfigError, "wrong parameter nonsense"),
        ("postgresql://memfs:hunter2@{place}?sslmode=some", ConfigError, 'invalid sslmode value: "some"'),
        ("postgresql://memfs:hunter2@127.0.0.1:99999/memfs", ConfigError, 'invalid port number: "99999"'),
        ("postgresql://memfs:at@hunter2@{place}", ConfigError, "URL"),
        ("postgresql://memfs:hunter2@127.0.0.1:port/memfs", ConfigError, "none of PostgreSQL's"),
        ("postgresql://memfs:hunter2@127.0.0.1", ConfigError, "none of PostgreSQL's"),
        ("mysql://memfs:hunter2@{place}", ConfigError, "none of PostgreSQL's"),
        ("hunter2", ConfigError, "none of PostgreSQL's"),
    ],
    ids=[
        "role",
        "database",
        "port",
        "parameter",
        "mode",
        "port-number",
        "at-sign",
        "no-number",
        "no-database",
        "other-engine",
        "no-url",
    ],
)
def test_a_database_that_cannot_be_opened_is_told_without_its_password(
    postgres: Cluster, written: str, error: type[MemfsError], shown: str
) -> None:
    with pytest.raises(error, match=shown) as refused:
        open_database(written.format(place=postgres.new_database().partition("@")[2]))

    assert "hunter2" not in f"{refused.value} {refused.value.remedy}"


def test_a_database_of_another_encoding_is_refused(postgres: Cluster) -> None:
    url = postgres.new_database()
    name = url.rpartition("/")[2]
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}_latin ENCODING LATIN1 TEMPLATE template0 LOCALE 'C'"))
    engine.dispose()

    with pytest.raises(ConfigError, match="LATIN1"):
        open_database(f"{url}_latin")
