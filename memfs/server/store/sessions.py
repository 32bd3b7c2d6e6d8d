"""Sessions: make, read, list, change, archive, delete. Their tokens are looked up by `memfs.server.credentials`.

Each method is one transaction. Safe in any thread.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Update, delete, false, insert, select, update

from memfs.api.models import Page
from memfs.api.requests import check_metadata
from memfs.api.sessions import CreateSession, NewSession, Session, SessionAgent, UpdateSession
from memfs.core.errors import InvalidRequest, NotFound
from memfs.server.store import attaching, rows, tables, turns
from memfs.server.store.callers import Caller
from memfs.server.store.database import Database
from memfs.server.store.metadata import packed, patched, unpacked
from memfs.server.store.newest import Newest
from memfs.server.store.rows import AnyRow
from memfs.server.store.stamps import Stamps, identifier, moment
from memfs.server.store.tokens import digest, new_session_token

_SESSIONS = tables.sessions.c


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFilter:
    """Which sessions to list, and in which order; moments are microseconds since 1970, inclusive."""

    created_from: int | None = None
    created_to: int | None = None
    include_archived: bool = False
    memory_store_id: str | None = None
    agent_id: str | None = None
    agent_version: int | None = None
    nothing: bool = False
    """What is asked for is what no session here has."""
    oldest_first: bool = False


class Sessions:
    """The sessions of the server."""

    def __init__(self, database: Database, stamps: Stamps) -> None:
        self._database = database
        self._stamps = stamps

    def create(self, caller: Caller, wanted: CreateSession) -> NewSession:
        """Make a session and its token.

        A repeated request makes another one: an equal session may be another agent's, whose token must go on.

        Raises:
            InvalidRequest: A store is unknown, archived or named twice, or the metadata pass a limit.
        """
        caller.check_manages()
        check_metadata(wanted.metadata)
        attaching.refuse_twice(wanted.resources)
        fields = _fields(caller, wanted)
        token = new_session_token()
        with self._database.write() as connection:
            attached = attaching.attach(connection, caller, wanted.resources)
            session_id = self._insert(connection, fields, attached, token)
            made = _session(connection, _existing(connection, caller, session_id))
        return NewSession(**dict(made), sessions_token=token)

    def retrieve(self, caller: Caller, session_id: str) -> Session:
        """Return a session, archived or not; a session's token sees its own only.

        Raises:
            NotFound: There is none.
            PermissionRefused: It is not the token's own.
        """
        if session_id != caller.actor:
            caller.check_key()
        with self._database.read() as connection:
            return _session(connection, _existing(connection, caller, session_id))

    def check_changeable(self, caller: Caller, session_id: str) -> None:
        """Check that there is a session which the caller may change.

        Raises:
            NotFound: There is none.
            PermissionRefused: The caller may not.
        """
        caller.check_manages()
        self.retrieve(caller, session_id)

    def list(self, caller: Caller, wanted: SessionFilter, *, limit: int, page: str | None) -> Page[Session]:
        """Return up to ``limit`` sessions.

        Raises:
            InvalidRequest: ``page`` is no cursor of this listing.
        """
        caller.check_key()
        listing = f"sessions {caller.workspace_id} {wanted}"
        newest = Newest(tables.sessions, listing, oldest_first=wanted.oldest_first)
        conditions = newest.conditions(page, wanted.created_from, wanted.created_to)
        conditions += [_SESSIONS.workspace_id == caller.workspace_id, *_conditions(wanted)]
        with self._database.read() as connection:
            found = connection.execute(newest.query(select(tables.sessions), conditions, limit)).all()
            shown = _sessions(connection, found[:limit])
        return Page[Session](data=shown, next_page=newest.next_page(found, limit))

    def update(self, caller: Caller, session_id: str, wanted: UpdateSession) -> Session:
        """Change a session's title and metadata; asking for what it already says leaves ``updated_at`` alone.

        Raises:
            NotFound: There is no such session.
            InvalidRequest: It is archived, or the patched metadata would pass a limit.
        """
        caller.check_manages()
        with self._database.write() as connection:
            before = _existing(connection, caller, session_id, lock=True)
            if before.archived_at is not None:
                raise InvalidRequest(f"the session {session_id} is archived", remedy="Archiving has no way back")
            metadata = patched(unpacked(before.metadata), wanted.metadata or {})
            check_metadata(metadata)
            title = wanted.title if "title" in wanted.model_fields_set else before.title
            fields = {"title": title, "metadata": packed(metadata)}
            if fields != {name: getattr(before, name) for name in fields}:
                connection.execute(_change(session_id).values(updated_at=self._after(before), **fields))
            return _session(connection, _existing(connection, caller, session_id))

    def archive(self, caller: Caller, session_id: str) -> Session:
        """End a session: its token opens nothing any more. A second time changes nothing.

        Raises:
            NotFound: There is no such session.
        """
        caller.check_manages()
        with self._database.write() as connection:
            before = _existing(connection, caller, session_id, lock=True)
            if before.archived_at is None:
                at_us = self._after(before)
                connection.execute(_change(session_id).values(updated_at=at_us, archived_at=at_us))
                turns.note_end(connection, session_id)
            return _session(connection, _existing(connection, caller, session_id))

    def delete(self, caller: Caller, session_id: str) -> None:
        """Remove a session and its token; what it wrote, and that it wrote it, stays.

        Raises:
            NotFound: There is no such session.
        """
        caller.check_manages()
        with self._database.write() as connection:
            _existing(connection, caller, session_id, lock=True)
            connection.execute(delete(tables.sessions).where(_SESSIONS.id == session_id))
            turns.note_end(connection, session_id)

    def _after(self, before: AnyRow) -> int:
        """Return a moment later than the session's last change, whichever process made that."""
        last: int = before.updated_at
        return max(self._stamps.next(), last + 1)

    def _insert(
        self, connection: Connection, fields: dict[str, Any], attached: Iterable[dict[str, Any]], token: str
    ) -> str:
        at_us = self._stamps.next()
        session_id = identifier("sesn", at_us)
        moments = {"created_at": at_us, "updated_at": at_us}
        connection.execute(
            insert(tables.sessions).values(id=session_id, token_sha256=digest(token), **moments, **fields)
        )
        for row in attached:
            connection.execute(insert(tables.session_resources).values(session_id=session_id, **row))
        return session_id


