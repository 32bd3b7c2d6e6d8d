"""What `memfs run` keeps from its command: which files and directories, which variables. Pure but for links on disk."""

from collections.abc import Mapping
from pathlib import Path

from memfs.config import Settings, default_server_data, default_state

_SYSTEM_WIDE = (Path("/var/lib/memfs"), Path("/etc/memfs"))
_OWN = "memfs"


def environment(environ: Mapping[str, str], api_key: str) -> dict[str, str]:
    """Return the variables that the command gets: none of memfs's own, and not the key it works with.

    ANTHROPIC_API_KEY stays where memfs uses another key: an agent needs it for its model.
    """
    return {
        name: value
        for name, value in environ.items()
        if not name.startswith("MEMFS_") and name != "NOTIFY_SOCKET" and (not api_key or api_key not in value)
    }


def paths(
    state: Path, settings: Settings, environ: Mapping[str, str], *named: Path | None, data: Path | None = None
) -> list[str]:
    """Return every file and directory with state, configuration or credentials, absolute.

    Args:
        state: The state directory of this run.
        settings: What the configuration says.
        environ: Where the defaults are found; those of every instance are among what is returned.
        named: Files that the command line names: the configuration, the API key.
        data: A server's data directory.
    """
    unnamed = {name: value for name, value in environ.items() if name != "MEMFS_STATE"}
    directories = [state, default_state(unnamed).parent, default_server_data(environ), *_SYSTEM_WIDE]
    directories += [one for one in (data, settings.state.dir, settings.server.data) if one]
    files = [*named, settings.remote.api_key_file, settings.session.token_file, settings.server.tls_key]
    found = [*directories, *(_whole(one.absolute()) for one in files if one)]
    return list(dict.fromkeys(str(one.absolute()) for one in found))


def _whole(file: Path) -> Path:
    """Return the directory of the file where it is memfs's own: a file put into place of this one shall not show."""
    return file.parent if file.parent.name == _OWN else file
