"""Memory stores: make, read, list, change, archive, delete.

Each method is one transaction. Safe in any thread.
"""

from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select, update

from memfs.api.models import Page, Store
from memfs.api.requests import CreateStore, UpdateStore, check_metadata
from memfs.core.errors import NotFound
from memfs.server.store import erasing, rows, tables, turns
from memfs.server.store.callers import Caller
from memfs.server.store.database import Database
from memfs.server.store.metadata import packed, patched, unpacked
from memfs.server.store.newest import Newest
from memfs.server.store.stamps import Stamps, identifier
from memfs.server.store.turns import Kind

RETRY_WINDOW_US = 120_000_000
"""How long a repeated create may still mean the one whose answer was lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreFilter:
    """Which stores to list; moments are microseconds since 1970, inclusive."""

    created_from: int | None = None
    created_to: int | None = None
    include_archived: bool = False


class Stores:
    """The stores of the server."""

    def __init__(self, database: Database, stamps: Stamps) -> None:
        self._database = database
        self._stamps = stamps

    def create(self, caller: Caller, wanted: CreateStore, *, is_retry: bool = False) -> Store:
        """Make a store, or return the one that an attempt before this retry made."""
        caller.check_manages()
        check_metadata(wanted.metadata)
        fields = {
            "name": wanted.name, "description": wanted.description, "metadata": packed(wanted.metadata),
            "created_by": caller.actor, "workspace_id": caller.workspace_id,
        }  # fmt: skip
        with self._database.write() as connection:
            if is_retry and (made := self._made_before(connection, fields)) is not None:
                return made
            at_us = self._stamps.next()
            store_id = identifier("memstore", at_us)
            connection.execute(
                insert(tables.stores).values(
                    id=store_id, created_at=at_us, updated_at=at_us, memories=0, last_seq=0, last_at=at_us, feed_from=0,
                    **fields,
                )
            )  # fmt: skip
            return rows.store(rows.existing_store(connection, caller, store_id))

    def retrieve(self, caller: Caller, store_id: str) -> Store:
        """Return a store, archived or not.

        Raises:
            NotFound: There is none.
        """
        with self._database.read() as connection:
            return rows.store(rows.existing_store(connection, caller, store_id))

    def check_writable(self, caller: Caller, store_id: str) -> None:
        """Check that memories of the store may be written.

        Raises:
            NotFound: There is no such store.
            StoreReadOnly: It is archived.
        """
        with self._database.read() as connection:
            store = rows.existing_store(connection, caller, store_id)
            caller.check_writes(store_id)
            rows.refuse_archived(store)

    def update(self, caller: Caller, store_id: str, wanted: UpdateStore) -> Store:
        """Change a store's own fields; asking for what it already says leaves ``updated_at`` alone.

        Raises:
            NotFound: There is no such store.
            StoreReadOnly: It is archived.
            InvalidMetadata: The patched metadata would pass a limit.
        """
        with self._database.write() as connection:
            before = rows.existing_store(connection, caller, store_id, lock=True)
            caller.check_manages()
            rows.refuse_archived(before)
            metadata = patched(unpacked(before.metadata), wanted.metadata or {})
            check_metadata(metadata)
            fields = {
                "name": before.name if wanted.name is None else wanted.name,
                "description": before.description if wanted.description is None else wanted.description,
                "metadata": packed(metadata),
            }
            if fields == {name: getattr(before, name) for name in fields}:
                return rows.store(before)
            turn = turns.take(before, self._stamps)
            turn.tell(connection, Kind.STORE_UPDATED)
            return _change(connection, caller, store_id, updated_at=turn.at_us, **fields)

    def archive(self, caller: Caller, store_id: str) -> Store:
        """Let no memory of the store be written again; a second time changes nothing.

        Raises:
            NotFound: There is no such store.
        """
        with self._database.write() as connection:
            before = rows.existing_store(connection, caller, store_id, lock=True)
            caller.check_manages()
            if before.archived_at is not None:
                return rows.store(before)
            turn = turns.take(before, self._stamps)
            turn.tell(connection, Kind.STORE_ARCHIVED)
            return _change(connection, caller, store_id, updated_at=turn.at_us, archived_at=turn.at_us)

    def delete(self, caller: Caller, store_id: str) -> None:
        """Remove a store, its memories and their whole history, for good, also from the database's files.

        Raises:
            NotFound: There is no such store.
            RemoteUnavailable: It is removed and its bytes are not erased yet: the call may be repeated, and the server
                tries it again by itself.
        """
        try:
            with self._database.write() as connection:
                rows.existing_store(connection, caller, store_id, lock=True)
                caller.check_manages()
                connection.execute(delete(tables.stores).where(tables.stores.c.id == store_id))
                erasing.owe(connection)
                turns.note(connection, store_id)
        except NotFound:
            # Perhaps it was deleted by a request before, whose bytes could not be erased then.
            if caller.manages:
                self._database.settle()
            raise
        self._database.erase()

    def list(self, caller: Caller, wanted: StoreFilter, *, limit: int, page: str | None) -> Page[Store]:
        """Return up to ``limit`` stores, newest first."""
        newest = Newest(tables.stores, f"stores {caller.workspace_id} {wanted}")
        conditions = newest.conditions(page, wanted.created_from, wanted.created_to)
        conditions.append(tables.stores.c.workspace_id == caller.workspace_id)
        if caller.stores is not None:
            conditions.append(tables.stores.c.id.in_(caller.stores))
        if not wanted.include_archived:
            conditions.append(tables.stores.c.archived_at.is_(None))
        with self._database.read() as connection:
            found = connection.execute(newest.query(select(tables.stores), conditions, limit)).all()
        return Page[Store](data=[rows.store(row) for row in found[:limit]], next_page=newest.next_page(found, limit))

    def _made_before(self, connection: Connection, fields: dict[str, str]) -> Store | None:
        stores = tables.stores.c
        query = (
            select(tables.stores)
            .where(stores.created_at >= self._stamps.now() - RETRY_WINDOW_US, stores.updated_at == stores.created_at)
            .where(stores.last_seq == 0)  # one that is used already is somebody's
            .where(*(stores[name] == value for name, value in fields.items()))
            .order_by(stores.created_at.desc())
        )
        found = connection.execute(query.limit(1)).first()
        return None if found is None else rows.store(found)


def _change(connection: Connection, caller: Caller, store_id: str, **fields: object) -> Store:
    connection.execute(update(tables.stores).where(tables.stores.c.id == store_id).values(**fields))
    return rows.store(rows.existing_store(connection, caller, store_id))
