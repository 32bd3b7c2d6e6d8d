"""The way down from the root by directory descriptors: no `..`, no symbolic link, no second look at a path.

Used by `directory` and `listing`. Every name is opened below the descriptor of the directory before it, with
O_NOFOLLOW and O_DIRECTORY: whoever swaps a directory for a link in the meantime makes the open fail, never lead out.
The root itself may be a link: whoever started the tool chose it. It is opened anew for each operation, because a
mount may go and come back. Descriptors live inside `with` only; no state is shared between threads.
"""

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from memfs.agent.refusal import ToolFailure
from memfs.tree.descent import DIRECTORY_FLAGS

MOUNT_ROOT_INODE = 1
"""FUSE_ROOT_ID: what the root of a mount has, and no directory of a store, whose inodes are those of the disk."""

_ROOT_FLAGS = DIRECTORY_FLAGS & ~os.O_NOFOLLOW
_NEW_DIRECTORY_MODE = 0o700
_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH

Names = Sequence[bytes]


class Descent:
    """Opens directories below one root."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._was_mount_root = False
        self.is_mount_root()

    def is_mount_root(self) -> bool:
        """Tell whether the root holds one directory per attached store, where nothing else can be.

        Raises:
            ToolFailure: The root is not there, or the mount over it is gone.
        """
        with self.directory(()):
            return self._was_mount_root

    @contextmanager
    def directory(self, names: Names) -> Iterator[int]:
        """Open the directory at ``names`` for the length of the block.

        Raises:
            OSError: As the system says; ELOOP where a name is a symbolic link.
            ToolFailure: The root is not there, or the mount over it is gone.
        """
        fd = self._open_root()
        try:
            for name in names:
                fd = _step(fd, open_directory(fd, name))
            yield fd
        finally:
            os.close(fd)

    @contextmanager
    def made(self, names: Names) -> Iterator[int]:
        """Open the directory at ``names``, making what is missing; what was made goes again if the block raises.

        Raises:
            OSError: As the system says.
            ToolFailure: As `directory`.
        """
        made: list[int] = []
        fd = self._open_root()
        try:
            for depth, name in enumerate(names):
                if _make(fd, name):
                    made.append(depth)
                    sync_directory(fd)
                fd = _step(fd, open_directory(fd, name))
            yield fd
        except BaseException:
            self._unmake(names, made)
            raise
        finally:
            os.close(fd)

    def _open_root(self) -> int:
        try:
            fd = os.open(self._root, _ROOT_FLAGS)
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else "no answer"
            raise ToolFailure(
                f"Error: The directory of /memories cannot be opened ({reason}); tell the user"
            ) from error
        is_mount_root = _is_mount_root(fd)
        # An unmounted mount leaves an ordinary empty directory, where files would be kept and never synced.
        if self._was_mount_root and not is_mount_root:
            os.close(fd)
            raise ToolFailure("Error: The directory of /memories is not mounted any more; tell the user")
        self._was_mount_root = is_mount_root
        return fd

    def _unmake(self, names: Names, made: list[int]) -> None:
        for depth in reversed(made):
            # Somebody else's file may be in it by now: then it stays, and so do those above.
            with suppress(OSError, ToolFailure), self.directory(names[:depth]) as above:
                os.rmdir(names[depth], dir_fd=above)


def open_directory(parent: int, name: bytes) -> int:
    """Open the directory ``name`` of the open directory ``parent``.

    Raises:
        OSError: As the system says; ELOOP where it is a symbolic link.
    """
    try:
        return os.open(name, DIRECTORY_FLAGS, dir_fd=parent)
    except NotADirectoryError:
        if stat.S_ISLNK(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None
        raise


def sync_directory(fd: int) -> None:
    """Make the names in the directory durable; a file system that cannot is left alone."""
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise


def _step(above: int, below: int) -> int:
    os.close(above)
    return below


def _make(parent: int, name: bytes) -> bool:
    """Make the directory unless something of its name is there; tell whether it was made."""
    try:
        os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        pass
    else:
        return False
    try:
        os.mkdir(name, _NEW_DIRECTORY_MODE, dir_fd=parent)
    except FileExistsError:
        return False
    return True


def _is_mount_root(fd: int) -> bool:
    """Tell whether the directory is the root of a mount: its inode is the mount's first and nobody may write there."""
    status = os.fstat(fd)
    return status.st_ino == MOUNT_ROOT_INODE and not status.st_mode & _WRITABLE
