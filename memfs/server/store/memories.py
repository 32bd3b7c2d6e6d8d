"""Memories: create, read, change, delete, each with the version that it leaves.

Each method is one transaction, so what was checked still holds when it commits. Safe in any thread.
"""

from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from memfs.api.models import Memory, Operation, View
from memfs.core.errors import PathConflict, PreconditionFailed, StoreFull
from memfs.core.limits import Limits
from memfs.core.paths import StorePath
from memfs.server.store import rows, tables, turns
from memfs.server.store.callers import Caller
from memfs.server.store.database import Database
from memfs.server.store.occupancy import refuse_occupied
from memfs.server.store.stamps import Stamps, identifier
from memfs.server.store.stores import RETRY_WINDOW_US
from memfs.server.store.turns import Kind
from memfs.server.store.versions import Content, record

_MEMORIES = tables.memories.c
_VERSIONS = tables.versions.c
_LIVING = (
    select(tables.memories)
    .join(tables.stores, tables.stores.c.id == _MEMORIES.store_id)
    .where(
        _MEMORIES.id == bindparam("memory_id"),
        _MEMORIES.store_id == bindparam("store_id"),
        tables.stores.c.workspace_id == bindparam("workspace_id"),
    )
)
_LIVING_FULL = _LIVING.add_columns(_VERSIONS.content).join(tables.versions, _VERSIONS.id == _MEMORIES.version_id)
_INSERT = insert(tables.memories).returning(tables.memories)
_UPDATE = update(tables.memories).where(_MEMORIES.id == bindparam("memory_id")).returning(tables.memories)
_DELETE = delete(tables.memories).where(_MEMORIES.id == bindparam("memory_id"))


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryChange:
    """What an update asks for; None leaves a field as it is."""

    content: Content | None = None
    path: StorePath | None = None
    expect_sha256: str | None = None
    """The precondition: the digest of the current content."""


