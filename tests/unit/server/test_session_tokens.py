"""A session's token: found in one look, believed for some seconds, dead with its session."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from memfs.api.requests import CreateStore
from memfs.api.sessions import CreateSession, NewSession
from memfs.core.attachment import Access
from memfs.core.errors import PermissionRefused
from memfs.core.limits import Limits
from memfs.server.credentials import FRESH_S, Credentials
from memfs.server.keys import Keys
from memfs.server.store.callers import Caller
from memfs.server.store.database import Database
from memfs.server.store.sql import SqlStore
from memfs.server.store.stamps import Stamps


@pytest.fixture
def store(database: Database, stamps: Stamps) -> SqlStore:
    return SqlStore.on(database, stamps, Limits())


@pytest.fixture
def key(database: Database, stamps: Stamps, clock: Any) -> Caller:
    found = Credentials(database, clock).find(Keys(database, stamps).create("ci").token)
    assert found is not None
    return found


@pytest.fixture
def credentials(database: Database, clock: Any) -> Credentials:
    return Credentials(database, clock)


def made(store: SqlStore, key: Caller, *accesses: str) -> NewSession:
    stores = [store.stores.create(key, CreateStore(name="Notes")) for _ in accesses]
    resources = [
        {"type": "memory_store", "memory_store_id": one.id, "access": access}
        for one, access in zip(stores, accesses, strict=True)
    ]
    return store.sessions.create(key, CreateSession.model_validate({"resources": resources}, strict=False))


def test_a_token_says_session_workspace_and_stores(store: SqlStore, key: Caller, credentials: Credentials) -> None:
    session = made(store, key, "read_write", "read_only")
    empty = made(store, key)

    stores = {one.memory_store_id: one.access for one in session.resources}
    assert [Access.READ_WRITE, Access.READ_ONLY] == list(stores.values())
    assert Caller(actor=session.id, workspace_id=key.workspace_id, stores=stores) == (
        credentials.find(session.sessions_token)
    )
    assert Caller(actor=empty.id, workspace_id=key.workspace_id, stores={}) == credentials.find(empty.sessions_token)
    assert session.sessions_token not in repr(session)


@pytest.mark.parametrize("how", ["archive", "delete"])
def test_a_token_outlives_its_session_by_some_seconds_at_most(
    store: SqlStore, key: Caller, credentials: Credentials, clock: Any, how: str
) -> None:
    session = made(store, key, "read_write")
    found = credentials.find(session.sessions_token)
    getattr(store.sessions, how)(key, session.id)

    assert found == credentials.remembered(session.sessions_token)
    clock.now_s += FRESH_S
    assert credentials.remembered(session.sessions_token) is None
    assert credentials.find(session.sessions_token) is None


def test_a_token_costs_one_look_into_the_database(
    store: SqlStore, key: Caller, database: Database, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = made(store, key, "read_write")
    looks = []
    read = database.read

    @contextmanager
    def counted() -> Iterator[Any]:
        looks.append(1)
        with read() as connection:
            yield connection

    monkeypatch.setattr(database, "read", counted)
    credentials = Credentials(database, clock)
    credentials.find(session.sessions_token)
    for _ in range(10):
        assert credentials.remembered(session.sessions_token) is not None

    assert 1 == len(looks)


def test_a_sessions_token_makes_no_sessions(store: SqlStore, key: Caller, credentials: Credentials) -> None:
    caller = credentials.find(made(store, key, "read_write").sessions_token)
    assert caller is not None

    with pytest.raises(PermissionRefused, match="opens memories only"):
        store.sessions.create(caller, CreateSession())


def test_a_token_that_ended_while_it_was_looked_up_is_not_remembered(
    store: SqlStore, key: Caller, credentials: Credentials, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look saw the session of before, and answers one last request."""
    session = made(store, key, "read_write")
    read = database.read

    @contextmanager
    def slow() -> Iterator[Any]:
        with read() as connection:
            yield connection
        credentials.forget([session.id])

    monkeypatch.setattr(database, "read", slow)
    assert credentials.find(session.sessions_token) is not None

    assert credentials.remembered(session.sessions_token) is None


def test_only_who_is_over_is_forgotten(store: SqlStore, key: Caller, credentials: Credentials) -> None:
    one, other = made(store, key, "read_write"), made(store, key, "read_write")
    for session in (one, other):
        credentials.find(session.sessions_token)

    assert credentials.forget([one.id, "memstore_a"])
    assert not credentials.forget(["memstore_a"])

    assert credentials.remembered(one.sessions_token) is None
    assert credentials.remembered(other.sessions_token) is not None
