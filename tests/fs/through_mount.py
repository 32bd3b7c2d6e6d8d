"""The same calls as plain system calls below the mount point of a process that serves it."""

import os
from collections.abc import Generator
from pathlib import Path

from fs.files import WHOLE, Files, OpenFile, Space, Stat
from fs.getdents import entries

FEW_ENTRIES_BYTES = 600
"""Room for some names at a time, one long name at least."""


class MountFiles(Files):
    """Files below a mount point."""

    def __init__(self, point: Path) -> None:
        self._point = point

    def open(self, path: str | bytes, flags: int, mode: int = 0o644) -> OpenFile:
        return Descriptor(os.open(self._at(path), flags, mode))

    def rename(self, old: str | bytes, new: str | bytes) -> None:
        self._at(old).rename(self._at(new))

    def unlink(self, path: str | bytes) -> None:
        self._at(path).unlink()

    def mkdir(self, path: str | bytes, mode: int = 0o755) -> None:
        self._at(path).mkdir(mode)

    def rmdir(self, path: str | bytes) -> None:
        self._at(path).rmdir()

    def iterate(self, path: str | bytes) -> Generator[bytes, None, None]:
        directory = os.open(self._at(path), os.O_RDONLY | os.O_DIRECTORY)
        try:
            for entry in entries(directory, FEW_ENTRIES_BYTES):
                if entry.name not in {b".", b".."}:
                    yield entry.name
        finally:
            os.close(directory)

    def stat(self, path: str | bytes) -> Stat:
        return _stat(self._at(path).lstat())

    def truncate(self, path: str | bytes, size: int) -> None:
        os.truncate(self._at(path), size)

    def chmod(self, path: str | bytes, mode: int) -> None:
        self._at(path).chmod(mode)

    def chown(self, path: str | bytes, uid: int, gid: int) -> None:
        os.chown(self._at(path), uid, gid)

    def utime(self, path: str | bytes, atime_ns: int, mtime_ns: int) -> None:
        os.utime(self._at(path), ns=(atime_ns, mtime_ns))

    def statfs(self, path: str | bytes) -> Space:
        found = os.statvfs(self._at(path))
        return Space(found.f_files, found.f_ffree, found.f_namemax)

    def symlink(self, target: str, path: str) -> None:
        self._at(path).symlink_to(target)

    def link(self, old: str, new: str) -> None:
        self._at(new).hardlink_to(self._at(old))

    def mkfifo(self, path: str) -> None:
        os.mkfifo(self._at(path))

    def _at(self, path: str | bytes) -> Path:
        return self._point / os.fsdecode(path)


class Descriptor(OpenFile):
    """A descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def read(self, size: int = WHOLE, offset: int = 0) -> bytes:
        return os.pread(self._descriptor, min(size, 1 << 22), offset)

    def write(self, content: bytes, offset: int = 0) -> None:
        view = memoryview(content)
        while view:
            written = os.pwrite(self._descriptor, view, offset)
            view, offset = view[written:], offset + written

    def truncate(self, size: int) -> None:
        os.ftruncate(self._descriptor, size)

    def sync(self) -> None:
        os.fsync(self._descriptor)

    def stat(self) -> Stat:
        return _stat(os.fstat(self._descriptor))

    def set_mode(self, mode: int) -> None:
        os.fchmod(self._descriptor, mode)

    def set_times(self, atime_ns: int, mtime_ns: int) -> None:
        os.utime(self._descriptor, ns=(atime_ns, mtime_ns))

    def close(self) -> None:
        os.close(self._descriptor)


def _stat(found: os.stat_result) -> Stat:
    return Stat(
        found.st_ino, found.st_mode, found.st_nlink, found.st_size, found.st_uid, found.st_gid,
        found.st_atime_ns, found.st_mtime_ns, found.st_ctime_ns,
    )  # fmt: skip
