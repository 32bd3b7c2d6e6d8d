"""The directory name of a store: section 7 of the Memory Stores API, clashes included."""

import re
from collections.abc import Sequence

_OTHER = re.compile("[^a-z0-9]+")
_NAME_BYTES = 255
_LAST_RESORT = "store"


def slug(name: str, store_id: str) -> str:
    """Return the slug of a store's display name.

    ASCII letters go lower-case, every run of other characters becomes one hyphen, hyphens at the ends go. A name
    without an ASCII letter or digit takes the random part of the store's id.
    """
    return _reduced(name) or _reduced(store_id.rpartition("_")[2]) or _LAST_RESORT


def slugs(stores: Sequence[tuple[str, str]]) -> list[str]:
    """Return a slug for each (name, id), unique among them: the second of a kind gets ``-2``, the third ``-3``."""
    taken: set[str] = set()
    found = []
    for name, store_id in stores:
        base = candidate = slug(name, store_id)
        count = 1
        while candidate in taken:
            count += 1
            candidate = _numbered(base, count)
        taken.add(candidate)
        found.append(candidate)
    return found


def _reduced(text: str) -> str:
    lowered = "".join(c.lower() if c.isascii() else c for c in text)
    return _OTHER.sub("-", lowered).strip("-")


def _numbered(base: str, count: int) -> str:
    """Return ``base-count``, shortened where a directory entry could not hold it."""
    suffix = f"-{count}"
    return base[: _NAME_BYTES - len(suffix)].rstrip("-") + suffix
