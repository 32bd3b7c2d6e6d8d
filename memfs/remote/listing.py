"""A listing as pages: what every ``list_…`` of a remote returns, and where a wrapper can hold one page again.

Used by the implementations of `Remote` and by `Retrying`. A listing ends only after a page without ``next_page``: a
page that cannot be had raises, and asking again tries it again, so nothing ends early as if it were complete.
"""

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Generic, Self, TypeVar

from memfs.api.models import Page
from memfs.core.errors import RemoteUnavailable

Item = TypeVar("Item")


class Listing(Generic[Item]):
    """An asynchronous iterator over all items of all pages, in order.

    Args:
        fetch: Returns the page at a cursor, None being the first one. It may be called twice with the same cursor.
    """

    def __init__(self, fetch: Callable[[str | None], Awaitable[Page[Item]]]) -> None:
        self.fetch = fetch
        self._ready: deque[Item] = deque()
        self._cursor: str | None = None
        self._is_last = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Item:
        while not self._ready:
            if self._is_last:
                raise StopAsyncIteration
            await self._read_page()
        return self._ready.popleft()

    async def _read_page(self) -> None:
        page = await self.fetch(self._cursor)
        if page.next_page and page.next_page == self._cursor:
            raise RemoteUnavailable("the remote's listing does not move on: a page names itself as the next one")
        self._ready.extend(page.data)
        self._cursor = page.next_page or None
        self._is_last = self._cursor is None
