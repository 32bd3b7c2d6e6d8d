"""Edits and views of text: pure, and exact to the byte.

Used by `tool`. Lines end at LF and nowhere else; a CR before it belongs to the line and stays. Nothing is normalised:
what an edit does not name is the same afterwards, the end of the file with or without its newline too. UTF-8 decodes
and encodes one to one, so exact characters are exact bytes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

MAX_LINES = 999_999
MAX_CHARACTERS = 16_000

_CONTEXT = 2
_NUMBER_WIDTH = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaced:
    """The text after the replacement, and the numbered lines around it."""

    text: str
    snippet: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrences:
    """Why nothing was replaced: the lines on which the wanted text begins, none or several times."""

    count: int
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A run of whole lines (1-based, both ends shown) that fits; ``cut_line``: the last is shown in part only."""

    lines: tuple[str, ...]
    first: int
    last: int
    cut_line: bool


def lines_of(text: str) -> list[str]:
    """Return the lines without their LF; a final LF opens no further line; an empty text is one empty line."""
    lines = text.split("\n")
    if len(lines) > 1 and not lines[-1]:
        lines.pop()
    return lines


def count_lines(text: str) -> int:
    """Return how many lines there are to insert after; none in an empty text."""
    return text.count("\n") + (not text.endswith("\n") and bool(text))


def numbered(lines: Sequence[str], first: int) -> str:
    """Return the lines with their numbers: six wide, a tab, the text."""
    return "\n".join(f"{number:{_NUMBER_WIDTH}}\t{line}" for number, line in enumerate(lines, first))


def replaced(text: str, old: str, new: str) -> Replaced | Occurrences:
    """Replace ``old`` where it occurs exactly once; occurrences do not overlap."""
    count = text.count(old)
    if count != 1:
        return Occurrences(count=count, lines=tuple(_lines_with(text, old)))
    at = text.index(old)
    after = text[:at] + new + text[at + len(old) :]
    return Replaced(text=after, snippet=_snippet(after, at, at + len(new)))


def inserted(text: str, after_line: int, addition: str) -> str:
    """Insert ``addition`` as lines of their own after line ``after_line`` (0: at the beginning).

    One newline at its end counts as the end of its last line. It gets one where it has none and needs it: that of the
    line beside it (LF or CRLF). A text without a final newline is still without one.
    """
    head, tail = _split_after(text, after_line)
    newline = _newline_beside(head, tail)
    if tail or head.endswith("\n"):
        return head + (addition if addition.endswith("\n") else addition + newline) + tail
    if not head:
        return addition
    return head + newline + addition.removesuffix("\r\n" if addition.endswith("\r\n") else "\n")


def page(lines: Sequence[str], first: int, last: int, limit: int = MAX_CHARACTERS) -> Page:
    """Return as many whole lines from ``first`` to ``last`` as fit into ``limit`` characters, at least one."""
    size = -1
    end = first - 1
    while end < last:
        size += 1 + len(lines[end])
        if size > limit:
            break
        end += 1
    if end < first:
        return Page(lines=(lines[first - 1][:limit],), first=first, last=first, cut_line=True)
    return Page(lines=tuple(lines[first - 1 : end]), first=first, last=end, cut_line=False)


def _lines_with(text: str, old: str) -> list[int]:
    found: list[int] = []
    line, seen, at = 1, 0, text.find(old)
    while at >= 0:
        line += text.count("\n", seen, at)
        seen = at
        if not found or found[-1] != line:
            found.append(line)
        at = text.find(old, at + len(old))
    return found


def _snippet(text: str, start: int, end: int) -> str:
    lines = lines_of(text)
    first = max(1, text.count("\n", 0, start) + 1 - _CONTEXT)
    last = min(len(lines), text.count("\n", 0, end) + 1 + _CONTEXT)
    shown = page(lines, min(first, last), last)
    return numbered(shown.lines, shown.first) + ("\n…" if shown.last < last or shown.cut_line else "")


def _split_after(text: str, line: int) -> tuple[str, str]:
    at = 0
    for _ in range(line):
        at = text.find("\n", at) + 1
        if not at:  # the last line has no newline: the cut is the end
            return text, ""
    return text[:at], text[at:]


def _newline_beside(head: str, tail: str) -> str:
    source, at = head, head.rfind("\n")
    if at < 0:
        source, at = tail, tail.find("\n")
    return "\r\n" if source[max(at - 1, 0) : at] == "\r" else "\n"