def _fields(caller: Caller, wanted: CreateSession) -> dict[str, Any]:
    agent = wanted.agent
    agent_id, version = (agent, 1) if isinstance(agent, str) else (agent.id, agent.version)
    return {
        "workspace_id": caller.workspace_id, "created_by": caller.actor, "title": wanted.title,
        "metadata": packed(wanted.metadata), "agent_id": agent_id, "agent_version": version,
        "environment_id": wanted.environment_id,
    }  # fmt: skip


def _existing(connection: Connection, caller: Caller, session_id: str, *, lock: bool = False) -> AnyRow:
    query = select(tables.sessions).where(_SESSIONS.id == session_id, _SESSIONS.workspace_id == caller.workspace_id)
    found = None
    if rows.can_exist(session_id):
        found = connection.execute(query.with_for_update() if lock else query).first()
    if found is None:
        raise NotFound(f"there is no session {rows.shown(session_id)}")
    return found


def _change(session_id: str) -> Update:
    return update(tables.sessions).where(_SESSIONS.id == session_id)


def _conditions(wanted: SessionFilter) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = [false()] if wanted.nothing else []
    if not wanted.include_archived:
        found.append(_SESSIONS.archived_at.is_(None))
    if wanted.memory_store_id is not None:
        found.append(_SESSIONS.id.in_(attaching.sessions_with(wanted.memory_store_id)))
    if wanted.agent_id is not None:
        found.append(_SESSIONS.agent_id == wanted.agent_id if rows.can_exist(wanted.agent_id) else false())
        if wanted.agent_version is not None:
            found.append(_SESSIONS.agent_version == wanted.agent_version)
    return found


def _session(connection: Connection, row: AnyRow) -> Session:
    return _sessions(connection, [row])[0]


def _sessions(connection: Connection, found: Sequence[AnyRow]) -> list[Session]:
    resources = attaching.resources_of(connection, [row.id for row in found])
    return [
        Session(
            id=row.id,
            title=row.title,
            metadata=unpacked(row.metadata),
            agent=SessionAgent(id=row.agent_id, name=row.agent_id, version=row.agent_version),
            environment_id=row.environment_id,
            resources=resources[row.id],
            created_at=moment(row.created_at),
            updated_at=moment(row.updated_at),
            archived_at=None if row.archived_at is None else moment(row.archived_at),
        )
        for row in found
    ]
