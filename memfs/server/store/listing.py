"""List the memories of a store by path, as far as one level or all the way down.

In the order of the paths' UTF-8 bytes, a prefix standing where the memories it groups stand. A page is read from one
state and begins after the last key of the page before, so that a memory that nobody touches while its store is listed
is neither left out nor repeated. Safe in any thread.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, select

from memfs.api.models import MemoryItem, MemoryPrefix, Page, View
from memfs.server.store import cursors, rows, tables
from memfs.server.store.callers import Caller
from memfs.server.store.database import Database
from memfs.server.store.occupancy import first_past

_MEMORIES = tables.memories.c
_NOTHING_BEFORE = "\x01"
"""Sorts before every character that a path may have: a path and this is the first text after the path."""


_BASIC = (
    select(tables.memories)
    .where(
        _MEMORIES.store_id == bindparam("store_id"),
        _MEMORIES.path >= bindparam("start"),
        _MEMORIES.path < bindparam("past"),
    )
    .order_by(_MEMORIES.path)
    .limit(bindparam("count"))
)
_FULL = _BASIC.add_columns(tables.versions.c.content).join(
    tables.versions, tables.versions.c.id == _MEMORIES.version_id
)


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
        self, caller: Caller, store_id: str, wanted: MemoryFilter, *, view: View, limit: int, page: str | None
    ) -> Page[MemoryItem]:
        """Return up to ``limit`` memories and prefixes.

        Raises:
            NotFound: There is no such store.
            InvalidRequest: ``page`` is no cursor of this listing.
        """
        # No path has a NUL, and not every engine can even be asked about one: the prefix of nothing stands for it.
        prefix = wanted.path_prefix.replace("\0", _NOTHING_BEFORE) or "/"
        listing = f"memories {store_id} {prefix} {wanted.direct_only}"
        start = prefix if page is None else max(prefix, _first_after(cursors.decode_text(listing, page)))
        span = _Span(store_id=store_id, prefix=prefix, direct_only=wanted.direct_only, view=view)
        with self._database.read() as connection:
            rows.existing_store(connection, caller, store_id)
            items = _collect(connection, span, start, limit + 1)
        next_page = cursors.encode(listing, (items[limit - 1].path,)) if len(items) > limit else None
        return Page[MemoryItem](data=items[:limit], next_page=next_page)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Span:
    """A stretch of paths, and how its rows are shown."""

    store_id: str
    prefix: str
    direct_only: bool
    view: View

    def read(self, connection: Connection, start: str, count: int) -> Sequence[rows.AnyRow]:
        """Return up to ``count`` rows from the text ``start`` on."""
        query = _FULL if self.view is View.FULL else _BASIC
        bound = {"store_id": self.store_id, "start": start, "past": first_past(self.prefix), "count": count}
        return connection.execute(query, bound).all()

    def item(self, row: rows.AnyRow) -> MemoryItem:
        """Return a row as the listing shows it."""
        slash = row.path.find("/", len(self.prefix)) if self.direct_only else -1
        if slash >= 0:
            return MemoryPrefix(path=row.path[: slash + 1])
        return rows.memory(row, row.content if self.view is View.FULL else None)


def _collect(connection: Connection, span: _Span, start: str, count: int) -> list[MemoryItem]:
    """Return up to ``count`` items from ``start`` on; rows that a prefix already stands for are jumped over."""
    items: list[MemoryItem] = []
    while len(items) < count:
        missing = count - len(items)
        found = span.read(connection, start, missing)
        for row in found:
            # Code points compare as their UTF-8 bytes do, so Python and the database agree on what comes after.
            if row.path >= start:
                items.append(span.item(row))
                start = _first_after(items[-1].path)
        if len(found) < missing:
            break
    return items


def _first_after(key: str) -> str:
    return first_past(key) if key.endswith("/") else key + _NOTHING_BEFORE
