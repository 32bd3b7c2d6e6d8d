"""The history: write a version, list versions, read one, redact one.

Writing happens inside a transaction of `memfs.server.store.memories`. Safe in any thread.
"""

from dataclasses import dataclass
from typing import Self

from sqlalchemy import ColumnElement, Connection, bindparam, false, insert, select, update

from memfs.api.models import MemoryVersion, Operation, Page, View
from memfs.core.digest import content_sha256
from memfs.core.errors import InvalidRequest, NotFound
from memfs.core.paths import StorePath
from memfs.server.store import erasing, rows, tables, turns
from memfs.server.store.callers import Caller
from memfs.server.store.database import Database
from memfs.server.store.newest import Newest
from memfs.server.store.stamps import Stamps, identifier
from memfs.server.store.turns import Kind, Turn

_VERSIONS = tables.versions.c
_INSERT = insert(tables.versions)
_ONE = select(tables.versions).where(
    _VERSIONS.id == bindparam("version_id"), _VERSIONS.store_id == bindparam("store_id")
)
_BASIC = tuple(column for column in _VERSIONS if column.name != "content")
_HEAD_OF = select(tables.memories.c.id).where(
    tables.memories.c.id == bindparam("memory_id"), tables.memories.c.version_id == bindparam("version_id")
)
_REDACT = (
    update(tables.versions)
    .where(_VERSIONS.id == bindparam("version_id"))
    .values(path=None, content=None, content_sha256=None, content_size_bytes=None)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """A memory's bytes and their digest."""

    raw: bytes
    sha256: str

    @classmethod
    def of(cls, raw: bytes) -> Self:
        """Return the content of a memory that has these bytes."""
        return cls(raw=raw, sha256=content_sha256(raw))


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionFilter:
    """Which versions to list: all that meet every field given; moments are microseconds since 1970, inclusive."""

    memory_id: str | None = None
    operation: Operation | None = None
    api_key_id: str | None = None
    session_id: str | None = None
    service_account_id: str | None = None
    created_from: int | None = None
    created_to: int | None = None


def record(
    connection: Connection,
    turn: Turn,
    operation: Operation,
    *,
    memory_id: str,
    path: StorePath,
    content: Content | None,
    by: str,
) -> str:
    """Add a version and return its id. ``content`` None is a deletion."""
    version_id = identifier("memver", turn.at_us)
    row = {
        "id": version_id,
        "store_id": turn.store_id,
        "memory_id": memory_id,
        "operation": operation.value,
        "path": path,
        "content": None if content is None else content.raw,
        "content_sha256": None if content is None else content.sha256,
        "content_size_bytes": None if content is None else len(content.raw),
        "created_at": turn.at_us,
        "created_by": by,
    }
    connection.execute(_INSERT, row)
    return version_id


class Versions:
    """The versions of the memories of every store."""

    def __init__(self, database: Database, stamps: Stamps) -> None:
        self._database = database
        self._stamps = stamps

    def retrieve(self, caller: Caller, store_id: str, version_id: str, *, view: View) -> MemoryVersion:
        """Return one version.

        Raises:
            NotFound: There is no such store, or it has no such version.
        """
        with self._database.read() as connection:
            rows.existing_store(connection, caller, store_id)
            found = _existing(connection, store_id, version_id)
        return rows.version(found, found.content if view is View.FULL else None)

    def redact(self, caller: Caller, store_id: str, version_id: str) -> MemoryVersion:
        """Clear a version's content, path, digest and size for good; a second time changes nothing.

        When it returns, the database's files hold the bytes no more, unless another version has the same ones.

        Raises:
            NotFound: There is no such store, or it has no such version.
            InvalidRequest: The version is what a living memory holds now.
            RemoteUnavailable: It is redacted and its bytes are not erased yet: the call may be repeated.
        """
        with self._database.write() as connection:
            store = rows.existing_store(connection, caller, store_id, lock=True)
            caller.check_manages()
            found = _existing(connection, store_id, version_id)
            is_new = found.redacted_at is None
            if is_new:
                _refuse_head(connection, found)
                turn = turns.take(store, self._stamps)
                redaction = {"version_id": version_id, "redacted_at": turn.at_us, "redacted_by": caller.actor}
                connection.execute(_REDACT, redaction)
                erasing.owe(connection)
                turn.tell(connection, Kind.REDACTED, memory_id=found.memory_id, version_id=version_id)
                found = _existing(connection, store_id, version_id)
        # What came after a redaction of before may have failed.
        (self._database.erase if is_new else self._database.settle)()
        return rows.version(found, None)

    def list(
        self, caller: Caller, store_id: str, wanted: VersionFilter, *, view: View, limit: int, page: str | None
    ) -> Page[MemoryVersion]:
        """Return up to ``limit`` versions, newest first.

        Raises:
            NotFound: There is no such store.
            InvalidRequest: ``page`` is no cursor of this listing.
        """
        newest = Newest(tables.versions, f"versions {store_id} {wanted}")
        conditions = newest.conditions(page, wanted.created_from, wanted.created_to)
        conditions += [_VERSIONS.store_id == store_id, *_conditions(wanted)]
        columns = select(tables.versions) if view is View.FULL else select(*_BASIC)
        with self._database.read() as connection:
            rows.existing_store(connection, caller, store_id)
            found = connection.execute(newest.query(columns, conditions, limit)).all()
        shown = [rows.version(row, row.content if view is View.FULL else None) for row in found[:limit]]
        return Page[MemoryVersion](data=shown, next_page=newest.next_page(found, limit))


def _existing(connection: Connection, store_id: str, version_id: str) -> rows.AnyRow:
    which = {"version_id": version_id, "store_id": store_id}
    found = connection.execute(_ONE, which).first() if rows.can_exist(version_id) else None
    if found is None:
        raise NotFound(f"the memory store {rows.shown(store_id)} has no memory version {rows.shown(version_id)}")
    return found


def _refuse_head(connection: Connection, version: rows.AnyRow) -> None:
    head = connection.execute(_HEAD_OF, {"memory_id": version.memory_id, "version_id": version.id}).first()
    if head is not None:
        raise InvalidRequest(
            f"the version {version.id} is what the memory {version.memory_id} holds now",
            remedy="Change or delete the memory first",
        )


def _conditions(wanted: VersionFilter) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if wanted.memory_id is not None:
        found.append(_VERSIONS.memory_id == wanted.memory_id if rows.can_exist(wanted.memory_id) else false())
    if wanted.operation is not None:
        found.append(_VERSIONS.operation == wanted.operation.value)
    for prefix, actor in (
        ("apikey_", wanted.api_key_id),
        ("sesn_", wanted.session_id),
        ("svac_", wanted.service_account_id),
    ):
        if actor is not None:
            # One column holds actors of every kind: an id of another kind must match nothing here.
            found.append(
                _VERSIONS.created_by == actor if actor.startswith(prefix) and rows.can_exist(actor) else false()
            )
    return found
