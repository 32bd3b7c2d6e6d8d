"""Stores or a session: which of the two is attached, and with which credential."""

from pathlib import Path

import pytest

from memfs.config import RemoteSettings, Settings, Wanted, load, remote_settings, wanted
from memfs.config.settings import SessionTable
from memfs.core.attachment import Access, WantedStore
from memfs.core.errors import ConfigError, UsageError

URL = "http://x"


def of_session(tmp_path: Path, token: str | None = None) -> Settings:
    if token is None:
        return Settings(session=SessionTable(id="sesn_file"))
    return Settings(session=SessionTable(id="sesn_file", token_file=token_file(tmp_path, "told", token)))


def token_file(tmp_path: Path, name: str, token: str) -> Path:
    path = tmp_path / name
    path.write_text(f"{token}\n")
    return path


def test_a_flag_wins_over_the_configuration_whichever_of_the_two_it_names(tmp_path: Path) -> None:
    stores = [WantedStore(store="Notes", access=Access.READ_ONLY)]

    assert Wanted(session_id="sesn_flag") == wanted("sesn_flag", None, of_session(tmp_path))
    assert Wanted(stores=stores) == wanted(None, ["Notes:ro"], of_session(tmp_path))
    assert Wanted(session_id="sesn_file") == wanted(None, None, of_session(tmp_path))
    assert Wanted() == wanted(None, [], Settings())


def test_session_and_stores_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="exclude each other"):
        wanted("sesn_1", ["Notes"], Settings())
    path = tmp_path / "memfs.toml"
    path.write_text("[session]\nid = 'sesn_1'\n\n[[stores]]\nstore = 'Notes'\n")
    with pytest.raises(ConfigError, match=f"{path}:4: .*exclude each other"):
        load(path)


def test_a_session_without_an_id_is_refused() -> None:
    with pytest.raises(UsageError, match="names no session"):
        wanted(" ", None, Settings())


def test_a_sessions_token_comes_before_every_key(tmp_path: Path) -> None:
    settings, flag = of_session(tmp_path, "t-told"), token_file(tmp_path, "flag", "t-flag")
    key, environ = token_file(tmp_path, "key", "k"), {"MEMFS_SESSION_TOKEN": "t-env", "MEMFS_API_KEY": "k-env"}

    by_flag = remote_settings(
        URL, key, settings=settings, environ=environ, session_id="sesn_1", session_token_file=flag
    )
    by_environment = remote_settings(URL, key, settings=settings, environ=environ, session_id="sesn_1")
    by_file = remote_settings(URL, key, settings=settings, environ={}, session_id="sesn_1")

    assert [
        RemoteSettings(base_url=URL, api_key=token, is_session_token=True) for token in ("t-flag", "t-env", "t-told")
    ] == [by_flag, by_environment, by_file]
    assert {"MEMFS_SESSION_TOKEN": "t-flag"} == by_flag.environment
    assert "t-flag" not in repr(by_flag)


def test_without_a_token_the_key_opens_a_session_too(tmp_path: Path) -> None:
    key = token_file(tmp_path, "key", "k")

    found = remote_settings(URL, key, environ={}, session_id="sesn_1")

    assert RemoteSettings(base_url=URL, api_key="k") == found
    assert {"MEMFS_API_KEY": "k"} == found.environment


def test_a_token_is_of_no_use_without_a_session(tmp_path: Path) -> None:
    key, environ = token_file(tmp_path, "key", "k"), {"MEMFS_SESSION_TOKEN": "t"}

    assert RemoteSettings(base_url=URL, api_key="k") == remote_settings(URL, key, environ=environ)
    with pytest.raises(UsageError, match="given for no session"):
        remote_settings(URL, key, environ=environ, session_token_file=token_file(tmp_path, "token", "t"))


def test_a_token_file_that_holds_none_is_refused_by_name(tmp_path: Path) -> None:
    empty, nowhere = token_file(tmp_path, "empty", ""), tmp_path / "nowhere"

    for path, why in ((empty, "holds no token"), (nowhere, "cannot be read")):
        with pytest.raises(ConfigError, match=f"the session token file {path} {why}"):
            remote_settings(URL, None, environ={}, session_id="sesn_1", session_token_file=path)
