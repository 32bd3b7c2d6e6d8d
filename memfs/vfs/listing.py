"""The names of one directory in a stable order: each keeps its cookie for as long as it exists.

Cookies only grow, so a reader that goes on after one meets every name that was there all the time exactly once,
whatever else comes and goes. Pure; one listing belongs to one directory of the inode table.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from itertools import islice

from memfs.vfs.values import DirectoryEntry

SELF, PARENT = 1, 2
"""The cookies of ``.`` and ``..``."""


class Listing:
    """Names with their cookies, in the order of the cookies."""

    def __init__(self) -> None:
        self._cookies: dict[bytes, int] = {}
        self._entries: list[DirectoryEntry] = []
        self._order: list[int] = []
        self._last = PARENT

    def refresh(self, names: Mapping[bytes, tuple[int, int]]) -> None:
        """Take over which names there are now, each with its inode and mode."""
        cookies = {name: cookie for name, cookie in self._cookies.items() if name in names}
        for name in names:
            if name not in cookies:
                self._last += 1
                cookies[name] = self._last
        self._cookies = cookies
        self._entries = [DirectoryEntry(name, *names[name], cookie) for name, cookie in cookies.items()]
        self._order = list(cookies.values())

    def after(self, cookie: int) -> Iterator[DirectoryEntry]:
        """Return what comes after ``cookie``, as it is now."""
        return islice(self._entries, bisect_right(self._order, cookie), None)
