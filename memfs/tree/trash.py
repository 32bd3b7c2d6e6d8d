"""How displaced bytes are called in ``trash/``: when they were displaced or last written, and the path they had.

``20260803T101500.123456789Z~notes%2Fa.md``. Used by `memfs.tree.swap`, `memfs.vfs` and the worker. Pure.
"""

import datetime as dt
from urllib.parse import quote, unquote

_NANOSECONDS = 1_000_000_000
_NAME_BYTES = 240
"""Less than a file name may have, so that a counter fits behind it."""


def trash_name(path: str, when_ns: int) -> str:
    """Return the name for the bytes that were at ``path``; a path too long for it loses its end."""
    seconds, rest = divmod(when_ns, _NANOSECONDS)
    stamp = dt.datetime.fromtimestamp(seconds, dt.UTC).strftime("%Y%m%dT%H%M%S")
    return f"{stamp}.{rest:09d}Z~{quote(path.removeprefix('/'), safe='', errors='surrogateescape')}"[:_NAME_BYTES]


def path_in(name: str) -> str | None:
    """Return the store path (or, of a long one, its beginning) that a name in trash tells; None for another name."""
    stamp, tilde, quoted = name.partition("~")
    if not tilde or not stamp.endswith("Z"):
        return None
    return "/" + unquote(quoted)
