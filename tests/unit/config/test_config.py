"""Settings: what a file may say, what wins, and how a wrong one is named."""

from pathlib import Path

import pytest

from memfs.config import (
    DEFAULT_BASE_URL,
    RemoteSettings,
    default_server_data,
    default_state,
    load,
    parse_listen,
    remote_settings,
    server_database,
)
from memfs.core.attachment import Access, WantedStore
from memfs.core.errors import ConfigError


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "memfs.toml"
    path.write_text(text)
    return path


def test_a_whole_file_is_read(tmp_path: Path) -> None:
    settings = load(
        written(
            tmp_path,
            """
            [remote]
            base_url = "http://127.0.0.1:1"
            [mount]
            point = "/mnt/memory"
            umask = "077"
            [worker]
            poll_s = 1
            [[stores]]
            store = "Team Notes"
            [[stores]]
            store = "memstore_01abc"
            access = "read_only"
            instructions = "Look here first."
            """,
        )
    )

    assert settings.mount.point == Path("/mnt/memory")
    assert settings.mount.umask == "077"
    assert settings.worker.poll_s == 1.0
    assert settings.wanted_stores() == [
        WantedStore(store="Team Notes"),
        WantedStore(store="memstore_01abc", access=Access.READ_ONLY, instructions="Look here first."),
    ]


def test_a_relative_path_starts_at_the_file_that_says_it(tmp_path: Path) -> None:
    settings = load(written(tmp_path, "[remote]\napi_key_file = 'keys/mine'\n[mount]\npoint = '/mnt/memory'\n"))

    assert settings.remote.api_key_file == tmp_path / "keys/mine"
    assert settings.mount.point == Path("/mnt/memory")


def test_no_file_gives_the_defaults() -> None:
    settings = load(None)

    assert settings.worker.poll_s == 30.0
    assert settings.wanted_stores() == []


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("[mount]\npoint = /x\n", 2, "key 'point'"),
        ("[mount\n", 1, ""),
        ("[mount]\numask = 22\n", 2, "key 'mount.umask'"),
        ("[mount]\nuid = -1\n", 2, "key 'mount.uid'"),
        ("mount = 1\n", 1, "key 'mount': must be a table"),
        ("[state]\ndir = 1\n", 2, "must be a path in quotes"),
        ("[mount]\numask = '9'\n", 2, "must be octal digits"),
        ("[mount]\nallow_other = 'yes'\n", 2, "must be true or false"),
        ("[worker]\npoll_s = true\n", 2, "must be a number"),
        ("[worker]\n\npoll_s = 0\n", 3, "key 'worker.poll_s'"),
        ("[worker]\npol_s = 1\n", 2, "did you mean 'poll_s'"),
        ("[mont]\npoint = '/x'\n", 1, "did you mean 'mount'"),
        ("[server]\nworkers = 0\n", 2, "key 'server.workers'"),
        ("[server]\nrequests_per_minute = 0\n", 2, "key 'server.requests_per_minute'"),
        ("[server]\nmemory_bytes = 102_401\n", 2, "key 'server.memory_bytes'"),
        ("[server]\nbody_bytes = 1\n", 2, "key 'server.body_bytes'"),
        ("[server]\nretention_days = 29\n", 2, "key 'server.retention_days'"),
        ("[server]\nkeep_newest = 9\n", 2, "key 'server.keep_newest'"),
        ("[server]\nprune_every_s = 1\n", 2, "key 'server.prune_every_s'"),
        ("[server]\ndatabase = 'mysql://me:hush@db/x'\n", 2, "must be a URL like postgresql://"),
        ("\n[server]\ntls_cert = 'cert.pem'\n", 2, "key 'server': tls_cert and tls_key go together"),
        ("[[stores]]\nstore = 'a'\n\n[[stores]]\nstore = 'b'\nacess = 'read_only'\n", 6, "did you mean 'access'"),
        ("[[stores]]\nstore = 'a'\naccess = 'ro'\n", 3, "'read_write' or 'read_only'"),
        ("[[stores]]\naccess = 'read_only'\n", 1, "key 'stores.store'"),
    ],
)
def test_a_wrong_setting_names_file_line_and_key(tmp_path: Path, text: str, line: int, words: str) -> None:
    path = written(tmp_path, text)

    with pytest.raises(ConfigError) as caught:
        load(path)

    assert str(caught.value).startswith(f"{path}:{line}:")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "hush" not in str(caught.value)
    assert caught.value.exit_code == 3


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.toml cannot be read: No such file"):
        load(tmp_path / "nowhere.toml")


def key_file(tmp_path: Path, name: str, key: str) -> Path:
    path = tmp_path / name
    path.write_text(f"{key}\n")
    return path


