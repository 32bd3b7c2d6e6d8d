"""Listings by the moment of creation, the newest first unless asked otherwise: order, window and cursors.

A row that is not touched while its listing is paged is neither left out nor repeated: a page begins strictly past the
last key, and what is written meanwhile has a later one than all that were there. Values only.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, Table, tuple_

from memfs.server.store import cursors
from memfs.server.store.rows import AnyRow


class Newest:
    """A listing of ``table`` by ``created_at`` and ``id``, both descending, or both ascending.

    Args:
        table: It has both columns and an index that ends with them.
        listing: What its cursors belong to: the endpoint, the store, the filters, the order.
        oldest_first: Ascending.
    """

    def __init__(self, table: Table, listing: str, *, oldest_first: bool = False) -> None:
        self._created_at = table.c.created_at
        self._id = table.c.id
        self._listing = listing
        self._oldest_first = oldest_first

    def conditions(
        self, page: str | None, created_from: int | None, created_to: int | None
    ) -> list[ColumnElement[bool]]:
        """Return what a row must meet to be on the page or after it.

        Raises:
            InvalidRequest: ``page`` is no cursor of this listing.
        """
        found: list[ColumnElement[bool]] = []
        if page is not None:
            key, last = tuple_(self._created_at, self._id), cursors.decode_moment(self._listing, page)
            found.append(key > last if self._oldest_first else key < last)
        if created_from is not None:
            found.append(self._created_at >= created_from)
        if created_to is not None:
            found.append(self._created_at <= created_to)
        return found

    def query(self, query: Select[Any], conditions: Sequence[ColumnElement[bool]], limit: int) -> Select[Any]:
        """Return the query of a page and of one row more, which tells whether there is a next one."""
        key = (self._created_at, self._id)
        order = key if self._oldest_first else tuple(column.desc() for column in key)
        return query.where(*conditions).order_by(*order).limit(limit + 1)

    def next_page(self, found: Sequence[AnyRow], limit: int) -> str | None:
        """Return the cursor of the page after this one, or None after the last."""
        if len(found) <= limit:
            return None
        last = found[limit - 1]
        return cursors.encode(self._listing, (last.created_at, last.id))
