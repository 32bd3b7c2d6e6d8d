"""Whose token is this? API keys and sessions' tokens, found by their digest and remembered for some seconds.

Used by the access check of every request. Safe in any thread.
"""

import threading
from collections.abc import Callable, Iterable
from typing import Final

from sqlalchemy import bindparam, select

from memfs.core.attachment import Access
from memfs.server.store import tables
from memfs.server.store.callers import Caller
from memfs.server.store.database import Database
from memfs.server.store.tokens import SESSION_PREFIX, digest

FRESH_S: Final = 5.0
"""How long a token that was found is believed: requests do not each ask the database who is there.

One that ends is forgotten at once by whoever is told: the process that ends it, and all that listen to PostgreSQL.
"""
REMEMBERED: Final = 4_096
"""Tokens that are remembered at once. Only found ones are: a wrong one costs a look each time, and no memory."""
_OWNERS = ("apikey_", "sesn_")
_KEYS = tables.api_keys.c
_SESSIONS = tables.sessions.c
_RESOURCES = tables.session_resources.c
_LIVE_KEY = select(_KEYS.id, _KEYS.workspace_id, _KEYS.access).where(
    _KEYS.token_sha256 == bindparam("digest"), _KEYS.revoked_at.is_(None)
)
_LIVE_SESSION = (
    select(_SESSIONS.id, _SESSIONS.workspace_id, _RESOURCES.store_id, _RESOURCES.access)
    .select_from(tables.sessions.outerjoin(tables.session_resources))
    .where(_SESSIONS.token_sha256 == bindparam("digest"), _SESSIONS.archived_at.is_(None))
)


class Credentials:
    """The tokens that a database knows.

    Args:
        database: Where their digests are.
        monotonic_s: A clock that never steps back, in seconds.
    """

    def __init__(self, database: Database, monotonic_s: Callable[[], float]) -> None:
        self._database = database
        self._monotonic_s = monotonic_s
        self._known: dict[str, tuple[Caller, float]] = {}
        self._change = threading.Lock()
        self._ends = 0
        """How often tokens were forgotten: what was looked up before that may have ended meanwhile."""

    def remembered(self, token: str) -> Caller | None:
        """Return whose token this is, if it was found a moment ago, without asking the database."""
        found = self._known.get(digest(token))
        return found[0] if found is not None and self._monotonic_s() - found[1] < FRESH_S else None

    def find(self, token: str) -> Caller | None:
        """Return whose token this is; None if it is unknown, revoked, or of a session that is over."""
        asked_s, ends = self._monotonic_s(), self._ends
        caller = self._session(token) if token.startswith(SESSION_PREFIX) else self._key(token)
        if caller is not None:
            self._remember(digest(token), caller, asked_s, ends)
        return caller

    def forget(self, ids: Iterable[str]) -> bool:
        """Ask the database again for the tokens of these keys and sessions; return whether there are any among ids."""
        over = {one for one in ids if one.startswith(_OWNERS)}
        if not over:
            return False
        with self._change:
            self._ends += 1
            self._known = {token: known for token, known in self._known.items() if known[0].actor not in over}
        return True

    def _key(self, token: str) -> Caller | None:
        with self._database.read() as connection:
            found = connection.execute(_LIVE_KEY, {"digest": digest(token)}).first()
        if found is None:
            return None
        return Caller(actor=found.id, workspace_id=found.workspace_id, access=Access(found.access))

    def _session(self, token: str) -> Caller | None:
        with self._database.read() as connection:
            found = connection.execute(_LIVE_SESSION, {"digest": digest(token)}).all()
        if not found:
            return None
        stores = {row.store_id: Access(row.access) for row in found if row.store_id is not None}
        return Caller(actor=found[0].id, workspace_id=found[0].workspace_id, stores=stores)

    def _remember(self, token_digest: str, caller: Caller, asked_s: float, ends: int) -> None:
        with self._change:
            if ends != self._ends:
                return
            # The one found last goes to the end, so that the first is the oldest.
            self._known.pop(token_digest, None)
            if len(self._known) >= REMEMBERED:
                del self._known[next(iter(self._known))]
            self._known[token_digest] = (caller, asked_s)