def test_flags_win_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    flag, told = key_file(tmp_path, "flag", "k-flag"), key_file(tmp_path, "file", "k-file")
    settings = load(written(tmp_path, f"[remote]\nbase_url = 'http://file'\napi_key_file = '{told}'\n"))
    environ = {"MEMFS_BASE_URL": "http://env", "MEMFS_API_KEY": "k-env"}

    by_flag = remote_settings("http://flag", flag, settings=settings, environ=environ)
    by_environment = remote_settings(None, None, settings=settings, environ=environ)
    by_file = remote_settings(None, None, settings=settings, environ={"ANTHROPIC_BASE_URL": "http://sdk"})

    assert by_flag == RemoteSettings(base_url="http://flag", api_key="k-flag")
    assert by_environment == RemoteSettings(base_url="http://env", api_key="k-env")
    assert by_file == RemoteSettings(base_url="http://file", api_key="k-file")


def test_the_database_is_named_by_flag_environment_or_file_and_else_sqlites(tmp_path: Path) -> None:
    settings = load(written(tmp_path, "[server]\ndatabase = 'postgresql://file/x'\n"))
    environ = {"MEMFS_DATABASE_URL": "postgresql://environment/x"}

    assert server_database("postgresql://flag/x", settings, environ) == "postgresql://flag/x"
    assert server_database(None, settings, environ) == "postgresql://environment/x"
    assert server_database(None, settings, {}) == "postgresql://file/x"
    assert server_database(None, load(None), {}) is None


def test_no_representation_shows_the_databases_password(tmp_path: Path) -> None:
    settings = load(written(tmp_path, "[server]\ndatabase = 'postgresql://me:hush@db/x'\n"))

    assert "hush" not in repr(settings)


def test_the_sdk_variables_are_honoured() -> None:
    found = remote_settings(None, None, environ={"ANTHROPIC_BASE_URL": "http://sdk", "ANTHROPIC_API_KEY": "k"})

    assert found == RemoteSettings(base_url="http://sdk", api_key="k")


@pytest.mark.parametrize(
    "url", [None, DEFAULT_BASE_URL + "/", "http://localhost:8484", "http://127.0.0.1:9", "http://[::1]:1"]
)
def test_the_hosted_key_is_not_sent_to_a_local_server(tmp_path: Path, url: str | None) -> None:
    with pytest.raises(ConfigError, match=r"no API key|no remote is named"):
        remote_settings(url, None, environ={"ANTHROPIC_API_KEY": "k", "XDG_DATA_HOME": str(tmp_path)})


def test_the_hosted_key_goes_where_the_sdk_would_send_it() -> None:
    environ = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}

    assert remote_settings(None, None, environ=environ) == RemoteSettings(base_url="http://127.0.0.1:9", api_key="k")


def test_the_local_servers_key_is_found_by_itself(tmp_path: Path) -> None:
    environ = {"XDG_DATA_HOME": str(tmp_path)}
    default_server_data(environ).mkdir(parents=True)
    key_file(default_server_data(environ), "api-key", "k-local")

    assert remote_settings(None, None, environ=environ) == RemoteSettings(base_url=DEFAULT_BASE_URL, api_key="k-local")
    for elsewhere in ("https://elsewhere.example", "http://127.0.0.1:9", "http://elsewhere.example:8484"):
        with pytest.raises(ConfigError, match="no API key"):
            remote_settings(elsewhere, None, environ=environ)


def test_a_key_never_shows(tmp_path: Path) -> None:
    found = remote_settings("http://x", key_file(tmp_path, "key", "k-secret"), environ={})

    assert "k-secret" not in repr(found)


@pytest.mark.parametrize("content", ["", "two words", "two\nlines", "\x00"])
def test_a_file_that_holds_no_key_is_refused(tmp_path: Path, content: str) -> None:
    with pytest.raises(ConfigError, match="holds no key"):
        remote_settings("http://x", key_file(tmp_path, "key", content), environ={})


@pytest.mark.parametrize("url", ["127.0.0.1:8484", "ftp://x", "http://", "x", "http://[::1", "http://127.0.0.1:99999"])
def test_a_base_url_must_be_http(url: str) -> None:
    with pytest.raises(ConfigError, match="no http"):
        remote_settings(url, None, environ={"MEMFS_API_KEY": "k"})


def test_a_url_with_credentials_is_refused_without_showing_them() -> None:
    with pytest.raises(ConfigError, match="holds a user name") as caught:
        remote_settings("http://name:k-secret@host", None, environ={})

    assert "k-secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("127.0.0.1:8484", ("127.0.0.1", 8484)), ("[::1]:0", ("::1", 0)), ("localhost:65535", ("localhost", 65535))],
)
def test_listen_addresses(text: str, expected: tuple[str, int]) -> None:
    assert parse_listen(text) == expected


@pytest.mark.parametrize("text", ["", "8484", ":8484", "host:", "host:http", "host:65536"])
def test_what_is_no_listen_address_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="HOST:PORT"):
        parse_listen(text)


def test_the_state_directory_is_named_by_the_environment_or_xdg(tmp_path: Path) -> None:
    assert default_state({"MEMFS_STATE": "/x/y"}) == Path("/x/y")
    assert default_state({"XDG_STATE_HOME": str(tmp_path)}) == tmp_path / "memfs" / "default"
