"""The listing of a directory: two levels, sizes for a reader, what is hidden left out.

Used by `tool`. Sizes: a file counts its bytes rounded up to half a kilobyte; a directory counts half a kilobyte for
itself and all that is visible below it, however deep. So the documented example comes out: 1.5K and 2.0K in a
directory of 4.0K. Hidden items (names that begin with a dot), `node_modules` and symbolic links are left out and not
counted. What disappears while it is listed is left out; a directory that may not be read shows as empty.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from memfs.agent.descent import open_directory

_LEVELS = 2
_DEEPEST = 64  # a store path has at most 20 names; what lies deeper in another directory is not counted
_BLOCK = 512
_KIBI = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class _Item:
    name: bytes
    is_directory: bool
    size: int


def listing(fd: int, path: str) -> list[str]:
    """Return one line (size, tab, path) for the open directory itself and for each item up to two levels below it."""
    lines: list[str] = []
    total = _collect(fd, path, 1, lines)
    return [f"{readable(total)}\t{path}", *lines]


def readable(size: int) -> str:
    """Return a size in bytes as `1.5K` (rounded up to half a kilobyte) or, from a megabyte on, `1.2M` (nearest)."""
    kilobytes = _blocks(size) / _KIBI
    if kilobytes < _KIBI:
        return f"{kilobytes:.1f}K"
    megabytes = kilobytes / _KIBI
    return f"{megabytes:.1f}M" if megabytes < _KIBI else f"{megabytes / _KIBI:.1f}G"


def _collect(fd: int, path: str, level: int, lines: list[str]) -> int:
    """Append the lines of the directory's items and return what the directory counts."""
    total = _BLOCK
    for item in _visible(fd):
        below = f"{path}/{_printable(item.name)}"
        at = len(lines)
        size = _below(fd, item.name, below, level + 1, lines) if item.is_directory else _blocks(item.size)
        if level <= _LEVELS:
            lines.insert(at, f"{readable(size)}\t{below}")
        total += size
    return total


def _below(parent: int, name: bytes, path: str, level: int, lines: list[str]) -> int:
    if level > _DEEPEST:
        return _BLOCK
    try:
        fd = open_directory(parent, name)
    except OSError:  # gone, swapped or not readable: listed as empty
        return _BLOCK
    try:
        return _collect(fd, path, level, lines)
    finally:
        os.close(fd)


def _visible(fd: int) -> Iterator[_Item]:
    for name in sorted(map(os.fsencode, os.listdir(fd))):
        if name.startswith(b".") or name == b"node_modules":
            continue
        with suppress(FileNotFoundError):
            status = os.stat(name, dir_fd=fd, follow_symlinks=False)
            is_directory = stat.S_ISDIR(status.st_mode)
            if is_directory or stat.S_ISREG(status.st_mode):
                yield _Item(name=name, is_directory=is_directory, size=status.st_size)


def _blocks(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK


def _printable(name: bytes) -> str:
    """Return a name as one line can carry it: a line feed in it must not look like a further item."""
    text = name.decode("utf-8", "backslashreplace")
    return text if text.isprintable() else text.encode("unicode_escape").decode()
