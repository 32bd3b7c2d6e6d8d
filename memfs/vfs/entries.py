"""Operations on the names of a directory: look up, make, remove, list. Renames are in `memfs.vfs.renames`.

Each checks policy, then acts on the tree, then on the inode table. Used by `FileSystem` under the mutation lock.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from itertools import chain

from memfs.vfs import modes
from memfs.vfs.listing import PARENT, SELF, Listing
from memfs.vfs.mounted import Mounted
from memfs.vfs.nodes import Node, children_of
from memfs.vfs.shown.directory import Shown
from memfs.vfs.shown.outdating import edited, named
from memfs.vfs.values import Attributes, DirectoryEntry

_CREATE_FLAGS = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_TYPES = {True: stat.S_IFDIR, False: stat.S_IFREG}


class Entries:
    """The names of one mount."""

    def __init__(self, mounted: Mounted, shown: Shown) -> None:
        self._mounted = mounted
        self._shown = shown
        self._table = mounted.table
        self._descriptors = mounted.descriptors
        self._policy = mounted.policy

    def lookup(self, parent: int, name: bytes) -> Attributes:
        """Find a name and count the lookup."""
        directory = self._table.get(parent)
        if directory.store is None:
            node = children_of(directory).get(name)
            if node is None or node.store is None:
                return self._shown.lookup(directory, name)
            found = self._mounted.stat(node)
        else:
            found = self._stat(directory, name)
            node = self._mounted.known(directory, name, found)
        node.lookups += 1
        return self._mounted.attributes(node, found)

    def create(self, parent: int, name: bytes, mode: int, flags: int) -> Attributes:
        """Make a file, or with neither O_EXCL nor a free name, find the one that is there."""
        directory = self._mounted.directory(parent)
        store = self._mounted.store_of(directory)
        relative = directory.relative_of(name)
        is_local_only = self._policy.is_local_only_file(relative)
        self._policy.check_name(relative, is_local_only=is_local_only)
        wanted = modes.backing(mode & ~self._mounted.ownership.umask, is_directory=False)
        try:
            if not is_local_only:
                self._check_room(directory, name, relative)
            descriptor = os.open(name, _CREATE_FLAGS, wanted, dir_fd=self._descriptors.of(directory))
        except FileExistsError:
            if flags & os.O_EXCL:
                raise
            return self._found(parent, name, flags)
        found = os.fstat(descriptor)
        node = self._added(directory, name, found)
        self._descriptors.adopt(node, descriptor)
        node.local_only = is_local_only
        store.grew(not is_local_only)
        store.writes.changed(node.inode, self._mounted.clock_ns())
        if stat.S_IMODE(found.st_mode) != wanted:
            os.fchmod(descriptor, wanted)
            found = os.fstat(descriptor)
        return self._mounted.attributes(node, found)

    def mkdir(self, parent: int, name: bytes, mode: int) -> Attributes:
        """Make a directory."""
        directory = self._mounted.directory(parent)
        relative = directory.relative_of(name)
        self._policy.check_name(relative, is_local_only=self._policy.is_local_only_directory(relative))
        descriptor = self._descriptors.of(directory)
        os.mkdir(name, 0o700, dir_fd=descriptor)
        wanted = modes.backing(mode & ~self._mounted.ownership.umask, is_directory=True)
        os.chmod(name, wanted, dir_fd=descriptor)
        found = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
        return self._mounted.attributes(self._added(directory, name, found), found)

    def unlink(self, parent: int, name: bytes) -> None:
        """Remove a file; who has it open goes on with its bytes."""
        directory = self._mounted.directory(parent)
        store = self._mounted.store_of(directory)
        node = children_of(directory).get(name)
        is_memory = not (
            self._policy.is_local_only_file(directory.relative_of(name))
            if node is None
            else self._policy.is_local_only(node)
        )
        self._remove(directory, name, os.unlink)
        store.grew(-is_memory)

    def rmdir(self, parent: int, name: bytes) -> None:
        """Remove an empty directory."""
        self._remove(self._mounted.directory(parent), name, os.rmdir)

    def readdir(self, nodeid: int, cookie: int) -> Iterator[DirectoryEntry]:
        """List what comes after ``cookie``, in an order that comings and goings do not disturb.

        What is returned may be read without the lock: a listing that is taken up anew leaves the old one as it is.
        """
        node = self._table.get(nodeid)
        listing = node.listing
        if listing is None:
            listing = node.listing = Listing()
        if cookie == 0 or not node.listing_is_fresh:
            listing.refresh(self._names(node))
            node.listing_is_fresh = True
        above = node if node.parent is None else node.parent
        dots = (
            DirectoryEntry(b".", node.inode, stat.S_IFDIR, SELF),
            DirectoryEntry(b"..", above.inode, stat.S_IFDIR, PARENT),
        )
        return chain(dots[max(0, cookie) :], listing.after(cookie))

    def _names(self, node: Node) -> dict[bytes, tuple[int, int]]:
        if node.store is None:
            return self._shown.names(node)
        children_of(node)
        with os.scandir(self._descriptors.of(node)) as found:
            return {
                os.fsencode(item.name): (item.inode(), _TYPES[item.is_dir(follow_symlinks=False)])
                for item in found
                if item.is_dir(follow_symlinks=False) or item.is_file(follow_symlinks=False)
            }

    def _stat(self, directory: Node, name: bytes) -> os.stat_result:
        children_of(directory)
        return os.stat(name, dir_fd=self._descriptors.of(directory), follow_symlinks=False)

    def _check_room(self, directory: Node, name: bytes, relative: bytes) -> None:
        """Refuse one memory too many, unless it is there already, or not yet one."""
        store = self._mounted.store_of(directory)
        if store.memories < self._policy.limits.memories or self._policy.is_held_back(relative):
            return
        try:
            self._stat(directory, name)
        except FileNotFoundError:
            self._policy.check_count(store.memories, 1)

    def _found(self, parent: int, name: bytes, flags: int) -> Attributes:
        """Find what a pull put there while the kernel took the name for free."""
        attributes = self.lookup(parent, name)
        try:
            if stat.S_ISDIR(attributes.mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            node = self._table.get(attributes.nodeid)
            if not flags & os.O_TRUNC:
                return attributes
            os.ftruncate(self._descriptors.of(node), 0)
        except OSError:
            self._table.forget(attributes.nodeid, 1)
            raise
        store = self._mounted.store_of(node)
        store.writes.changed(node.inode, self._mounted.clock_ns())
        edited(self._mounted, store, node.inode)
        return self._mounted.describe(node)

    def _added(self, directory: Node, name: bytes, found: os.stat_result) -> Node:
        directory.listing_is_fresh = False
        node = self._mounted.known(directory, name, found)
        node.lookups += 1
        if node.store is not None and node.store.shown:
            named(self._mounted, node.store, directory.inode, name)
        return node

    def _remove(self, directory: Node, name: bytes, remove: Callable[..., None]) -> None:
        node = children_of(directory).get(name)
        self._mounted.keep(node)
        remove(name, dir_fd=self._descriptors.of(directory))
        directory.listing_is_fresh = False
        self._mounted.unlinked(node)
        store = self._mounted.store_of(directory)
        if store.shown:
            named(self._mounted, store, directory.inode, name)
