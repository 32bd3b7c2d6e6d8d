"""What a test may do to files: a few calls that the in-process kernel and a real mount both answer, with errnos."""

import errno
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import pytest

WHOLE = 1 << 30


def _ignores_bits() -> bool:
    """Tell whether this process has CAP_DAC_OVERRIDE, as root mostly has."""
    status = Path("/proc/self/status").read_text()
    found = re.search(r"^CapEff:\s*(\w+)$", status, re.MULTILINE)
    return found is not None and bool(int(found[1], 16) & 2)


READ_ONLY_ERRNOS = {errno.EROFS} if _ignores_bits() else {errno.EROFS, errno.EACCES}
"""Root meets the daemon's answer, anybody else the kernel's look at the bits before it."""


class Stat(NamedTuple):
    inode: int
    mode: int
    nlink: int
    size: int
    uid: int
    gid: int
    atime_ns: int
    mtime_ns: int
    ctime_ns: int


class Space(NamedTuple):
    files: int
    files_free: int
    name_max: int


class OpenFile(ABC):
    """One open file."""

    @abstractmethod
    def read(self, size: int = WHOLE, offset: int = 0) -> bytes: ...
    @abstractmethod
    def write(self, content: bytes, offset: int = 0) -> None:
        """Write at ``offset``; with O_APPEND, at the end."""

    @abstractmethod
    def truncate(self, size: int) -> None: ...
    @abstractmethod
    def sync(self) -> None: ...
    @abstractmethod
    def stat(self) -> Stat: ...
    @abstractmethod
    def set_mode(self, mode: int) -> None: ...
    @abstractmethod
    def set_times(self, atime_ns: int, mtime_ns: int) -> None: ...
    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Files(ABC):
    """The files below the root of a mount; paths are relative to it. Every refusal is an OSError."""

    @abstractmethod
    def open(self, path: str | bytes, flags: int, mode: int = 0o644) -> OpenFile: ...
    @abstractmethod
    def rename(self, old: str | bytes, new: str | bytes) -> None: ...
    @abstractmethod
    def unlink(self, path: str | bytes) -> None: ...
    @abstractmethod
    def mkdir(self, path: str | bytes, mode: int = 0o755) -> None: ...
    @abstractmethod
    def rmdir(self, path: str | bytes) -> None: ...
    @abstractmethod
    def iterate(self, path: str | bytes) -> Generator[bytes, None, None]:
        """Yield the names of a directory as the kernel asks for them, not all at once."""

    @abstractmethod
    def stat(self, path: str | bytes) -> Stat: ...
    @abstractmethod
    def truncate(self, path: str | bytes, size: int) -> None: ...
    @abstractmethod
    def chmod(self, path: str | bytes, mode: int) -> None: ...
    @abstractmethod
    def chown(self, path: str | bytes, uid: int, gid: int) -> None: ...
    @abstractmethod
    def utime(self, path: str | bytes, atime_ns: int, mtime_ns: int) -> None: ...
    @abstractmethod
    def statfs(self, path: str | bytes) -> Space: ...
    @abstractmethod
    def symlink(self, target: str, path: str) -> None: ...
    @abstractmethod
    def link(self, old: str, new: str) -> None: ...
    @abstractmethod
    def mkfifo(self, path: str) -> None: ...

    def read(self, path: str | bytes) -> bytes:
        with self.open(path, os.O_RDONLY) as file:
            return file.read()

    def write(self, path: str | bytes, content: bytes) -> None:
        with self.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as file:
            file.write(content)

    def append(self, path: str | bytes, content: bytes) -> None:
        with self.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND) as file:
            file.write(content)

    def create(self, path: str | bytes) -> None:
        self.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL).close()

    def listdir(self, path: str | bytes) -> list[str]:
        return sorted(os.fsdecode(name) for name in self.iterate(path))

    def exists(self, path: str | bytes) -> bool:
        try:
            self.stat(path)
        except FileNotFoundError:
            return False
        return True


@contextmanager
def refuses(*errnos: int) -> Iterator[None]:
    """Expect an OSError with one of these numbers."""
    with pytest.raises(OSError, match=r".*") as caught:
        yield
    names = {errno.errorcode[number] for number in errnos}
    assert errno.errorcode[caught.value.errno or 0] in names
