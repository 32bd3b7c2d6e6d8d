"""How displaced bytes are called in ``trash/``: when they were last written, and the path they had.

``20260803T101500.123456789Z~notes%2Fa.md``; a second file of that name has ``Z.2~``. Used by `memfs.tree.swap`,
`memfs.vfs`, the worker and ``memfs trash``. How long a file has been there tells its ctime, which a move sets.
"""

import datetime as dt
import os
import re
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote, unquote

from memfs.tree.atomic import write_all

_Made = TypeVar("_Made")
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NAME = re.compile(r"\d{8}T\d{6}\.\d{9}Z(?:\.\d+)?~(.*)")
_NANOSECONDS = 1_000_000_000
_LATEST_NS = 253_402_300_800 * _NANOSECONDS - 1
"""The end of the year 9999."""
_NAME_BYTES = 240
"""Less than a file name may have, so that a counter fits in."""


def trash_name(path: str, when_ns: int) -> str:
    """Return the name for the bytes that were at ``path``; a path too long for it loses its end."""
    # A program may set any time on its file, also one that no calendar has.
    seconds, rest = divmod(min(max(when_ns, 0), _LATEST_NS), _NANOSECONDS)
    stamp = dt.datetime.fromtimestamp(seconds, dt.UTC).strftime("%Y%m%dT%H%M%S")
    return f"{stamp}.{rest:09d}Z~{quote(path.removeprefix('/'), safe='', errors='surrogateescape')}"[:_NAME_BYTES]


def path_in(name: str) -> str | None:
    """Return the store path (or, of a long one, its beginning) that a name in trash tells; None for another name."""
    match = _NAME.fullmatch(name)
    return None if match is None else "/" + unquote(match[1])


def make_in_trash(trash: int, name: str) -> int:
    """Make an empty file called ``name``, or like it, in the open directory; return its descriptor."""
    return under_free_name(name, lambda free: os.open(free, _FLAGS, 0o600, dir_fd=trash))


def keep_in_trash(trash: Path, name: str, content: bytes) -> str:
    """Write ``content`` durably as ``name``, or like it; return how the file is called.

    Raises:
        OSError: The disk refuses; nothing is kept.
    """
    directory = os.open(trash, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        made, kept = under_free_name(name, lambda free: (os.open(free, _FLAGS, 0o600, dir_fd=directory), free))
        try:
            write_all(made, content, 0)
            os.fsync(made)
        except OSError:
            os.unlink(kept, dir_fd=directory)
            raise
        finally:
            os.close(made)
        os.fsync(directory)
    finally:
        os.close(directory)
    return kept


def link_to_trash(parent: int, name: str, trash: int, kept: str) -> None:
    """Give the file ``name`` in one open directory a second name, ``kept`` or like it, in another."""
    under_free_name(kept, lambda free: os.link(name, free, src_dir_fd=parent, dst_dir_fd=trash, follow_symlinks=False))


def under_free_name(name: str, make: Callable[[str], _Made]) -> _Made:
    """Return what ``make`` returns for ``name``, or for the first like it that it does not find taken."""
    count = 1
    while True:
        try:
            return make(name if count == 1 else name.replace("~", f".{count}~", 1))
        except FileExistsError:
            count += 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Displaced:
    """A file in trash: the path that it had, "" where its name does not tell, and since when it is there."""

    name: str
    path: str
    size_bytes: int
    since: float
    """Unix seconds."""


def displaced(trash: Path) -> list[Displaced]:
    """Return what is in trash, the newest first."""
    found = []
    with os.scandir(trash) as names:
        for one in names:
            with suppress(FileNotFoundError):
                status = one.stat(follow_symlinks=False)
                if stat.S_ISREG(status.st_mode):
                    path = path_in(one.name) or ""
                    # A name that was cut does not tell the whole path.
                    path = "" if len(one.name) >= _NAME_BYTES else path
                    found.append(Displaced(name=one.name, path=path, size_bytes=status.st_size, since=status.st_ctime))
    return sorted(found, key=lambda one: (one.since, one.name), reverse=True)


def empty(trash: Path, until: float) -> int:
    """Delete for good what is in trash since ``until`` (unix seconds) or longer; return how many files went."""
    gone = [one for one in displaced(trash) if one.since <= until]
    for one in gone:
        (trash / one.name).unlink(missing_ok=True)
    return len(gone)
