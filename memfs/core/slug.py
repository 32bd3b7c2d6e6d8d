"""The directory name of a store: section 7 of the Memory Stores API, clashes included."""

import re
from collections.abc import Sequence

_OTHER = re.compile("[^a-z0-9]+")


def slug(name: str, store_id: str) -> str:
    """Return the slug of a store's display name.

    ASCII letters go lower-case, every run of other characters becomes one hyphen, hyphens at the ends go. A name
    without an ASCII letter or digit takes the random part of the store's id.
    """
    lowered = "".join(c.lower() if c.isascii() else c for c in name)
    return _OTHER.sub("-", lowered).strip("-") or _OTHER.sub("-", store_id.rpartition("_")[2].lower()).strip("-")


def slugs(stores: Sequence[tuple[str, str]]) -> list[str]:
    """Return a slug for each (name, id), unique among them: the second of a kind gets ``-2``, the third ``-3``."""
    taken: set[str] = set()
    found = []
    for name, store_id in stores:
        base = candidate = slug(name, store_id)
        count = 1
        while candidate in taken:
            count += 1
            candidate = f"{base}-{count}"
        taken.add(candidate)
        found.append(candidate)
    return found
