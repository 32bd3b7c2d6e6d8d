"""Drive a FileSystem as the kernel would: walk paths, cache names and attributes for ever, forget, open without asking.

It believes what it was told until it is told otherwise, so that a missing invalidation shows.
"""

import errno
import os
import stat
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import TypeVar

from fs.files import WHOLE, Files, OpenFile, Space, Stat

from memfs.core.errors import MemfsError
from memfs.vfs.filesystem import FileSystem
from memfs.vfs.values import (
    ROOT,
    Announcement,
    Attributes,
    DirectoryEntry,
    InvalidateEntry,
    InvalidateInode,
    Notice,
    SetAttributes,
)

Answered = TypeVar("Answered")
ABSENT = 0
LARGEST_WRITE = 128 * 1024
NAMES_AT_A_TIME = 3
UMASK = 0o022


class Kernel(Files):
    """A FileSystem seen through system calls."""

    def __init__(self, make: Callable[[Callable[[Notice], None]], FileSystem], *, asks_to_open: bool = False) -> None:
        self.asks_to_open = asks_to_open
        self.told: list[Notice] = []
        self.pending: list[Notice] = []
        self._names: dict[tuple[int, bytes], int] = {}
        self._attributes: dict[int, Attributes] = {}
        self.lookups: Counter[int] = Counter()
        self._holders: Counter[int] = Counter()
        self.filesystem = make(self._invalidate)

    def open(self, path: str | bytes, flags: int, mode: int = 0o644) -> OpenFile:
        return self._again_when_stale(lambda: self._open(path, flags, mode))

    def rename(self, old: str | bytes, new: str | bytes) -> None:
        parent, name = self._parent(old)
        new_parent, new_name = self._parent(new)
        node = self._step(parent, name)
        replaced = self._step_if_any(new_parent, new_name)
        if replaced == node:
            return
        if os.fsencode(new).startswith(os.fsencode(old) + b"/"):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        if os.fsencode(old).startswith(os.fsencode(new) + b"/"):
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY))
        with answered():
            self.filesystem.rename(parent, name, new_parent, new_name)
        self._stale(parent, new_parent, node, replaced)
        self._drop(new_parent, new_name)
        self._names[new_parent, new_name] = self._names.pop((parent, name))
        self._names[parent, name] = ABSENT

    def unlink(self, path: str | bytes) -> None:
        self._remove(path, self.filesystem.unlink)

    def rmdir(self, path: str | bytes) -> None:
        self._remove(path, self.filesystem.rmdir)

    def mkdir(self, path: str | bytes, mode: int = 0o755) -> None:
        parent, name = self._parent(path)
        if self._step_if_any(parent, name) != ABSENT:
            raise OSError(errno.EEXIST, os.strerror(errno.EEXIST))
        with answered():
            self._met(parent, name, self.filesystem.mkdir(parent, name, mode & ~UMASK))
        self._stale(parent)

    def iterate(self, path: str | bytes) -> Generator[bytes, None, None]:
        node, cookie = self._walk(path), 0
        self.hold(node)
        try:
            while entries := self._some_entries(node, cookie):
                for entry in entries:
                    cookie = entry.cookie
                    if entry.name not in {b".", b".."}:
                        yield entry.name
        finally:
            self.let_go(node)

    def _some_entries(self, node: int, cookie: int) -> list[DirectoryEntry]:
        self.settle()
        with answered():
            return list(islice(self.filesystem.readdir(node, cookie), NAMES_AT_A_TIME))

    def stat(self, path: str | bytes) -> Stat:
        return self.stat_node(self._walk(path))

    def truncate(self, path: str | bytes, size: int) -> None:
        self._set(path, SetAttributes(size=size))

    def chmod(self, path: str | bytes, mode: int) -> None:
        self._set(path, SetAttributes(mode=stat.S_IFREG | mode))

    def chown(self, path: str | bytes, uid: int, gid: int) -> None:
        self._set(path, SetAttributes(uid=uid, gid=gid))

    def utime(self, path: str | bytes, atime_ns: int, mtime_ns: int) -> None:
        self._set(path, SetAttributes(atime_ns=atime_ns, mtime_ns=mtime_ns))

    def statfs(self, path: str | bytes) -> Space:
        with answered():
            found = self.filesystem.statfs(self._walk(path))
        return Space(found.files, found.files_free, found.name_max)

    def symlink(self, target: str, path: str) -> None:
        del target
        self._refuse(path)

    def link(self, old: str, new: str) -> None:
        del old
        self._refuse(new)

    def mkfifo(self, path: str) -> None:
        self._refuse(path)

    def stat_node(self, node: int) -> Stat:
        found = self._attributes.get(node)
        if found is None:
            with answered():
                found = self._attributes[node] = self.filesystem.getattr(node)
        assert found.nodeid == node
        return Stat(
            found.inode, found.mode, found.nlink, found.size, found.uid, found.gid,
            found.atime_ns, found.mtime_ns, found.ctime_ns,
        )  # fmt: skip

    def set_node(self, node: int, change: SetAttributes) -> None:
        with answered():
            self._attributes[node] = self.filesystem.setattr(node, change)

    def written(self, node: int) -> None:
        self._stale(node)

    def hold(self, node: int) -> None:
        self._holders[node] += 1

    def let_go(self, node: int) -> None:
        """Forget a node once no name and no open file leads to it."""
        self._holders[node] -= 1
        if self._holders[node] == 0:
            self._attributes.pop(node, None)
            self.filesystem.forget(node, self.lookups.pop(node, 0))

    def drop_caches(self) -> None:
        """Forget every name."""
        self.settle()
        for parent, name in list(self._names):
            self._drop(parent, name)

    def open_node(self, node: int, flags: int) -> int:
        """Open a node that is there, where the kernel asks for that; return the handle."""
        if not self.asks_to_open:
            return 0
        with answered():
            return self.filesystem.open(node, flags)

    def _open(self, path: str | bytes, flags: int, mode: int) -> OpenFile:
        parent, name = self._parent(path)
        node = self._step_if_any(parent, name) if flags & os.O_CREAT else self._step(parent, name)
        if node == ABSENT:
            with answered():
                attributes, handle = self.filesystem.create(parent, name, mode & ~UMASK, flags)
            assert handle > 0
            self._met(parent, name, attributes)
            self._stale(parent)
            return KernelFile(self, attributes.nodeid, flags, handle)
        if flags & os.O_EXCL:
            raise OSError(errno.EEXIST, os.strerror(errno.EEXIST))
        is_directory = stat.S_ISDIR(self.stat_node(node).mode)
        if is_directory and (flags & os.O_ACCMODE != os.O_RDONLY or flags & (os.O_CREAT | os.O_TRUNC)):
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
        if flags & os.O_TRUNC:
            self.set_node(node, SetAttributes(size=0))
        handle = 0 if is_directory else self.open_node(node, flags)
        return KernelFile(self, node, flags, handle)

    def _set(self, path: str | bytes, change: SetAttributes) -> None:
        self._again_when_stale(lambda: self.set_node(self._walk(path), change))

    def _again_when_stale(self, call: Callable[[], Answered]) -> Answered:
        try:
            return call()
        except OSError as error:
            if error.errno != errno.ESTALE:
                raise
        self.drop_caches()
        return call()

    def _remove(self, path: str | bytes, remove: Callable[[int, bytes], None]) -> None:
        parent, name = self._parent(path)
        node = self._step(parent, name)
        with answered():
            remove(parent, name)
        self._stale(parent, node)
        self._drop(parent, name)
        self._names[parent, name] = ABSENT

    def _refuse(self, path: str) -> None:
        parent, name = self._parent(path)
        if self._step_if_any(parent, name) != ABSENT:
            raise OSError(errno.EEXIST, os.strerror(errno.EEXIST))
        with answered():
            self.filesystem.refuse_special(parent)

    def _parent(self, path: str | bytes) -> tuple[int, bytes]:
        above, _, name = os.fsencode(path).rpartition(b"/")
        node = self._walk(above)
        self._check_directory(node)
        return node, name

    def _walk(self, path: str | bytes) -> int:
        self.settle()
        node = ROOT
        for name in filter(None, os.fsencode(path).split(b"/")):
            node = self._step(node, name)
        return node

    def _step(self, parent: int, name: bytes) -> int:
        node = self._step_if_any(parent, name)
        if node == ABSENT:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fsdecode(name))
        return node

    def _step_if_any(self, parent: int, name: bytes) -> int:
        self._check_directory(parent)
        if (parent, name) in self._names:
            return self._names[parent, name]
        try:
            with answered():
                return self._met(parent, name, self.filesystem.lookup(parent, name))
        except FileNotFoundError:
            if parent != ROOT:
                self._names[parent, name] = ABSENT
            return ABSENT

    def _check_directory(self, node: int) -> None:
        if not stat.S_ISDIR(self.stat_node(node).mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))

    def _met(self, parent: int, name: bytes, attributes: Attributes) -> int:
        node = attributes.nodeid
        self.lookups[node] += 1
        self.hold(node)
        self._drop(parent, name)
        self._names[parent, name] = node
        self._attributes[node] = attributes
        return node

    def _drop(self, parent: int, name: bytes) -> None:
        node = self._names.pop((parent, name), ABSENT)
        if node == ABSENT:
            return
        for below in [key for key in self._names if key[0] == node]:
            self._drop(*below)
        self.let_go(node)

    def _stale(self, *nodes: int) -> None:
        for node in nodes:
            self._attributes.pop(node, None)

    def _invalidate(self, notice: Notice) -> None:
        self.told.append(notice)
        self.pending.append(notice)

    def settle(self) -> None:
        """Take note of everything that was told."""
        pending, self.pending[:] = list(self.pending), []
        for notice in pending:
            match notice:
                case InvalidateEntry(parent, name):
                    self._drop(parent, name)
                case InvalidateInode(node):
                    self._stale(node)
                case Announcement():
                    pass  # Nobody watches here.


