"""API keys: who may use the server. The database keeps digests only; the first key is in a file of mode 0600.

Used by the authentication of requests and by the start of the server. Safe in any thread. A key is 256 random bits,
so a plain SHA-256 is as good as any slow digest.
"""

import hashlib
import os
import secrets
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from sqlalchemy import Connection, insert, select

from memfs.core.attachment import Access
from memfs.core.errors import ConfigError
from memfs.server.store import tables
from memfs.server.store.callers import Caller
from memfs.server.store.database import Database
from memfs.server.store.stamps import Stamps, identifier

FRESH_S = 5.0
"""How long an answer about a key is used again: requests do not each ask the database who is there."""
FIRST_KEY = "first key"
"""The name of the key that a server makes for itself."""
_SHORTEST = 16
_KEYS = tables.api_keys.c


class Keys:
    """The keys that a database knows.

    Args:
        database: Where their digests are.
        stamps: For the ids of new ones.
        monotonic_s: A clock that never steps back, in seconds.
    """

    def __init__(self, database: Database, stamps: Stamps, monotonic_s: Callable[[], float]) -> None:
        self._database = database
        self._stamps = stamps
        self._monotonic_s = monotonic_s
        self._known: dict[str, tuple[Caller, float]] = {}

    def remembered(self, token: str) -> Caller | None:
        """Return whose key this is, if it was found a moment ago, without asking the database."""
        found = self._known.get(_digest(token))
        return found[0] if found is not None and self._monotonic_s() - found[1] < FRESH_S else None

    def find(self, token: str) -> Caller | None:
        """Return whose key this is, or None if it is unknown or revoked."""
        digest = _digest(token)
        query = select(tables.api_keys).where(_KEYS.token_sha256 == digest, _KEYS.revoked_at.is_(None))
        with self._database.read() as connection:
            found = connection.execute(query).first()
        if found is None:
            return None
        caller = Caller(actor=found.id, workspace_id=found.workspace_id, access=Access(found.access))
        self._known[digest] = (caller, self._monotonic_s())
        return caller

    def ensure(self, token: str) -> str:
        """Make a key known if it is not, and return its id."""
        digest = _digest(token)
        with self._database.write() as connection:
            found: str | None = connection.scalar(select(_KEYS.id).where(_KEYS.token_sha256 == digest))
            if found is not None:
                return found
            at_us = self._stamps.next()
            key_id = identifier("apikey", at_us)
            connection.execute(
                insert(tables.api_keys).values(
                    id=key_id, workspace_id=_first_workspace(connection), name=FIRST_KEY, token_sha256=digest,
                    access=Access.READ_WRITE.value, created_at=at_us,
                )
            )  # fmt: skip
            return key_id


def _first_workspace(connection: Connection) -> str:
    """Return the id of the workspace that every database has, the oldest one."""
    query = select(tables.workspaces.c.id).order_by(tables.workspaces.c.created_at, tables.workspaces.c.id).limit(1)
    found: str = connection.execute(query).scalar_one()
    return found


def key_in(path: Path) -> str:
    """Return the key in the file at ``path``; a missing file is made, mode 0600, with a new key.

    Raises:
        ConfigError: The file cannot be read or made, or holds no key.
    """
    try:
        if not path.exists():
            _write_new(path, f"memfs-key-{secrets.token_urlsafe(32)}")
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


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode(errors="surrogateescape")).hexdigest()
