"""Names that programs use while saving: which files of a tree are no memories, or not yet.

Two kinds, in gitignore syntax; the configuration adds to either. *Local-only* names are never synced, not counted and
may hold any bytes. *Held-back* names become ordinary memories when they still exist after `HOLD_S` seconds: a real
note may be called ``sedentary``.
"""

from collections.abc import Iterable
from functools import lru_cache

from pathspec import GitIgnoreSpec

LOCAL_ONLY = (
    ".*.sw?", "*~", ".#*", "#*#", ".nfs*", ".fuse_hidden*", ".~lock.*#", ".DS_Store", ".git", "__pycache__/",
)  # fmt: skip
HELD_BACK = ("4913", "sed??????", "*.tmp", ".tmp-*")
HOLD_S = 60.0


class Names:
    """The two sets of patterns, ready to ask about paths relative to a tree (``a/b.md``)."""

    def __init__(self, local_only: Iterable[str] = (), held_back: Iterable[str] = ()) -> None:
        # A leading # is a comment in gitignore syntax: the Emacs name #file# needs its escape.
        self._local_only = GitIgnoreSpec.from_lines(_escaped((*LOCAL_ONLY, *local_only)))
        self._held_back = GitIgnoreSpec.from_lines(_escaped((*HELD_BACK, *held_back)))
        self._is_local_only = lru_cache(maxsize=65_536)(self._match_local_only)

    def is_local_only(self, relative: str) -> bool:
        """Tell whether the file (or anything above it) has a name that is never synced."""
        return self._is_local_only(relative)

    def is_held_back(self, relative: str) -> bool:
        """Tell whether the file has a name that becomes a memory only when it stays."""
        return self._held_back.match_file(relative) and not self.is_local_only(relative)

    def is_local_only_directory(self, relative: str) -> bool:
        """Tell whether everything below the directory is local-only."""
        return self._is_local_only(relative + "/")

    def _match_local_only(self, relative: str) -> bool:
        return self._local_only.match_file(relative)


def _escaped(patterns: Iterable[str]) -> list[str]:
    return ["\\" + pattern if pattern.startswith("#") else pattern for pattern in patterns]
