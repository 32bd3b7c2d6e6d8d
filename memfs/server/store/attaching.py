"""The stores of a session: which may be attached, where each is mounted, and how a session shows them.

Used by `memfs.server.store.sessions`, inside its transactions.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Select, false, select

from memfs.api.sessions import MemoryStoreResource, WantedResource
from memfs.core.attachment import Access
from memfs.core.errors import InvalidRequest, NotFound
from memfs.core.slug import slugs
from memfs.server.store import rows, tables
from memfs.server.store.callers import Caller

_MOUNTED = "/mnt/memory/"
_RESOURCES = tables.session_resources.c


def refuse_twice(wanted: Sequence[WantedResource]) -> None:
    """Raise InvalidRequest if a store is named twice."""
    seen: set[str] = set()
    for one in wanted:
        if one.memory_store_id in seen:
            raise InvalidRequest(
                f"the memory store {rows.shown(one.memory_store_id)} is named twice", remedy="Name each store once"
            )
        seen.add(one.memory_store_id)


def attach(connection: Connection, caller: Caller, wanted: Sequence[WantedResource]) -> list[dict[str, Any]]:
    """Return the rows of a session that is to have these stores, as they are now.

    Raises:
        InvalidRequest: A store is unknown.
        StoreReadOnly: A store is archived.
    """
    stores = [_attachable(connection, caller, one.memory_store_id) for one in wanted]
    names = slugs([(store.name, store.id) for store in stores])
    return [
        {
            "position": position,
            "store_id": store.id,
            "access": (one.access or Access.READ_WRITE).value,
            "instructions": one.instructions or "",
            "name": store.name,
            "description": store.description,
            "mount_path": _MOUNTED + name,
        }
        for position, (one, store, name) in enumerate(zip(wanted, stores, names, strict=True))
    ]


def sessions_with(store_id: str) -> Select[Any]:
    """Return the query of the ids of the sessions that have a store, be it deleted since."""
    return select(_RESOURCES.session_id).where(_RESOURCES.store_id == store_id if rows.can_exist(store_id) else false())


def resources_of(connection: Connection, session_ids: Sequence[str]) -> dict[str, list[MemoryStoreResource]]:
    """Return the stores of each of the sessions, in the order in which they were asked for."""
    query = select(tables.session_resources).where(_RESOURCES.session_id.in_(session_ids)).order_by(_RESOURCES.position)
    found: dict[str, list[MemoryStoreResource]] = {session_id: [] for session_id in session_ids}
    for row in connection.execute(query):
        found[row.session_id].append(
            MemoryStoreResource(
                memory_store_id=row.store_id,
                access=Access(row.access),
                instructions=row.instructions or None,
                name=row.name,
                description=row.description,
                mount_path=row.mount_path,
            )
        )
    return found


def _attachable(connection: Connection, caller: Caller, store_id: str) -> rows.AnyRow:
    try:
        store = rows.existing_store(connection, caller, store_id)
    except NotFound as missing:
        # It is the request that is wrong, not its address.
        raise InvalidRequest(missing.message, remedy="Name stores of the credential's workspace") from None
    rows.refuse_archived(store)
    return store
