"""Listings that show the newest first: their order, their window of time, and their cursors.

A row that is not touched while its listing is paged is neither left out nor repeated: a page begins strictly below
the last key, and what is written meanwhile sorts above it. Values only.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, Table, tuple_

from memfs.server.store import cursors
from memfs.server.store.rows import AnyRow


class Newest:
    """A listing of ``table`` by ``created_at`` and ``id``, both descending.

    Args:
        table: It has both columns and an index that ends with them.
        listing: What its cursors belong to: the endpoint, the store, the filters.
    """

    def __init__(self, table: Table, listing: str) -> None:
        self._created_at = table.c.created_at
        self._id = table.c.id
        self._listing = listing

    def conditions(
        self, page: str | None, created_from: int | None, created_to: int | None
    ) -> list[ColumnElement[bool]]:
        """Return what a row must meet to be on the page or after it.

        Raises:
            InvalidRequest: ``page`` is no cursor of this listing.
        """
        found: list[ColumnElement[bool]] = []
        if page is not None:
            found.append(tuple_(self._created_at, self._id) < cursors.decode_moment(self._listing, page))
        if created_from is not None:
            found.append(self._created_at >= created_from)
        if created_to is not None:
            found.append(self._created_at <= created_to)
        return found

    def query(self, query: Select[Any], conditions: Sequence[ColumnElement[bool]], limit: int) -> Select[Any]:
        """Return the query of a page and of one row more, which tells whether there is a next one."""
        return query.where(*conditions).order_by(self._created_at.desc(), self._id.desc()).limit(limit + 1)

    def next_page(self, found: Sequence[AnyRow], limit: int) -> str | None:
        """Return the cursor of the page after this one, or None after the last."""
        if len(found) <= limit:
            return None
        last = found[limit - 1]
        return cursors.encode(self._listing, (last.created_at, last.id))
