"""May it happen? Names, sizes and counts of memories, decided at the moment of the call (docs: Limits).

Paths are relative to a store's tree, as the bytes that the disk has. A local-only name is exempt from all of it but
the disk's own limits. Reads files only where a rename makes memories of what was none.
"""

import errno
import os
import stat
from functools import lru_cache

from memfs.core.errors import ContentTooLarge, StoreFull
from memfs.core.limits import Limits
from memfs.core.names import Names
from memfs.core.paths import from_local
from memfs.vfs.nodes import Node
from memfs.vfs.text import refuse_incomplete

_REMEMBERED = 4_096
_LOCAL_ONLY_SEGMENTS = 200
"""Deeper than any program's own files; each open file takes a descriptor for each segment at most."""


class Policy:
    """The rules of every store of a mount."""

    def __init__(self, limits: Limits, names: Names) -> None:
        self.limits = limits
        self._names = names
        # Programs come back to the same names, at each save to the same two: what was judged is remembered.
        remember = lru_cache(maxsize=_REMEMBERED)
        self.check_file = remember(self._check_file)
        self.is_held_back = remember(self._is_held_back)

    def is_local_only(self, node: Node) -> bool:
        """Tell whether the node is never synced; remembered until it is renamed."""
        known = node.local_only
        if known is None:
            relative = node.relative()
            known = (
                self.is_local_only_directory(relative)
                if node.children is not None
                else self.is_local_only_file(relative)
            )
            node.local_only = known
        return known

    def is_local_only_file(self, relative: bytes) -> bool:
        """Tell whether a file of this path is never synced."""
        return self._names.is_local_only(_text(relative))

    def is_local_only_directory(self, relative: bytes) -> bool:
        """Tell whether nothing below a directory of this path is synced."""
        return bool(relative) and self._names.is_local_only_directory(_text(relative))

    def _is_held_back(self, relative: bytes) -> bool:
        """Tell whether a file of this path is not yet a memory."""
        return self._names.is_held_back(_text(relative))

    def _check_file(self, relative: bytes) -> bool:
        """Check the path of a file that is about to be made, as `check_name` does; return whether it is local-only."""
        is_local_only = self.is_local_only_file(relative)
        self.check_name(relative, is_local_only=is_local_only)
        return is_local_only

    def check_name(self, relative: bytes, *, is_local_only: bool) -> None:
        """Check a path that is about to be made.

        Raises:
            InvalidPath: It cannot name a memory, nor be above one.
            PathTooLong: It is too long or too deep.
        """
        if not is_local_only:
            from_local(relative, self.limits)
        elif relative.count(b"/") >= _LOCAL_ONLY_SEGMENTS:
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))

    def check_size(self, size: int) -> None:
        """Check the size that a memory is about to have.

        Raises:
            ContentTooLarge: It is more than the limit.
        """
        if size > self.limits.memory_bytes:
            raise ContentTooLarge(f"a memory holds at most {self.limits.memory_bytes} bytes, not {size}")

    def check_count(self, memories: int, more: int) -> None:
        """Check that ``more`` memories fit into a store that has ``memories``.

        Raises:
            StoreFull: They do not.
        """
        if more > 0 and memories + more > self.limits.memories:
            raise StoreFull(f"the store holds {memories} memories; at most {self.limits.memories} are allowed")

    def is_saved(self, before: bytes, after: bytes) -> bool:
        """Tell whether a rename gives a held-back file, which is made even in a full store, a memory's name."""
        return self.is_held_back(before) and not (self.is_held_back(after) or self.is_local_only_file(after))

    def check_renamed(self, directory: int, file: bytes, before: bytes, after: bytes, *, was_local_only: bool) -> int:
        """Check one file of a rename as if it were written under its new name; return by how many memories it adds.

        Args:
            directory: The directory, still under its old name, below which ``file`` is.
            file: Its path below ``directory``.
            before: Its path now.
            after: Its path then.
            was_local_only: Whether it is local-only now.
        """
        if self.check_file(after):
            return 0 if was_local_only else -1
        if was_local_only or self.is_held_back(before):
            self._check_content(directory, file)
        return 1 if was_local_only else 0

    def _check_content(self, directory: int, file: bytes) -> None:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                return
            self.check_size(found.st_size)
            refuse_incomplete(os.pread(descriptor, found.st_size, 0), "the file to be renamed")
        finally:
            os.close(descriptor)


def _text(relative: bytes) -> str:
    return relative.decode("utf-8", "surrogateescape")
