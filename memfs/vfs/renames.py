"""Renames: atomic, within one store, checked as if every resulting memory were written under its new name.

Used by `FileSystem` under the mutation lock.
"""

import errno
import os
import stat
from typing import NamedTuple

from memfs.tree.descent import DIRECTORY_FLAGS
from memfs.tree.local import Kind, scan
from memfs.vfs.mounted import Mounted
from memfs.vfs.nodes import Node, children_of
from memfs.vfs.shown.outdating import named
from memfs.vfs.values import InvalidateEntry


class _End:
    """A name in a directory: where a rename begins or ends."""

    __slots__ = ("descriptor", "directory", "name", "relative")

    def __init__(self, directory: Node, descriptor: int, name: bytes) -> None:
        self.directory = directory
        self.descriptor = descriptor
        self.name = name
        self.relative = directory.relative_of(name)


class _Entry(NamedTuple):
    """What has a name."""

    inode: int
    is_directory: bool


class Renames:
    """The renames of one mount."""

    def __init__(self, mounted: Mounted) -> None:
        self._mounted = mounted
        self._policy = mounted.policy

    def rename(self, parent: int, name: bytes, new_parent: int, new_name: bytes) -> None:
        """Give an entry another name; a file, or an empty directory, that has it goes."""
        source, target = self._end(parent, name), self._end(new_parent, new_name)
        _check_open(source)
        store = self._mounted.store_of(source.directory)
        if store is not target.directory.store:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        moving, replaced = _known(source) or _stat(source), _known(target) or _look(target)
        if replaced is not None and replaced.inode == moving.inode:
            return
        more = self._check(source, target, moving, replaced)
        self._policy.check_count(store.memories, more)
        is_too_full = store.memories > self._policy.limits.memories and (replaced is None or moving.is_directory)
        if is_too_full and self._saves(source, target, is_directory=moving.is_directory):
            self._policy.check_count(store.memories - 1, 1)
        self._act(source, target)
        store.grew(more)

    def _end(self, parent: int, name: bytes) -> _End:
        directory = self._mounted.directory(parent)
        return _End(directory, self._mounted.descriptors.of(directory), name)

    def _check(self, source: _End, target: _End, moving: _Entry, replaced: _Entry | None) -> int:
        """Return by how many memories the store grows, or refuse what cannot become a memory."""
        if replaced is not None:
            _check_kinds(is_directory=moving.is_directory, replaces_directory=replaced.is_directory)
        before, after = source.relative, target.relative
        if moving.is_directory:
            return self._check_directory(source, before, after)
        node = children_of(source.directory).get(source.name)
        was_local_only = self._policy.is_local_only_file(before) if node is None else self._policy.is_local_only(node)
        more = self._policy.check_renamed(source.descriptor, source.name, before, after, was_local_only=was_local_only)
        if replaced is not None and not self._policy.check_file(after):
            more -= 1
        return more

    def _check_directory(self, source: _End, before: bytes, after: bytes) -> int:
        """Check every name below the directory; return by how many memories the store grows."""
        self._policy.check_name(after, is_local_only=self._policy.is_local_only_directory(after))
        directory = os.open(source.name, DIRECTORY_FLAGS, dir_fd=source.descriptor)
        more = 0
        try:
            for entry in scan(directory):
                old, new = before + b"/" + entry.relative, after + b"/" + entry.relative
                if entry.kind is Kind.FILE:
                    was_local_only = self._policy.is_local_only_file(old)
                    more += self._policy.check_renamed(
                        directory, entry.relative, old, new, was_local_only=was_local_only
                    )
                elif entry.kind is Kind.DIRECTORY:
                    self._policy.check_name(new, is_local_only=self._policy.is_local_only_directory(new))
        finally:
            os.close(directory)
        return more

    def _saves(self, source: _End, target: _End, *, is_directory: bool) -> bool:
        """Tell whether a held-back file gets a memory's name."""
        before, after = source.relative, target.relative
        if not is_directory:
            return self._policy.is_saved(before, after)
        directory = os.open(source.name, DIRECTORY_FLAGS, dir_fd=source.descriptor)
        try:
            files = [entry.relative for entry in scan(directory) if entry.kind is Kind.FILE]
        finally:
            os.close(directory)
        return any(self._policy.is_saved(before + b"/" + file, after + b"/" + file) for file in files)

    def _act(self, source: _End, target: _End) -> None:
        node = children_of(source.directory).get(source.name)
        replaced = children_of(target.directory).get(target.name)
        self._mounted.keep(replaced)
        _check_open(source)
        _check_open(target)
        os.rename(source.name, target.name, src_dir_fd=source.descriptor, dst_dir_fd=target.descriptor)
        source.directory.listing_is_fresh = target.directory.listing_is_fresh = False
        store = self._mounted.store_of(source.directory)
        for end in (source, target) if store.shown else ():
            named(self._mounted, store, end.directory.inode, end.name)
        self._mounted.unlinked(replaced)
        if node is None:
            return
        self._mounted.table.move(node, target.directory, target.name)
        if node.pins:
            # The kernel may not have met the node that a pull put here, and carry the superseded one to the new name.
            self._mounted.tell(InvalidateEntry(target.directory.nodeid, target.name))


def _known(end: _End) -> _Entry | None:
    """Return what the kernel knows to have the name: nobody else changes the tree."""
    node = children_of(end.directory).get(end.name)
    return None if node is None else _Entry(node.inode, node.children is not None)


def _look(end: _End) -> _Entry | None:
    """Return what has the name on disk: mostly nothing, and then this costs less than an exception."""
    if not os.access(end.name, os.F_OK, dir_fd=end.descriptor, follow_symlinks=False):
        return None
    return _stat(end)


def _stat(end: _End) -> _Entry:
    found = os.stat(end.name, dir_fd=end.descriptor, follow_symlinks=False)
    return _Entry(found.st_ino, stat.S_ISDIR(found.st_mode))


def _check_open(end: _End) -> None:
    """Refuse where so few descriptors are left that one had to go for another: its number may mean another by now."""
    if end.directory.descriptor != end.descriptor:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))


def _check_kinds(*, is_directory: bool, replaces_directory: bool) -> None:
    if is_directory and not replaces_directory:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    if replaces_directory and not is_directory:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
