"""The first API key of a server: the one in a file of its data directory, so that there is a way in at all.

Used by the start of the server. Safe in any number of processes that start at once. Every further key is made by
`memfs.server.keys`, and the database knows none but by its digest.
"""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from memfs.core.errors import ConfigError
from memfs.server.store.tokens import SESSION_PREFIX, new_key

_SHORTEST = 16


def key_in(path: Path) -> str:
    """Return the key in the file at ``path``; a missing file is made, mode 0600, with a new key.

    Raises:
        ConfigError: The file cannot be read or made, or holds no key.
    """
    try:
        if not path.exists():
            _write_new(path, new_key())
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        # What is wrong with the bytes is not said: they may be a key.
        why = getattr(error, "strerror", None) or "it is no text"
        raise ConfigError(f"the key file {path} cannot be used ({why})", remedy="Check its owner and mode") from None
    if len(token) < _SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigError(
            f"the file {path} holds no key of at least {_SHORTEST} characters",
            remedy="Remove it and start again to get a new key",
        )
    if token.startswith(SESSION_PREFIX):
        raise ConfigError(f"the file {path} holds a session's token, not an API key", remedy="Put an API key there")
    return token


def _write_new(path: Path, token: str) -> None:
    """Put a whole file at ``path`` at once; where another process was first, leave that one's."""
    descriptor, made = tempfile.mkstemp(prefix=".api-key-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            os.fchmod(descriptor, 0o600)  # whatever the umask
            file.write(token + "\n")
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(made, path)
    finally:
        Path(made).unlink()
