"""Store paths: what may name a memory, decided once at the boundary.

A store path is ``/a/b.md``: case-sensitive, NFC, 1 to 20 segments, at most 1,024 UTF-8 bytes, no ``.`` or ``..``, no
control, format or line-separating character. Rules: section 5 of the Memory Stores API; they refuse, never convert.
The wire allows a segment of more than 255 bytes (`parse`); a directory entry does not (`check_local`).
"""

import unicodedata
from typing import NewType

from memfs.core.errors import InvalidPath, PathTooLong
from memfs.core.limits import Limits

StorePath = NewType("StorePath", str)
"""A checked store path: only `parse` and the functions below make one."""

DEFAULT_LIMITS = Limits()
RESERVED_PATH = "/.anthropic-memory-store"
"""The marker that the SDK's own worker keeps in a folder: never a memory."""

_FORBIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Zl", "Zp", "Cs"})


def parse(text: str, limits: Limits = DEFAULT_LIMITS) -> StorePath:
    """Check ``text`` against every rule of a store path on the wire.

    Raises:
        InvalidPath: A character, a segment or the shape is not allowed.
        PathTooLong: More bytes or segments than allowed.
    """
    if not text.startswith("/"):
        raise InvalidPath(f"the path {_shown(text)} must start with /")
    names = text[1:].split("/")
    for name in names:
        _check_name(name, text)
    if len(names) > limits.segments:
        raise PathTooLong(f"the path {_shown(text)} has {len(names)} segments; at most {limits.segments} are allowed")
    length = len(text.encode())
    if length > limits.path_bytes:
        raise PathTooLong(f"the path {_shown(text)} has {length} bytes; at most {limits.path_bytes} are allowed")
    if text == RESERVED_PATH:
        raise InvalidPath(f"the path {RESERVED_PATH} is reserved for the SDK's own worker")
    return StorePath(text)


def check_local(path: StorePath, limits: Limits = DEFAULT_LIMITS) -> StorePath:
    """Check that a directory on disk can hold the path: no segment past 255 bytes.

    Raises:
        PathTooLong: A segment is longer than a file name may be.
    """
    for name in segments(path):
        if len(name.encode()) > limits.segment_bytes:
            raise PathTooLong(f"the name {_shown(name)} passes {limits.segment_bytes} bytes")
    return path


def from_local(relative: bytes, limits: Limits = DEFAULT_LIMITS) -> StorePath:
    """Return the store path of a file at ``relative`` (``b"a/b.md"``) below a tree.

    Raises:
        InvalidPath: It is not UTF-8 or breaks a rule.
        PathTooLong: It is too long or too deep.
    """
    try:
        text = relative.decode()
    except UnicodeDecodeError:
        raise InvalidPath(f"the name {relative[:40]!r} is not UTF-8", remedy="Rename it to a UTF-8 name") from None
    return check_local(parse("/" + text, limits), limits)


def segments(path: StorePath) -> list[str]:
    """Return the names from the root down."""
    return path[1:].split("/")


def relative(path: StorePath) -> str:
    """Return the path below a tree, without the leading slash."""
    return path[1:]


def name_of(path: StorePath) -> str:
    """Return the last segment."""
    return path.rpartition("/")[2]


def ancestors(path: StorePath) -> list[StorePath]:
    """Return the paths above ``path``, nearest first; the root is not one of them."""
    found = []
    above = path.rpartition("/")[0]
    while above:
        found.append(StorePath(above))
        above = above.rpartition("/")[0]
    return found


def is_below(path: str, above: str) -> bool:
    """Tell whether ``path`` lies below the directory ``above``, by whole segments."""
    return path.startswith(above.rstrip("/") + "/")


def _check_name(name: str, whole: str) -> None:
    if not name:
        raise InvalidPath(f"the path {_shown(whole)} has an empty segment")
    if name in {".", ".."}:
        raise InvalidPath(f"the path {_shown(whole)} has the segment {name}")
    if name.isascii() and name.isprintable():
        return
    for character in name:
        if unicodedata.category(character) in _FORBIDDEN_CATEGORIES:
            raise InvalidPath(f"the path {_shown(whole)} has the forbidden character U+{ord(character):04X}")
    if not unicodedata.is_normalized("NFC", name):
        raise InvalidPath(f"the path {_shown(whole)} is not in Unicode NFC", remedy="Normalise the name to NFC")


def _shown(text: str) -> str:
    """Return ``text`` as a message can carry it: escaped and not endless."""
    escaped = ascii(text)
    return escaped if len(escaped) <= 120 else f"{escaped[:100]}…'"  # noqa: PLR2004  (a line of a terminal)
