"""What an agent is told about its memory stores: one text in Markdown, for ``.memfs/README.md`` and `memfs prompt`.

Names, descriptions and instructions are other people's words: each of their lines is quoted, so that none can pass for
a heading, another store's section or memfs's own word. Pure: values in, text out.
"""

import unicodedata
from collections.abc import Sequence

from memfs.core.attachment import Attachment
from memfs.core.limits import Limits
from memfs.core.paths import DEFAULT_LIMITS

DEFAULT_MOUNT_POINT = "/mnt/memory"

_READ_WRITE = "read_write (create, change, rename and delete files as you like)"
_READ_ONLY = "read_only (every change fails with a read-only error)"
_ARCHIVED = "read_only (the store is archived: every change fails with a read-only error)"
_HEAD = """\
# Memory stores

The directories below {mount_point} are memory stores: what is written there outlasts this session, and others who have
the same store attached read it too. Each file is one memory. Use them like any other files and directories.

- A memory is UTF-8 text of at most {memory_bytes:,} bytes; a store holds at most {memories:,}. Prefer many small files
  with telling names. What a store refuses fails at once, in the program that tried.
- Every change is on this disk at once and reaches the others within seconds. Where two changed one file, both texts
  are kept: the other one is beside it in a file called `NAME.conflict-…`. Merge the two, then delete that file.
{shown}
- Files called `*~`, `.git` and the like stay on this host.

What is quoted below was written by whoever keeps the store.
"""
_SHOWN = """\
- Below {mount_point}/.memfs, read-only and always current, is how things stand: `status.json` (each store), `conflicts`
  (one line for each: the copy, a tab, the file it conflicts with)"""
_WITH_INFO = """\
, and `info/STORE/PATH` (each file: its version, and
  whether it is synced, pending, held, conflict, refused with the reason, or local-only)."""
_EMPTY = """
No store is attached.
"""


def prompt(
    stores: Sequence[Attachment],
    mount_point: str = DEFAULT_MOUNT_POINT,
    limits: Limits = DEFAULT_LIMITS,
    *,
    has_info: bool = True,
) -> str:
    """Return what an agent needs to know of the stores that it finds below ``mount_point``.

    ``has_info`` tells whether ``.memfs/info`` is there.
    """
    point = _one_line(mount_point)
    shown = _SHOWN.format(mount_point=point) + (_WITH_INFO if has_info else ".")
    head = _HEAD.format(mount_point=point, memory_bytes=limits.memory_bytes, memories=limits.memories, shown=shown)
    return head + ("".join(_section(one, mount_point) for one in stores) or _EMPTY)


def _section(store: Attachment, mount_point: str) -> str:
    parts = [f"## {store.slug}", f"Path: {_one_line(mount_point)}/{store.slug}\nAccess: {_access(store)}"]
    parts += [
        f"{label}:\n\n{_quoted(text)}"
        for label, text in (
            ("Name", store.name),
            ("Description", store.description),
            ("Instructions", store.instructions),
        )
        if text.strip()
    ]
    return "\n" + "\n\n".join(parts) + "\n"


def _access(store: Attachment) -> str:
    if store.archived:
        return _ARCHIVED
    return _READ_WRITE if store.is_writable else _READ_ONLY


def _quoted(text: str) -> str:
    """Return the text with a mark at the head of every line, whatever a reader may take for the end of one."""
    lines = [_visible(line).rstrip() for line in text.strip().splitlines()]
    return "\n".join(f"> {line}".rstrip() for line in lines)


def _one_line(text: str) -> str:
    return _visible(" ".join(text.splitlines()))


def _visible(text: str) -> str:
    """Return the text without what a terminal or a reader would act upon instead of showing it."""
    return "".join("\N{REPLACEMENT CHARACTER}" if _is_acted_upon(character) else character for character in text)


def _is_acted_upon(character: str) -> bool:
    if character == "\t":
        return False
    return unicodedata.category(character) in {"Cc", "Cs"} or unicodedata.bidirectional(character) in _DIRECTIONS


_DIRECTIONS = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})
"""Characters that change the order in which others are shown."""
