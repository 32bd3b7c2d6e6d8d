"""Where things are when nobody says: the remote and its key, the state directory, the server's data."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from memfs.config.settings import DEFAULT_BASE_URL, DEFAULT_LISTEN, Settings
from memfs.core.errors import ConfigError, UsageError

API_KEY, SESSION_TOKEN = "MEMFS_API_KEY", "MEMFS_SESSION_TOKEN"
"""Variables that hold a credential."""
_DEFAULT_PORT = urlsplit(DEFAULT_BASE_URL).port


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteSettings:
    """Where the remote is and the key that opens it."""

    base_url: str
    api_key: str
    is_session_token: bool = False
    """The key is a session's token, which opens the session's stores and nothing else."""

    @property
    def environment(self) -> dict[str, str]:
        """Return the variable by which a process of ours is told the key."""
        return {SESSION_TOKEN if self.is_session_token else API_KEY: self.api_key}

    def __repr__(self) -> str:
        """Show the URL only: the key must not reach a log by way of a traceback."""
        return f"RemoteSettings(base_url={self.base_url!r})"


def remote_settings(
    base_url: str | None,
    api_key_file: Path | None,
    *,
    settings: Settings | None = None,
    environ: Mapping[str, str] | None = None,
    session_id: str = "",
    session_token_file: Path | None = None,
) -> RemoteSettings:
    """Find the remote and its key: flags, then the environment, then the configuration, then the local server's.

    The key of a local server is found by itself (``api-key`` in its data directory) and ANTHROPIC_API_KEY is never
    sent to the local default. Where a session is named, its token comes before every key.

    Raises:
        ConfigError: There is no key, or the key file cannot be read.
        UsageError: A token's file is given for no session.
    """
    env = os.environ if environ is None else environ
    told = (settings or Settings()).remote
    of_the_sdk = env.get("ANTHROPIC_BASE_URL")
    url = base_url or env.get("MEMFS_BASE_URL") or told.base_url or of_the_sdk or DEFAULT_BASE_URL
    host, port = _checked(url)
    if token := _session_token(session_id, session_token_file, settings or Settings(), env):
        return RemoteSettings(base_url=url, api_key=token, is_session_token=True)
    if api_key_file:
        return RemoteSettings(base_url=url, api_key=_read_key(api_key_file))
    if key := env.get(API_KEY):
        return RemoteSettings(base_url=url, api_key=key)
    if told.api_key_file:
        return RemoteSettings(base_url=url, api_key=_read_key(told.api_key_file))
    # The hosted key goes to this host only where the SDK itself would send it; the local server's nowhere else.
    if (not _is_loopback(host) or url == of_the_sdk) and (key := env.get("ANTHROPIC_API_KEY")):
        return RemoteSettings(base_url=url, api_key=key)
    local = default_server_data(env) / "api-key"
    if not _is_loopback(host) or port != _DEFAULT_PORT:
        raise ConfigError(f"there is no API key for {url}", remedy="Give --api-key-file FILE, or set MEMFS_API_KEY")
    if not local.exists():
        raise ConfigError(
            "no remote is named, and no server was started here",
            remedy="Start one (memfs serve), or give --base-url URL and --api-key-file FILE",
        )
    return RemoteSettings(base_url=url, api_key=_read_key(local))


def default_state(environ: Mapping[str, str] | None = None) -> Path:
    """Return the state directory used when none is named."""
    env = os.environ if environ is None else environ
    if named := env.get("MEMFS_STATE"):
        return Path(named)
    return _home(env, "XDG_STATE_HOME", ".local/state") / "default"


def default_server_data(environ: Mapping[str, str] | None = None) -> Path:
    """Return the server's data directory used when none is named."""
    return _home(os.environ if environ is None else environ, "XDG_DATA_HOME", ".local/share") / "server"


def server_database(flag: str | None, settings: Settings, environ: Mapping[str, str] | None = None) -> str | None:
    """Return the URL of the server's database, None for SQLite: flag, MEMFS_DATABASE_URL, configuration."""
    env = os.environ if environ is None else environ
    return flag or env.get("MEMFS_DATABASE_URL") or settings.server.database


def parse_listen(text: str) -> tuple[str, int]:
    """Read ``HOST:PORT`` (an IPv6 host in brackets; port 0 lets the kernel choose).

    Raises:
        ConfigError: It is something else.
    """
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65_535:  # noqa: PLR2004  (the highest TCP port)
        raise ConfigError(f"{text!r} is no HOST:PORT", remedy=f"Write it like {DEFAULT_LISTEN}")
    return host.strip("[]"), int(port)


def _home(env: Mapping[str, str], variable: str, below_home: str) -> Path:
    if env.get(variable):
        return Path(env[variable]) / "memfs"
    if os.geteuid() == 0:
        return Path("/var/lib/memfs")
    return Path.home() / below_home / "memfs"


def _session_token(session_id: str, flag: Path | None, settings: Settings, env: Mapping[str, str]) -> str | None:
    if flag and not session_id:
        raise UsageError("--session-token-file is given for no session", remedy="Say --session ID")
    if not session_id:
        return None
    if flag:
        return _read_key(flag, "session token", "--session-token-file")
    told = settings.session.token_file
    return env.get(SESSION_TOKEN) or (_read_key(told, "session token", "--session-token-file") if told else None)


def _read_key(path: Path, what: str = "API key", flag: str = "--api-key-file") -> str:
    try:
        key = path.read_text(encoding="ascii").strip()
    except OSError as error:
        raise ConfigError(
            f"the {what} file {path} cannot be read: {error.strerror}", remedy=f"Name another by {flag}"
        ) from None
    except UnicodeDecodeError:
        key = ""
    if not key or not key.isprintable() or " " in key:
        last = what.rpartition(" ")[2]
        raise ConfigError(f"the {what} file {path} holds no {last}", remedy=f"It must hold the {last} and nothing else")
    return key


def _checked(url: str) -> tuple[str, int | None]:
    """Return host and port of a base URL.

    Raises:
        ConfigError: It is no http(s) URL, or it holds a credential; that is not shown.
    """
    try:
        parts = urlsplit(url)
        host, port, has_credential = parts.hostname, parts.port, parts.username is not None
    except ValueError:
        host, port, has_credential = None, None, "@" in url
    if has_credential:
        raise ConfigError("the base URL holds a user name or a password", remedy="Give the key by --api-key-file")
    if not host or parts.scheme not in {"http", "https"}:
        raise ConfigError(f"the base URL {url!r} is no http(s) URL", remedy=f"Write it like {DEFAULT_BASE_URL}")
    return host, port


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
