"""List the memories of a store by path, as far as one level or all the way down.

In the order of the paths' UTF-8 bytes, a prefix standing where the memories it groups stand. A page is read from one
state and begins after the last key of the page before, so that a memory that nobody touches while its store is listed
is neither left out nor repeated. Safe in any thread.
"""

from dataclasses import dataclass

from sqlalchemy import Connection, Select, select

from memfs.api.models import MemoryItem, MemoryPrefix, Page, View
from memfs.server.store import cursors, rows, tables
from memfs.server.store.database import Database
from memfs.server.store.occupancy import first_past

_MEMORIES = tables.memories.c
_NOTHING_BEFORE = "\x01"
"""Sorts before every character that a path may have: a path and this is the first text after the path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFilter:
    """Which memories to list, and how deep."""

    path_prefix: str = ""
    """Ends with a slash, or is empty for the whole store. Compared as it is."""
    direct_only: bool = False
    """Show what lies deeper than one segment as one prefix per segment."""


class Listing:
    """The listings of the memories of every store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def list(
        self, store_id: str, wanted: MemoryFilter, *, view: View, limit: int, page: str | None
    ) -> Page[MemoryItem]:
        """Return up to ``limit`` memories and prefixes.

        Raises:
            NotFound: There is no such store.
            InvalidRequest: ``page`` is no cursor of this listing.
        """
        prefix = wanted.path_prefix or "/"
        listing = f"memories {store_id} {prefix} {wanted.direct_only}"
        start = prefix if page is None else max(prefix, _first_after(cursors.decode_text(listing, page)))
        with self._database.read() as connection:
            rows.existing_store(connection, store_id)
            query = _query(store_id, view).where(_MEMORIES.path < first_past(prefix))
            depth_of = len(prefix) if wanted.direct_only else None
            items = _collect(connection, query, start, depth_of, limit + 1)
        more = len(items) > limit
        return Page[MemoryItem](
            data=items[:limit], next_page=cursors.encode(listing, (items[limit - 1].path,)) if more else None
        )


def _query(store_id: str, view: View) -> Select[tuple[object, ...]]:
    head = tables.versions.c
    query = select(tables.memories) if view is View.BASIC else select(tables.memories, head.content)
    if view is View.FULL:
        query = query.join(tables.versions, head.id == _MEMORIES.version_id)
    return query.where(_MEMORIES.store_id == store_id).order_by(_MEMORIES.path)


def _collect(
    connection: Connection, query: Select[tuple[object, ...]], start: str, depth_of: int | None, count: int
) -> list[MemoryItem]:
    """Return up to ``count`` items from ``start`` on; rows that a prefix already stands for are jumped over."""
    items: list[MemoryItem] = []
    while len(items) < count:
        missing = count - len(items)
        found = connection.execute(query.where(_MEMORIES.path >= start).limit(missing)).all()
        for row in found:
            if row.path >= start:
                items.append(_item(row, depth_of))
                start = _first_after(items[-1].path)
        if len(found) < missing:
            break
    return items


def _item(row: rows.AnyRow, depth_of: int | None) -> MemoryItem:
    slash = -1 if depth_of is None else row.path.find("/", depth_of)
    if slash >= 0:
        return MemoryPrefix(path=row.path[: slash + 1])
    return rows.memory(row, row._mapping.get("content"))  # noqa: SLF001  (SQLAlchemy's public name for a row as a map)


def _first_after(key: str) -> str:
    return first_past(key) if key.endswith("/") else key + _NOTHING_BEFORE
