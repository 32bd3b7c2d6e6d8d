"""Keys: known by their digest, remembered for some seconds, made once."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, select

from memfs.core.errors import ConfigError
from memfs.server.keys import FRESH_S, Keys, key_in
from memfs.server.store import tables
from memfs.server.store.database import Database
from memfs.server.store.stamps import Stamps

TOKEN = "memfs-key-of-a-test"


@pytest.fixture
def keys(database: Database, stamps: Stamps, clock: Any) -> Keys:
    return Keys(database, stamps, clock)


def test_a_key_is_known_after_it_was_ensured_and_keeps_its_id(keys: Keys) -> None:
    assert keys.find(TOKEN) is None

    key_id = keys.ensure(TOKEN)

    assert key_id.startswith("apikey_01")
    assert keys.ensure(TOKEN) == keys.find(TOKEN) == key_id
    assert keys.find(TOKEN + "x") is None
    assert keys.find("") is None
    assert keys.find("\udcff") is None


def test_the_database_holds_a_digest_only(keys: Keys, database: Database) -> None:
    keys.ensure(TOKEN)

    with database.read() as connection:
        rows = connection.execute(select(tables.api_keys)).all()

    assert len(rows) == 1
    assert len(rows[0].token_sha256) == 64
    assert TOKEN not in repr(rows)


def test_a_key_that_is_gone_is_remembered_for_some_seconds_only(keys: Keys, database: Database, clock: Any) -> None:
    key_id = keys.ensure(TOKEN)
    assert keys.remembered(TOKEN) is None
    keys.find(TOKEN)
    with database.write() as connection:
        connection.execute(delete(tables.api_keys))

    assert keys.remembered(TOKEN) == key_id
    clock.now_s += FRESH_S
    assert keys.remembered(TOKEN) is None
    assert keys.find(TOKEN) is None


def test_many_first_starts_agree_on_one_key(tmp_path: Path) -> None:
    path = tmp_path / "api-key"

    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: key_in(path), range(16)))

    assert found == {path.read_text().strip()}
    assert [one.name for one in tmp_path.iterdir()] == ["api-key"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("umask", [0, 0o022, 0o277])
def test_a_new_key_is_for_its_owner_only_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        key_in(tmp_path / "api-key")
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / "api-key").stat().st_mode) == 0o600


def test_a_key_file_that_is_no_text_is_refused_without_showing_a_byte_of_it(tmp_path: Path) -> None:
    (tmp_path / "api-key").write_bytes(b"\xe4" * 40)

    with pytest.raises(ConfigError, match="it is no text") as refused:
        key_in(tmp_path / "api-key")

    assert "e4" not in str(refused.value).replace(str(tmp_path), "")
