"""What is kept from a closed-in command: files and variables."""

from pathlib import Path

from memfs.cli import concealed
from memfs.config import Settings
from memfs.config.settings import RemoteTable, ServerTable

ENVIRON = {"XDG_STATE_HOME": "/h/state", "XDG_DATA_HOME": "/h/share", "MEMFS_STATE": "/elsewhere/one"}


def test_every_instance_and_the_local_server_are_hidden_with_the_state() -> None:
    found = concealed.paths(Path("/elsewhere/one"), Settings(), ENVIRON)

    assert ["/elsewhere/one", "/h/state/memfs", "/h/share/memfs/server", "/var/lib/memfs", "/etc/memfs"] == found


def test_files_with_keys_are_hidden_and_a_directory_of_memfs_as_a_whole() -> None:
    settings = Settings(
        remote=RemoteTable(api_key_file=Path("/secrets/memfs/api-key")),
        server=ServerTable(data=Path("/data"), tls_cert=Path("/tls/cert"), tls_key=Path("/tls/key")),
    )

    found = concealed.paths(Path("/s"), settings, ENVIRON, Path("/project/memfs.toml"), None)

    assert {"/data", "/secrets/memfs", "/tls/key", "/project/memfs.toml"} <= set(found)
    assert "/tls/cert" not in found


def test_the_command_gets_neither_memfss_variables_nor_the_key_it_works_with() -> None:
    environ = {
        "AUTHORIZATION": "Bearer the-key",
        "PATH": "/bin",
        "MEMFS_API_KEY": "k",
        "MEMFS_DATABASE_URL": "postgresql://u:p@h/d",
        "MEMFS_STATE": "/s",
        "NOTIFY_SOCKET": "/run/n",
        "ANTHROPIC_API_KEY": "the-models",
        "COPY_OF_IT": "the-key",
    }

    assert {"PATH": "/bin", "ANTHROPIC_API_KEY": "the-models"} == concealed.environment(environ, "the-key")
    assert "ANTHROPIC_API_KEY" not in concealed.environment(environ, "the-models")
