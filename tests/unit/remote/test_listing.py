"""A listing ends only where the remote said that it ends."""

import pytest

from memfs.api.models import Page
from memfs.core.errors import RemoteUnavailable
from memfs.remote.listing import Listing

pytestmark = pytest.mark.anyio


def listing_of(pages: dict[str | None, Page[int] | Exception]) -> Listing[int]:
    async def fetch(cursor: str | None) -> Page[int]:
        page = pages[cursor]
        if isinstance(page, Exception):
            raise page
        return page

    return Listing(fetch)


async def test_pages_are_joined_in_order() -> None:
    pages = {None: Page(data=[1, 2], next_page="p2"), "p2": Page(data=[3])}

    assert [1, 2, 3] == [item async for item in listing_of(pages)]


@pytest.mark.parametrize("end", [None, ""], ids=["null", "empty"])
async def test_an_empty_page_in_between_is_no_end(end: str | None) -> None:
    pages = {None: Page(data=[], next_page="p2"), "p2": Page(data=[3], next_page=end)}

    assert [3] == [item async for item in listing_of(pages)]


async def test_a_page_that_cannot_be_had_raises_every_time_until_it_can() -> None:
    pages: dict[str | None, Page[int] | Exception] = {
        None: Page(data=[1], next_page="p2"),
        "p2": RemoteUnavailable("gone"),
    }
    listing = listing_of(pages)

    assert 1 == await anext(listing)
    for _ in range(2):
        with pytest.raises(RemoteUnavailable):
            await anext(listing)
    pages["p2"] = Page(data=[2])
    assert [2] == [item async for item in listing]


async def test_a_page_that_names_itself_as_the_next_one_is_no_answer() -> None:
    pages = {None: Page(data=[1], next_page="p2"), "p2": Page(data=[2], next_page="p2")}

    with pytest.raises(RemoteUnavailable, match="does not move on"):
        [item async for item in listing_of(pages)]
