"""The change feed, read: what happened in a store after a place, oldest first.

A cursor is a place in one store's changes and the epoch of the database: after a restore from a backup the same place
means something else. Safe in any thread.
"""

from sqlalchemy import Connection, bindparam, select

from memfs.api.changes import REDACTED, ChangesPage, MemoryChange
from memfs.core.errors import ChangeCursorExpired, InvalidRequest
from memfs.server.store import cursors, rows, tables
from memfs.server.store.callers import Caller
from memfs.server.store.database import Database
from memfs.server.store.stamps import moment

_CHANGES = tables.changes.c
_VERSIONS = tables.versions.c
_EPOCH = select(tables.server.c.epoch)
_AFTER = (
    select(
        tables.changes,
        _VERSIONS.path,
        _VERSIONS.content_sha256,
        _VERSIONS.content_size_bytes,
        _VERSIONS.created_by,
        _VERSIONS.redacted_by,
    )
    .join_from(tables.changes, tables.versions, _VERSIONS.id == _CHANGES.version_id, isouter=True)
    .where(_CHANGES.store_id == bindparam("store_id"), _CHANGES.seq > bindparam("seq"))
    .order_by(_CHANGES.seq)
    .limit(bindparam("count"))
)


class Changes:
    """The feeds of every store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def page(self, caller: Caller, store_id: str, *, after: str | None, limit: int) -> ChangesPage:
        """Return up to ``limit`` changes after a cursor; without one no changes, and the cursor of now.

        Raises:
            NotFound: There is no such store.
            InvalidRequest: ``after`` is no cursor of this store's feed.
            ChangeCursorExpired: What came after it is not known any more.
        """
        listing = f"changes {store_id}"
        with self._database.read() as connection:
            store = rows.existing_store(connection, caller, store_id)
            epoch: str = connection.execute(_EPOCH).scalar_one()
            if after is None:
                return ChangesPage(data=[], next=cursors.encode(listing, (store.last_seq, epoch)), has_more=False)
            seq, of_epoch = _place(listing, after)
            if of_epoch != epoch or not store.feed_from <= seq <= store.last_seq:
                raise ChangeCursorExpired(
                    "the changes after this cursor are not kept any more", remedy="List the store again"
                )
            found = self._after(connection, store, seq, limit)
        last = found[-1].seq if found else seq
        return ChangesPage(
            data=[_change(row) for row in found],
            next=cursors.encode(listing, (last, epoch)),
            has_more=last < store.last_seq,
        )

    def _after(self, connection: Connection, store: rows.AnyRow, seq: int, limit: int) -> list[rows.AnyRow]:
        if seq == store.last_seq:
            return []
        return list(connection.execute(_AFTER, {"store_id": store.id, "seq": seq, "count": limit}))


def _place(listing: str, after: str) -> tuple[int, str]:
    try:
        return cursors.decode_moment(listing, after)
    except InvalidRequest:
        raise InvalidRequest(
            "after is no cursor of this store's changes", remedy="Ask without after, then list the store"
        ) from None


def _change(row: rows.AnyRow) -> MemoryChange:
    by = row.redacted_by if row.kind == REDACTED else row.created_by
    return MemoryChange(
        kind=row.kind,
        memory_id=row.memory_id,
        memory_version_id=row.version_id,
        path=row.path,
        content_sha256=row.content_sha256,
        content_size_bytes=row.content_size_bytes,
        created_at=moment(row.created_at),
        created_by=None if by is None else rows.actor(by),
    )
