"""Keys: known by their digest, remembered for some seconds, made once, dead for good once revoked."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import delete, select

from memfs.core.attachment import Access
from memfs.core.errors import ConfigError, InvalidRequest, NotFound
from memfs.server.credentials import FRESH_S, REMEMBERED, Credentials
from memfs.server.keys import FIRST_KEY, Keys
from memfs.server.store import tables
from memfs.server.store.callers import Caller
from memfs.server.store.database import Database
from memfs.server.store.stamps import Stamps

TOKEN = "memfs-key-of-a-test"


@pytest.fixture
def keys(database: Database, stamps: Stamps) -> Keys:
    return Keys(database, stamps)


@pytest.fixture
def credentials(database: Database, clock: Any) -> Credentials:
    return Credentials(database, clock)


def test_a_key_is_known_after_it_was_ensured_and_keeps_its_id(keys: Keys, credentials: Credentials) -> None:
    assert credentials.find(TOKEN) is None

    key_id = keys.ensure(TOKEN)
    (listed,) = keys.list()

    assert key_id.startswith("apikey_01")
    assert keys.ensure(TOKEN) == key_id
    assert (listed.id, listed.name, listed.workspace, listed.access) == (
        key_id, FIRST_KEY, "default", Access.READ_WRITE,
    )  # fmt: skip
    assert credentials.find(TOKEN) == Caller(actor=key_id, workspace_id=listed.workspace_id)
    assert credentials.find(TOKEN + "x") is None
    assert credentials.find("") is None
    assert credentials.find("\udcff") is None


def test_the_database_holds_a_digest_only(keys: Keys, database: Database) -> None:
    made = keys.create("ci")

    with database.read() as connection:
        rows = connection.execute(select(tables.api_keys)).all()

    assert len(rows) == 1
    assert len(rows[0].token_sha256) == 64
    assert made.token not in repr(rows)
    assert made.token not in repr(made)


def test_a_key_that_is_gone_is_remembered_for_some_seconds_only(
    keys: Keys, credentials: Credentials, database: Database, clock: Any
) -> None:
    keys.ensure(TOKEN)
    assert credentials.remembered(TOKEN) is None
    found = credentials.find(TOKEN)
    with database.write() as connection:
        connection.execute(delete(tables.api_keys))

    assert credentials.remembered(TOKEN) == found
    clock.now_s += FRESH_S
    assert credentials.remembered(TOKEN) is None
    assert credentials.find(TOKEN) is None


def test_a_made_key_says_its_workspace_and_access(keys: Keys, credentials: Credentials) -> None:
    plain = keys.create("plain")
    reader = keys.create("reader", workspace="other", access=Access.READ_ONLY)
    second = keys.create("second", workspace="other")

    assert plain.token.startswith("memfs-key-")
    assert len({plain.token, reader.token, second.token}) == 3
    assert [False, True, False] == [one.is_new_workspace for one in (plain, reader, second)]
    assert (plain.key.workspace, reader.key.workspace, second.key.workspace) == ("default", "other", "other")
    assert reader.key.workspace_id == second.key.workspace_id != plain.key.workspace_id
    assert reader.key.workspace_id.startswith("wrkspc_01")
    assert [plain.key, reader.key, second.key] == keys.list()
    assert credentials.find(reader.token) == Caller(
        actor=reader.key.id, workspace_id=reader.key.workspace_id, access=Access.READ_ONLY
    )


def test_a_revoked_key_is_unknown_and_stays_so(keys: Keys, credentials: Credentials) -> None:
    made = keys.create("ci")

    revoked = keys.revoke(made.key.id)

    assert revoked.revoked_at is not None
    assert keys.revoke(made.key.id) == revoked
    assert [revoked] == keys.list()
    assert credentials.find(made.token) is None


@pytest.mark.parametrize("key_id", ["apikey_01", "", "\x00", "é"])
def test_a_key_that_never_was_cannot_be_revoked(keys: Keys, key_id: str) -> None:
    with pytest.raises(NotFound, match="there is no API key"):
        keys.revoke(key_id)


def test_a_start_does_not_bring_a_revoked_first_key_back_to_life(keys: Keys, credentials: Credentials) -> None:
    keys.revoke(keys.ensure(TOKEN))

    with pytest.raises(ConfigError, match="is revoked") as refused:
        keys.ensure(TOKEN)

    assert TOKEN not in str(refused.value)
    assert "remove the file to get a new one" in refused.value.remedy
    assert credentials.find(TOKEN) is None


@pytest.mark.parametrize("name", ["", "x" * 256, "a\nb", "a\x00b", "a\x1b[31m"])
def test_a_name_that_no_list_could_show_is_refused(keys: Keys, name: str) -> None:
    with pytest.raises(InvalidRequest, match="name of a key"):
        keys.create(name)
    with pytest.raises(InvalidRequest, match="name of a workspace"):
        keys.create("ci", workspace=name)

    assert keys.list() == []


def test_many_who_make_one_workspace_make_it_once(keys: Keys) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda n: keys.create(f"key {n}", workspace="shared"), range(16)))

    assert 1 == sum(one.is_new_workspace for one in made)
    assert 1 == len({one.key.workspace_id for one in made})


def test_wrong_tokens_are_not_remembered_and_right_ones_in_bounds(keys: Keys, credentials: Credentials) -> None:
    first = keys.create("first").token
    for number in range(50):
        credentials.find(f"memfs-key-wrong-{number}")
        credentials.find(f"memfs-session-wrong-{number}")
    assert {} == credentials._known

    caller = credentials.find(first)
    assert caller is not None
    for number in range(REMEMBERED):
        credentials._remember(str(number), caller, 0.0, 0)

    assert REMEMBERED == len(credentials._known)
    assert credentials.remembered(first) is None
