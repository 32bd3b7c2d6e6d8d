"""Conflicts: who keeps the name, and where the losing bytes are kept beside it.

``/a/NAME.EXT`` becomes ``/a/NAME.conflict-<8 hex of the bytes' sha256>.EXT``. The worker names every conflict copy
here. The same bytes get the same name, and a conflict about a conflict copy gets a name of the original's kind, so
neither a repeated cycle nor two hosts can flood a store with copies.
"""

import re
from enum import StrEnum

from memfs.core.limits import Limits
from memfs.core.paths import DEFAULT_LIMITS, StorePath, name_of

DIGITS = (8, 16, 32, 64)
"""How much of the digest a name may carry: the next one where a shorter name is taken by other bytes."""


class ConflictPolicy(StrEnum):
    """What becomes of a path that both sides edited."""

    MERGE = "merge"
    """The edits are merged line by line; where they overlap, as `REMOTE`."""
    REMOTE = "remote"
    """The remote's bytes keep the name, the local ones go to a conflict copy."""
    LOCAL = "local"
    """The local bytes keep the name, the remote's go to a conflict copy."""


_MARK = re.compile(r"\.conflict-(?:[0-9a-f]{64}|[0-9a-f]{32}|[0-9a-f]{16}|[0-9a-f]{8})(?=\.[^.]*$|$)")
_LONGEST_EXTENSION_BYTES = 32


def conflict_path(
    path: StorePath, content_sha256: str, limits: Limits = DEFAULT_LIMITS, *, digits: int = DIGITS[0]
) -> StorePath:
    """Return where the bytes of ``content_sha256`` go that lost ``path``.

    The stem is shortened, on a character boundary, where the name would pass a segment's or the path's limit of bytes;
    in a directory too deep for any such name the copy goes to the nearest one above that has room.
    """
    mark = f".conflict-{content_sha256[:digits]}"
    stem, extension = _parts(original_name(path))
    directory = path.rpartition("/")[0]
    while True:
        room = min(limits.segment_bytes, limits.path_bytes - len(directory.encode()) - 1) - len(mark)
        if room > len(extension.encode()):
            return StorePath(f"{directory}/{_cut(stem, room - len(extension.encode()))}{mark}{extension}")
        if room >= _LONGEST_EXTENSION_BYTES or not directory:
            return StorePath(f"{directory}/{_cut(stem + extension, room)}{mark}")
        directory = directory.rpartition("/")[0]


def is_conflict_copy(path: StorePath) -> bool:
    """Tell whether the name is one that `conflict_path` makes."""
    return _MARK.search(name_of(path)) is not None


def original_name(path: StorePath) -> str:
    """Return the last segment without the mark of a conflict copy."""
    return _MARK.sub("", name_of(path), count=1) or name_of(path)


def _parts(name: str) -> tuple[str, str]:
    stem, dot, extension = name.rpartition(".")
    if not stem or len(extension.encode()) > _LONGEST_EXTENSION_BYTES:
        return name, ""
    return stem, dot + extension


def _cut(text: str, size_bytes: int) -> str:
    """Return the longest prefix of at most ``size_bytes``, never half a character and never nothing."""
    return text.encode()[:size_bytes].decode(errors="ignore") or "_"