class Memories:
    """The memories of every store."""

    def __init__(self, database: Database, stamps: Stamps, limits: Limits) -> None:
        self._database = database
        self._stamps = stamps
        self._limits = limits

    def create(
        self, caller: Caller, store_id: str, path: StorePath, content: Content, *, view: View, is_retry: bool = False
    ) -> Memory:
        """Make a memory at a free path, or return the one that an attempt before this retry made.

        Raises:
            NotFound: There is no such store.
            StoreReadOnly: It is archived.
            PathConflict: The path is taken.
            StoreFull: The store holds as many memories as it may.
        """
        with self._database.write() as connection:
            store = rows.writable_store(connection, caller, store_id)
            try:
                refuse_occupied(connection, store_id, path)
            except PathConflict as conflict:
                if is_retry and self._made_before(connection, conflict, path, content, caller.actor):
                    return _answer(connection, store_id, conflict.conflicting_memory_id, view)
                raise
            self._refuse_full(store)
            made = self._insert(connection, store, path, content, caller.actor)
        return rows.memory(made, content.raw if view is View.FULL else None)

    def retrieve(self, caller: Caller, store_id: str, memory_id: str, *, view: View) -> Memory:
        """Return a living memory.

        Raises:
            NotFound: There is no such store, or it has no such memory.
        """
        found = self._living(caller, store_id, memory_id, view)
        if found is not None:
            return rows.memory(found, found.content if view is View.FULL else None)
        with self._database.read() as connection:
            rows.existing_store(connection, caller, store_id)
            return _answer(connection, store_id, memory_id, view)

    def check_writable(self, caller: Caller, store_id: str, memory_id: str) -> None:
        """Check that the memory exists and may be changed.

        Raises:
            NotFound: There is no such store, or it has no such memory.
            StoreReadOnly: The store is archived.
        """
        with self._database.read() as connection:
            store = rows.existing_store(connection, caller, store_id)
            caller.check_writes(store_id)
            rows.existing_memory(connection, store_id, memory_id)
            rows.refuse_archived(store)

    def update(self, caller: Caller, store_id: str, memory_id: str, change: MemoryChange, *, view: View) -> Memory:
        """Change a memory's content, path or both, and record one version; what is so already stays untouched.

        Raises:
            NotFound: There is no such store, or it has no such memory.
            StoreReadOnly: The store is archived.
            PreconditionFailed: The content is not the expected one, and the change would change something.
            PathConflict: The new path is taken.
        """
        with self._database.write() as connection:
            store = rows.written_store(connection, caller, store_id)
            before = rows.existing_memory(connection, store_id, memory_id)
            rows.refuse_archived(store)
            if _is_so_already(before, change):
                # A client whose answer was lost repeats itself: it must not be told that its own write came between.
                return _answer(connection, store_id, memory_id, view)
            _refuse_unexpected(before, change.expect_sha256)
            path = StorePath(before.path)
            if change.path is not None and change.path != path:
                path = change.path
                refuse_occupied(connection, store_id, path, besides=memory_id)
            content = change.content or Content(
                raw=rows.content_of(connection, before.version_id), sha256=before.content_sha256
            )
            after = self._modify(connection, store, before, path, content, caller.actor)
        return rows.memory(after, content.raw if view is View.FULL else None)

    def delete(
        self, caller: Caller, store_id: str, memory_id: str, *, expect_sha256: str | None, is_retry: bool = False
    ) -> None:
        """Delete a memory, also of an archived store; its history stays.

        Nothing is left to do where an attempt before this retry did it.

        Raises:
            NotFound: There is no such store, or it has no such memory.
            PreconditionFailed: The content is not the expected one.
        """
        with self._database.write() as connection:
            store = rows.written_store(connection, caller, store_id)
            if is_retry and self._deleted_before(connection, store_id, memory_id, caller.actor):
                return
            before = rows.existing_memory(connection, store_id, memory_id)
            _refuse_unexpected(before, expect_sha256)
            turn = turns.take(store, self._stamps)
            version_id = record(
                connection, turn, Operation.DELETED, memory_id=memory_id, path=StorePath(before.path), content=None,
                by=caller.actor,
            )  # fmt: skip
            connection.execute(_DELETE, {"memory_id": memory_id})
            turn.tell(connection, Kind.DELETED, memory_id=memory_id, version_id=version_id, difference=-1)

    def _living(self, caller: Caller, store_id: str, memory_id: str, view: View) -> rows.AnyRow | None:
        """Return a memory's row in one look, the content with it if it is shown; why there is none takes another."""
        if not (caller.sees(store_id) and rows.can_exist(store_id) and rows.can_exist(memory_id)):
            return None
        which = {"store_id": store_id, "memory_id": memory_id, "workspace_id": caller.workspace_id}
        return self._database.look(_LIVING_FULL if view is View.FULL else _LIVING, which)

    def _refuse_full(self, store: rows.AnyRow) -> None:
        if store.memories >= self._limits.memories:
            raise StoreFull(
                f"the memory store {store.id} is full: it holds {store.memories} memories",
                remedy="Delete memories, or use another store",
            )

    def _insert(
        self, connection: Connection, store: rows.AnyRow, path: StorePath, content: Content, by: str
    ) -> rows.AnyRow:
        turn = turns.take(store, self._stamps)
        at_us = turn.at_us
        memory_id = identifier("mem", at_us)
        version_id = record(
            connection, turn, Operation.CREATED, memory_id=memory_id, path=path, content=content, by=by
        )  # fmt: skip
        row = _head(path, version_id, content, at_us) | {"id": memory_id, "store_id": store.id, "created_at": at_us}
        made = connection.execute(_INSERT, row).one()
        turn.tell(connection, Kind.CREATED, memory_id=memory_id, version_id=version_id, difference=+1)
        return made

    def _modify(
        self,
        connection: Connection,
        store: rows.AnyRow,
        before: rows.AnyRow,
        path: StorePath,
        content: Content,
        by: str,
    ) -> rows.AnyRow:
        turn = turns.take(store, self._stamps)
        version_id = record(
            connection, turn, Operation.MODIFIED, memory_id=before.id, path=path, content=content, by=by
        )  # fmt: skip
        head = _head(path, version_id, content, turn.at_us)
        after = connection.execute(_UPDATE, head | {"memory_id": before.id}).one()
        turn.tell(connection, Kind.MODIFIED, memory_id=before.id, version_id=version_id)
        return after

    def _made_before(
        self, connection: Connection, conflict: PathConflict, path: StorePath, content: Content, by: str
    ) -> bool:
        """Tell whether the memory in the way is this very create, done by an attempt whose answer was lost."""
        since = self._stamps.now() - RETRY_WINDOW_US
        query = (
            select(_VERSIONS.id)
            .join(tables.memories, _MEMORIES.version_id == _VERSIONS.id)
            .where(_MEMORIES.id == conflict.conflicting_memory_id, _VERSIONS.operation == Operation.CREATED.value)
            .where(_VERSIONS.path == path, _VERSIONS.content_sha256 == content.sha256)
            .where(_VERSIONS.created_by == by, _VERSIONS.created_at >= since)
        )
        return connection.execute(query).first() is not None

    def _deleted_before(self, connection: Connection, store_id: str, memory_id: str, by: str) -> bool:
        """Tell whether the memory is gone by this very delete, done by an attempt whose answer was lost."""
        query = (
            select(_VERSIONS.id)
            .where(_VERSIONS.store_id == store_id, _VERSIONS.memory_id == memory_id)
            .where(_VERSIONS.operation == Operation.DELETED.value, _VERSIONS.created_by == by)
            .where(_VERSIONS.created_at >= self._stamps.now() - RETRY_WINDOW_US)
        )
        return rows.can_exist(memory_id) and connection.execute(query).first() is not None


def _head(path: StorePath, version_id: str, content: Content, at_us: int) -> dict[str, object]:
    """Return what a memory's row says of its head version."""
    return {
        "path": path,
        "version_id": version_id,
        "content_sha256": content.sha256,
        "content_size_bytes": len(content.raw),
        "updated_at": at_us,
    }


def _answer(connection: Connection, store_id: str, memory_id: str, view: View) -> Memory:
    row = rows.existing_memory(connection, store_id, memory_id)
    return rows.memory(row, rows.content_of(connection, row.version_id) if view is View.FULL else None)


def _is_so_already(before: rows.AnyRow, change: MemoryChange) -> bool:
    same_content = change.content is None or change.content.sha256 == before.content_sha256
    same_path = change.path is None or change.path == before.path
    return same_content and same_path


def _refuse_unexpected(before: rows.AnyRow, expect_sha256: str | None) -> None:
    if expect_sha256 is not None and expect_sha256 != before.content_sha256:
        raise PreconditionFailed(
            f"the memory {before.id} has the content_sha256 {before.content_sha256}, not {expect_sha256}",
            remedy="Read it again",
        )
