"""Names that programs use while saving: which files of a tree are no memories, or not yet.

Two kinds, in gitignore syntax; the configuration adds to either. *Local-only* names are never synced, not counted and
may hold any bytes. *Held-back* names become ordinary memories when they still exist after `HOLD_S` seconds: a real
note may be called ``sedentary``.
"""

import re
from collections.abc import Callable, Iterable

from pathspec import GitIgnoreSpec

LOCAL_ONLY = (
    ".*.sw?", ".*.kate-swp", "*~", ".#*", "#*#", ".nfs*", ".fuse_hidden*", ".~lock.*#", ".DS_Store", ".git",
    "__pycache__/",
)  # fmt: skip
_SIX = "[A-Za-z0-9]" * 6
HELD_BACK = (
    "4913", "sed??????", "*.tmp", ".tmp-*",  # vim, sed -i, many
    "tmp????????", ".goutputstream-??????", "*.vsctmp", "*___jb_tmp___", f".*.{_SIX}",  # Python, GLib, VS Code, others
)  # fmt: skip
HOLD_S = 60.0
_NAMED_GROUP = re.compile(r"\(\?P<\w+>")


class Names:
    """The two sets of patterns, ready to ask about paths relative to a tree (``a/b.md``)."""

    def __init__(self, local_only: Iterable[str] = (), held_back: Iterable[str] = ()) -> None:
        self._is_local_only = _matching((*LOCAL_ONLY, *local_only))
        self._has_held_back_name = _matching((*HELD_BACK, *held_back))

    def is_local_only(self, relative: str) -> bool:
        """Tell whether the file (or anything above it) has a name that is never synced."""
        return self._is_local_only(relative)

    def is_held_back(self, relative: str) -> bool:
        """Tell whether the file has a name that becomes a memory only when it stays."""
        return self._has_held_back_name(relative) and not self.is_local_only(relative)

    def is_local_only_directory(self, relative: str) -> bool:
        """Tell whether everything below the directory is local-only."""
        return self._is_local_only(relative + "/")


def _matching(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Return the question whether a path matches, asked at each creation and rename: one search where that will do."""
    # A leading # is a comment in gitignore syntax: the Emacs name #file# needs its escape.
    spec = GitIgnoreSpec.from_lines(_escaped(patterns))
    if any(pattern.include is False for pattern in spec.patterns):
        return spec.match_file  # Which pattern takes back what another said depends on their order.
    texts = [pattern.regex.pattern for pattern in spec.patterns if pattern.include and pattern.regex]
    search = re.compile("|".join(_NAMED_GROUP.sub("(?:", text) for text in texts)).search
    return lambda relative: search(relative) is not None


def _escaped(patterns: Iterable[str]) -> list[str]:
    return ["\\" + pattern if pattern.startswith("#") else pattern for pattern in patterns]
