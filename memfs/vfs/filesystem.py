"""File-system semantics as the kernel asks for them; `memfs.fuse` is the only caller.

The session thread calls the operations, the socket thread `apply`. Each takes the one mutation lock here and nowhere
else, so that what lies below knows no threads.
"""

from collections.abc import Callable, Iterator
from typing import NoReturn

from memfs.core.limits import Limits
from memfs.core.names import Names
from memfs.core.tree_requests import Answer, Request
from memfs.state.layout import Layout
from memfs.vfs.values import Attributes, DirectoryEntry, Invalidation, Ownership, SetAttributes, Statistics


class FileSystem:
    """The stores attached to a state directory, as one read-only directory of directories.

    It takes ``owner.lock`` of each store for its life. Operations raise OSError or MemfsError; both carry ``errno``.

    Raises:
        AlreadyHeld: Another process owns a tree, still after 5 s.
    """

    def __init__(
        self,
        layout: Layout,
        *,
        limits: Limits,
        names: Names,
        ownership: Ownership,
        clock_ns: Callable[[], int],
        invalidate: Callable[[Invalidation], None],
    ) -> None:
        raise NotImplementedError

    def lookup(self, parent: int, name: bytes) -> Attributes:
        raise NotImplementedError

    def forget(self, nodeid: int, nlookup: int) -> None:
        raise NotImplementedError

    def getattr(self, nodeid: int) -> Attributes:
        raise NotImplementedError

    def setattr(self, nodeid: int, change: SetAttributes, fh: int | None = None) -> Attributes:
        raise NotImplementedError

    def mkdir(self, parent: int, name: bytes, mode: int) -> Attributes:
        raise NotImplementedError

    def unlink(self, parent: int, name: bytes) -> None:
        raise NotImplementedError

    def rmdir(self, parent: int, name: bytes) -> None:
        raise NotImplementedError

    def rename(self, parent: int, name: bytes, new_parent: int, new_name: bytes) -> None:
        raise NotImplementedError

    def create(self, parent: int, name: bytes, mode: int, flags: int) -> tuple[Attributes, int]:
        raise NotImplementedError

    def open(self, nodeid: int, flags: int) -> int:
        raise NotImplementedError

    def read(self, nodeid: int, size: int, offset: int, fh: int = 0) -> bytes:
        raise NotImplementedError

    def write(self, nodeid: int, content: bytes, offset: int, flags: int, fh: int = 0) -> int:
        raise NotImplementedError

    def release(self, nodeid: int, fh: int) -> None:
        raise NotImplementedError

    def flush(self, nodeid: int, fh: int) -> None:
        raise NotImplementedError

    def fsync(self, nodeid: int, datasync: bool, fh: int = 0) -> None:
        raise NotImplementedError

    def readdir(self, nodeid: int, cookie: int) -> Iterator[DirectoryEntry]:
        raise NotImplementedError

    def statfs(self, nodeid: int) -> Statistics:
        raise NotImplementedError

    def refuse_special(self, parent: int) -> NoReturn:
        raise NotImplementedError

    def apply(self, request: Request) -> Answer:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError
