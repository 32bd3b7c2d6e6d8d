"""Settings: the only reader of TOML, of the environment, and of where things are by default.

The edges (``memfs.cli``, ``worker.__main__``) call this and hand plain values on. A flag wins over the environment, the
environment over ``memfs.toml``, that over the defaults. A wrong setting is one `ConfigError` with file, line and key.
"""

from memfs.config.places import (
    RemoteSettings,
    default_server_data,
    default_state,
    parse_listen,
    remote_settings,
    server_database,
)
from memfs.config.settings import DEFAULT_BASE_URL, DEFAULT_LISTEN, Settings
from memfs.config.toml import load
from memfs.config.wanted import Wanted, wanted

__all__ = [
    "DEFAULT_BASE_URL",
    "DEFAULT_LISTEN",
    "RemoteSettings",
    "Settings",
    "Wanted",
    "default_server_data",
    "default_state",
    "load",
    "parse_listen",
    "remote_settings",
    "server_database",
    "wanted",
]
