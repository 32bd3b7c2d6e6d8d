"""Memory paths: `/memories` and what lies below it, decided before any file is touched.

Used by `commands`, so that no command runs on an unchecked path. Names follow the rules of store paths
(memfs.core.paths); beyond them everything that another decoder could read as a way out is refused: backslashes,
percent-encoded separators and dots (encoded any number of times), look-alike dots. Pure.
"""

import re
import unicodedata
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from memfs.agent.refusal import ToolFailure
from memfs.core.errors import InvalidPath, PathTooLong
from memfs.core.limits import Limits
from memfs.core.paths import check_local, parse

ROOT = "/memories"

_STORE = Limits()
# A root may hold one directory per store: then a path is /memories/<store> and the store's own path below it. The
# directory knows its exact limits and answers ENAMETOOLONG; these keep nonsense away from it.
_LIMITS = Limits(
    path_bytes=len(ROOT) + 1 + _STORE.segment_bytes + _STORE.path_bytes,
    segments=2 + _STORE.segments,
)
_MICROSOFT_ESCAPE = re.compile(rb"%u([0-9a-fA-F]{4})")
_MAX_ENCODINGS = 8
_SLASHES = str.maketrans(dict.fromkeys("\\\u2044\u2215", "/"))


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPath:
    """A checked path as the model knows it, and its names below the root (none for the root itself)."""

    text: str
    names: tuple[bytes, ...]

    def __str__(self) -> str:
        """Return the path as the model knows it."""
        return self.text

    def is_below(self, above: "MemoryPath") -> bool:
        """Tell whether this path lies inside ``above``, by whole names."""
        return len(self.names) > len(above.names) and self.names[: len(above.names)] == above.names


def memory_path(text: str) -> MemoryPath:
    """Check a path that a model sent; one trailing slash is dropped.

    Raises:
        ToolFailure: It is not `/memories`, not below it, or could be read as leading out of it.
    """
    plain = text.removesuffix("/")
    if plain != ROOT and not plain.startswith(ROOT + "/"):
        raise ToolFailure(f"Error: The path {shown(text)} is outside {ROOT}. Paths look like {ROOT}/notes.md")
    try:
        check_local(parse(plain, _LIMITS), _LIMITS)
    except (InvalidPath, PathTooLong) as error:
        raise ToolFailure(f"Error: The path {shown(text)} cannot be used: {error.message}") from None
    _refuse_disguise(plain)
    names = plain.split("/")[2:]
    return MemoryPath(text=plain, names=tuple(name.encode() for name in names))


def shown(text: str) -> str:
    """Return ``text`` as a message can carry it: on one line and not endless."""
    escaped = text if text.isprintable() else ascii(text)[1:-1]
    return escaped if len(escaped) <= 120 else f"{escaped[:100]}…"  # noqa: PLR2004  (a line of a message)


def _refuse_disguise(text: str) -> None:
    if "\\" in text:
        raise ToolFailure(f"Error: The path {shown(text)} has a backslash. Separate names with /")
    for reading in _decodings(text):
        if _leads_elsewhere(reading, text):
            raise ToolFailure(f"Error: The path {shown(text)} has an encoded separator, dot or control character")


def _decodings(text: str) -> list[bytes]:
    """Return the readings of a path by software that decodes it once, twice, …; the first is the path itself."""
    readings = [text.encode()]
    for _ in range(_MAX_ENCODINGS):
        decoded = _decoded(readings[-1])
        if decoded == readings[-1]:
            return readings
        readings.append(decoded)
    raise ToolFailure(f"Error: The path {shown(text)} is percent-encoded too many times")


def _decoded(raw: bytes) -> bytes:
    return unquote_to_bytes(_MICROSOFT_ESCAPE.sub(lambda found: chr(int(found[1], 16)).encode("utf-8", "replace"), raw))


def _leads_elsewhere(reading: bytes, original: str) -> bool:
    try:
        text = reading.decode()
    except UnicodeDecodeError:
        return True  # overlong forms of a dot or a slash (%c0%ae) come this way
    if text.count("/") != original.count("/") or "\\" in text:
        return True
    folded = unicodedata.normalize("NFKC", text).translate(_SLASHES)
    names = folded.split("/")
    return any(name in {".", ".."} for name in names) or any(ord(character) < ord(" ") for character in text)
