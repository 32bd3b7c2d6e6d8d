"""What the three parts of the store share: looking a row up or refusing, and rows as objects of the wire.

Used inside a transaction of the caller's.
"""

import json
from typing import Any

from sqlalchemy import Connection, Row, bindparam, select

from memfs.api.models import Actor, ApiActor, Memory, MemoryVersion, Operation, SessionActor, Store
from memfs.core.errors import NotFound, StoreReadOnly
from memfs.server.store import tables
from memfs.server.store.callers import Caller
from memfs.server.store.stamps import moment

AnyRow = Row[Any]
_STORE = select(tables.stores).where(
    tables.stores.c.id == bindparam("store_id"), tables.stores.c.workspace_id == bindparam("workspace_id")
)
_STORE_LOCKED = _STORE.with_for_update()
_MEMORY = select(tables.memories).where(
    tables.memories.c.id == bindparam("memory_id"), tables.memories.c.store_id == bindparam("store_id")
)
_CONTENT = select(tables.versions.c.content).where(tables.versions.c.id == bindparam("version_id"))
_SHOWN = 80


def shown(identifier: str) -> str:
    """Return an id as a message can carry it, whatever was sent in its place."""
    return ascii(identifier[:_SHOWN])[1:-1]


def can_exist(identifier: str) -> bool:
    """Tell whether a row may have this id; not every engine can even be asked about every text."""
    return identifier.isascii() and identifier.isprintable()


def existing_store(connection: Connection, caller: Caller, store_id: str, *, lock: bool = False) -> AnyRow:
    """Return the store's row; with ``lock`` no other transaction changes the store before this one ends.

    Raises:
        NotFound: There is none for this caller.
    """
    found = None
    if caller.sees(store_id) and can_exist(store_id):
        which = {"store_id": store_id, "workspace_id": caller.workspace_id}
        found = connection.execute(_STORE_LOCKED if lock else _STORE, which).first()
    if found is None:
        raise NotFound(f"there is no memory store {shown(store_id)}")
    return found


def written_store(connection: Connection, caller: Caller, store_id: str) -> AnyRow:
    """Return the row of a store in which the caller writes, archived or not, locked until the transaction ends.

    Raises:
        NotFound: There is none for this caller.
        PermissionRefused: The caller may only read it.
    """
    found = existing_store(connection, caller, store_id, lock=True)
    caller.check_writes(store_id)
    return found


def writable_store(connection: Connection, caller: Caller, store_id: str) -> AnyRow:
    """Return the row of a store in which memories may be made and changed, locked until the transaction ends.

    Raises:
        NotFound: There is none for this caller.
        PermissionRefused: The caller may only read it.
        StoreReadOnly: It is archived.
    """
    found = written_store(connection, caller, store_id)
    refuse_archived(found)
    return found


def refuse_archived(store: AnyRow) -> None:
    """Raise StoreReadOnly if the store is archived."""
    if store.archived_at is not None:
        raise StoreReadOnly(
            f"the memory store {store.id} is archived", remedy="Archiving has no way back: use another store"
        )


def existing_memory(connection: Connection, store_id: str, memory_id: str) -> AnyRow:
    """Return the memory's row.

    Raises:
        NotFound: The store has no such memory.
    """
    which = {"store_id": store_id, "memory_id": memory_id}
    found = connection.execute(_MEMORY, which).first() if can_exist(memory_id) else None
    if found is None:
        raise NotFound(f"the memory store {shown(store_id)} has no memory {shown(memory_id)}")
    return found


def content_of(connection: Connection, version_id: str) -> bytes:
    """Return the bytes that a version holds."""
    content: bytes = connection.execute(_CONTENT, {"version_id": version_id}).scalar_one()
    return content


def store(row: AnyRow) -> Store:
    """Return a store's row as it is answered."""
    return Store(
        id=row.id,
        name=row.name,
        description=row.description,
        metadata=json.loads(row.metadata),
        created_at=moment(row.created_at),
        updated_at=moment(row.updated_at),
        archived_at=None if row.archived_at is None else moment(row.archived_at),
    )


def memory(row: AnyRow, content: bytes | None) -> Memory:
    """Return a memory's row as it is answered; ``content`` None is the basic view."""
    return Memory(
        id=row.id,
        memory_store_id=row.store_id,
        memory_version_id=row.version_id,
        path=row.path,
        content=None if content is None else content.decode(),
        content_sha256=row.content_sha256,
        content_size_bytes=row.content_size_bytes,
        created_at=moment(row.created_at),
        updated_at=moment(row.updated_at),
    )


def actor(identifier: str) -> Actor:
    """Return who wrote, by the prefix of the id."""
    return SessionActor(session_id=identifier) if identifier.startswith("sesn_") else ApiActor(api_key_id=identifier)


def version(row: AnyRow, content: bytes | None) -> MemoryVersion:
    """Return a version's row as it is answered; ``content`` None is the basic view, a deletion or redacted."""
    return MemoryVersion(
        id=row.id,
        memory_id=row.memory_id,
        memory_store_id=row.store_id,
        operation=Operation(row.operation),
        path=row.path,
        content=None if content is None else content.decode(),
        content_sha256=row.content_sha256,
        content_size_bytes=row.content_size_bytes,
        created_at=moment(row.created_at),
        created_by=actor(row.created_by),
        redacted_at=None if row.redacted_at is None else moment(row.redacted_at),
        redacted_by=None if row.redacted_by is None else actor(row.redacted_by),
    )
