"""API keys: made, listed, revoked. The database keeps their digests; a key itself is told once, when it is made.

Used by the start of the server and by ``memfs keys``, beside running servers. Safe in any thread and in any number of
processes. Who opens the server with a key is told by `memfs.server.credentials`.
"""

import logging
from contextlib import suppress
from dataclasses import dataclass, field

from sqlalchemy import Connection, insert, select, update
from sqlalchemy.exc import IntegrityError

from memfs.core.attachment import Access
from memfs.core.errors import ConcurrentChange, ConfigError, InvalidRequest, NotFound
from memfs.server.store import rows, tables, turns
from memfs.server.store.database import Database
from memfs.server.store.stamps import Stamps, identifier, moment
from memfs.server.store.tokens import digest, new_key

FIRST_KEY = "first key"
"""How the name of a key begins that a server makes for itself; one in a database with others has its date too."""
_LOG = logging.getLogger(__name__)
NAME_CHARACTERS = 255
"""Of a key's or a workspace's name, at most."""
_KEYS = tables.api_keys.c
_WORKSPACES = tables.workspaces.c
_LISTED = select(tables.api_keys, _WORKSPACES.name.label("workspace")).join(
    tables.workspaces, _WORKSPACES.id == _KEYS.workspace_id
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A key as it is listed: all but the key itself. Moments are microseconds since 1970."""

    id: str
    name: str
    workspace_id: str
    workspace: str
    """The workspace's name."""
    access: Access
    created_at: int
    revoked_at: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A key that was just made, and the one chance to read it."""

    key: ApiKey
    token: str = field(repr=False)
    is_new_workspace: bool
    """Its workspace was made with it."""


class Keys:
    """The keys of a database.

    Args:
        database: Where they are.
        stamps: For the ids and moments of new ones.
    """

    def __init__(self, database: Database, stamps: Stamps) -> None:
        self._database = database
        self._stamps = stamps

    def ensure(self, token: str) -> str:
        """Make a key of the first workspace known if it is not, and return its id.

        Raises:
            ConfigError: It is revoked. A start of the server must not bring it back to life.
        """
        which = select(tables.api_keys).where(_KEYS.token_sha256 == digest(token))
        # One that another process makes known in this moment is as good.
        with suppress(IntegrityError), self._database.write() as connection:
            if connection.execute(which).first() is None:
                return self._add_first(connection, token)
        with self._database.read() as connection:
            found = connection.execute(which).one()
        if found.revoked_at is not None:
            raise ConfigError(
                f"the API key of the data directory ({found.id}) is revoked",
                remedy="Put another key into its api-key file, or remove the file to get a new one",
            )
        key_id: str = found.id
        return key_id

    def create(self, name: str, *, workspace: str | None = None, access: Access = Access.READ_WRITE) -> NewKey:
        """Make a key.

        Args:
            name: For people; need not be unique.
            workspace: Name of the workspace it belongs to, made if there is none; None is the first one.
            access: What it may do.

        Raises:
            InvalidRequest: A name is empty, too long or has characters that are not printed.
            ConcurrentChange: Another process made the workspace in this moment.
        """
        _check_name("key", name)
        if workspace is not None:
            _check_name("workspace", workspace)
        token = new_key()
        try:
            with self._database.write() as connection:
                workspace_id, is_new = self._workspace(connection, workspace)
                key_id = self._add(connection, token, workspace_id, name=name, access=access)
                made = _key(connection.execute(_LISTED.where(_KEYS.id == key_id)).one())
        except IntegrityError:
            raise ConcurrentChange(f"the workspace {workspace!a} is being made", remedy="Repeat the command") from None
        return NewKey(key=made, token=token, is_new_workspace=is_new)

    def list(self) -> list[ApiKey]:
        """Return every key, the oldest first, revoked ones too."""
        with self._database.read() as connection:
            found = connection.execute(_LISTED.order_by(_KEYS.created_at, _KEYS.id)).all()
        return [_key(row) for row in found]

    def revoke(self, key_id: str) -> ApiKey:
        """Let a key open the server no more; a second time changes nothing.

        Raises:
            NotFound: There is no such key.
        """
        which = _LISTED.where(_KEYS.id == key_id)
        with self._database.write() as connection:
            found = connection.execute(which).first() if rows.can_exist(key_id) else None
            if found is None:
                raise NotFound(f"there is no API key {rows.shown(key_id)}", remedy="`memfs keys list` shows their ids")
            if found.revoked_at is None:
                change = update(tables.api_keys).where(_KEYS.id == key_id, _KEYS.revoked_at.is_(None))
                connection.execute(change.values(revoked_at=self._stamps.next()))
                turns.note_end(connection, key_id)
                found = connection.execute(which).one()
            return _key(found)

    def _add_first(self, connection: Connection, token: str) -> str:
        name = FIRST_KEY
        if connection.execute(select(_KEYS.id).limit(1)).first() is not None:
            # As after a restore, in which the key of before has that name.
            name = f"{FIRST_KEY} of {moment(self._stamps.now()):%Y-%m-%d}"
        workspace_id = _first_workspace(connection).id
        key_id = self._add(connection, token, workspace_id, name=name, access=Access.READ_WRITE)
        if name != FIRST_KEY:
            _LOG.info("the key in the data directory's api-key was not known yet: it is %s, %s", key_id, name)
        return key_id

    def _add(self, connection: Connection, token: str, workspace_id: str, *, name: str, access: Access) -> str:
        at_us = self._stamps.next()
        key_id = identifier("apikey", at_us)
        connection.execute(
            insert(tables.api_keys).values(
                id=key_id, workspace_id=workspace_id, name=name, token_sha256=digest(token), access=access.value,
                created_at=at_us,
            )
        )  # fmt: skip
        return key_id

    def _workspace(self, connection: Connection, name: str | None) -> tuple[str, bool]:
        """Return the id of a workspace, and whether it had to be made."""
        if name is None:
            return _first_workspace(connection).id, False
        found: str | None = connection.scalar(select(_WORKSPACES.id).where(_WORKSPACES.name == name))
        if found is not None:
            return found, False
        at_us = self._stamps.next()
        made = identifier("wrkspc", at_us)
        connection.execute(insert(tables.workspaces).values(id=made, name=name, created_at=at_us))
        return made, True


def _first_workspace(connection: Connection) -> rows.AnyRow:
    """Return the workspace that every database has, the oldest one."""
    return connection.execute(select(tables.workspaces).order_by(_WORKSPACES.created_at, _WORKSPACES.id).limit(1)).one()


def _key(row: rows.AnyRow) -> ApiKey:
    return ApiKey(
        id=row.id, name=row.name, workspace_id=row.workspace_id, workspace=row.workspace, access=Access(row.access),
        created_at=row.created_at, revoked_at=row.revoked_at,
    )  # fmt: skip


def _check_name(what: str, name: str) -> None:
    if not 1 <= len(name) <= NAME_CHARACTERS or not name.isprintable():
        raise InvalidRequest(
            f"the name of a {what} must have 1 to {NAME_CHARACTERS} characters that can be printed",
            remedy="Choose another name",
        )
