"""Listings: cookies only grow, and a name keeps its own."""

import stat

from hypothesis import given
from hypothesis import strategies as st

from memfs.vfs.listing import Listing
from memfs.vfs.values import DirectoryEntry


def names(*which: str) -> dict[bytes, tuple[int, int]]:
    return {name.encode(): (ord(name[0]), stat.S_IFREG) for name in which}


def listed(listing: Listing, cookie: int) -> list[str]:
    return [entry.name.decode() for entry in listing.after(cookie)]


def test_names_come_after_the_two_dots_in_a_fixed_order() -> None:
    listing = Listing()

    listing.refresh(names("b", "a"))

    expected = [DirectoryEntry(b"b", 98, stat.S_IFREG, 3), DirectoryEntry(b"a", 97, stat.S_IFREG, 4)]
    assert expected == list(listing.after(0))


def test_a_reader_goes_on_where_it_was() -> None:
    listing = Listing()
    listing.refresh(names("a", "b", "c"))

    listing.refresh(names("c", "d", "b"))

    assert listed(listing, 3) == ["b", "c", "d"]
    assert listed(listing, 4) == ["c", "d"]
    assert listed(listing, 6) == []


def test_a_cookie_is_never_given_twice() -> None:
    listing = Listing()
    listing.refresh(names("a"))
    listing.refresh(names())
    listing.refresh(names("a"))

    assert [entry.cookie for entry in listing.after(0)] == [4]


@given(st.lists(st.sets(st.sampled_from("abcdefgh")), min_size=1, max_size=8), st.integers(1, 3))
def test_an_untouched_name_is_met_exactly_once(states: list[set[str]], batch: int) -> None:
    listing = Listing()
    seen: list[str] = []
    cookie = 0
    for state in [*states, *[states[-1]] * 9]:
        listing.refresh(names(*sorted(state)))
        for entry, _ in zip(listing.after(cookie), range(batch), strict=False):
            seen.append(entry.name.decode())
            cookie = entry.cookie

    for name in set.intersection(*states):
        assert seen.count(name) == 1