class KernelFile(OpenFile):
    """A file that was opened without an upcall: it holds its node, and says its flags with every write."""

    def __init__(self, kernel: Kernel, node: int, flags: int, handle: int) -> None:
        self._kernel, self._node, self._flags, self._handle = kernel, node, flags, handle
        kernel.hold(node)

    def read(self, size: int = WHOLE, offset: int = 0) -> bytes:
        with answered():
            return self._kernel.filesystem.read(self._node, size, offset, 0)

    def write(self, content: bytes, offset: int = 0) -> None:
        if self._flags & os.O_APPEND:
            offset = self.stat().size
        for start in range(0, len(content), LARGEST_WRITE):
            piece = content[start : start + LARGEST_WRITE]
            with answered():
                assert self._kernel.filesystem.write(self._node, piece, offset + start, self._flags, 0) == len(piece)
            self._kernel.written(self._node)

    def truncate(self, size: int) -> None:
        self._kernel.set_node(self._node, SetAttributes(size=size))

    def sync(self) -> None:
        with answered():
            self._kernel.filesystem.fsync(self._node, datasync=False)

    def stat(self) -> Stat:
        return self._kernel.stat_node(self._node)

    def set_mode(self, mode: int) -> None:
        self._kernel.set_node(self._node, SetAttributes(mode=stat.S_IFREG | mode))

    def set_times(self, atime_ns: int, mtime_ns: int) -> None:
        self._kernel.set_node(self._node, SetAttributes(atime_ns=atime_ns, mtime_ns=mtime_ns))

    def close(self) -> None:
        if self._kernel.asks_to_open and self._handle:
            self._kernel.filesystem.release(self._node, self._handle)
        self._kernel.let_go(self._node)


@contextmanager
def answered() -> Iterator[None]:
    """Turn a refusal into the errno that the binding would answer."""
    try:
        yield
    except MemfsError as error:
        raise OSError(error.errno, os.strerror(error.errno)) from error
