"""File operations on a directory of memories: what the six commands do to files.

Used by `tool`. Paths come as checked names below the root; every operation goes down anew by `Descent` and acts on
the last name below an open descriptor, never through a symbolic link. A change is whole or not at all. Operations may
run in any thread; whoever reads, edits and replaces hands back what it read, and is told when that is no longer so.
"""

import errno
import fcntl
import os
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

from memfs.agent.descent import Descent, Names, sync_directory
from memfs.agent.placement import move_onto, move_onto_nothing, staged
from memfs.core.tree_requests import Identity
from memfs.tree.local import identity_of

READ_BYTES = 64 * 1024 * 1024
"""The most that one file may hold to be read: far above a memory, far below what hurts."""

TURN_S = 10.0
"""How long an editor waits for its turn: one that was stopped in the middle must not stop all others."""
_TURN_POLL_S = 0.002
_FILE_MODE = 0o600
_ATTEMPTS = 8
# Without O_NONBLOCK the open of a named pipe waits for a writer that may never come.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Changed(Exception):
    """The file is no longer what was read: read it again."""


class Kind(Enum):
    """What is at a path."""

    NOTHING = auto()
    FILE = auto()
    DIRECTORY = auto()
    LINK = auto()
    SPECIAL = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A file as it was read."""

    content: bytes
    identity: Identity
    mode: int


class Directory:
    """The files below one root."""

    def __init__(self, root: Path) -> None:
        self.descent = Descent(root)

    def kind(self, names: Names) -> Kind:
        """Tell what is at the path; a path below a file is nothing.

        Raises:
            OSError: As the system says.
        """
        if not names:
            return Kind.DIRECTORY
        try:
            with self.descent.directory(names[:-1]) as parent:
                return _kind(os.stat(names[-1], dir_fd=parent, follow_symlinks=False).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return Kind.NOTHING

    @contextmanager
    def turn(self, names: Names) -> Iterator[None]:
        """Edit the file alone for the length of the block: those who edit in its directory on this host take turns.

        A program that uses no turn is noticed by `replace`, unless it writes in the instant of the replacement.

        Raises:
            OSError: As the system says.
            Changed: Another program has had its turn for too long.
        """
        with self.descent.directory(names[:-1]) as parent:
            deadline = time.monotonic() + TURN_S
            while not _taken(parent):
                if time.monotonic() > deadline:
                    raise Changed
                time.sleep(_TURN_POLL_S)
            yield

    def read(self, names: Names) -> Found:
        """Return a file's bytes and what it was before they were read.

        Raises:
            OSError: As the system says; EISDIR for a directory, EOVERFLOW past `READ_BYTES`.
        """
        with self.descent.directory(names[:-1]) as parent:
            fd = os.open(names[-1], _READ, dir_fd=parent)
        try:
            return _found(fd)
        finally:
            os.close(fd)

    def create(self, names: Names, content: bytes) -> None:
        """Make a file with its missing directories; never over something.

        Raises:
            FileExistsError: Something is at the path.
            OSError: As the system says.
        """
        if self.kind(names) is not Kind.NOTHING:
            raise _os_error(errno.EEXIST)
        with self.descent.made(names[:-1]) as parent, staged(parent, content, _FILE_MODE) as temporary:
            move_onto_nothing(parent, temporary, parent, names[-1])

    def replace(self, names: Names, content: bytes, was: Found) -> None:
        """Put new bytes in the place of those that were read, keeping the file's mode.

        Raises:
            Changed: The file is no longer what was read; nothing is done.
            OSError: As the system says.
        """
        with self.descent.directory(names[:-1]) as parent, staged(parent, content, was.mode) as temporary:
            if identity_of(os.stat(names[-1], dir_fd=parent, follow_symlinks=False)) != was.identity:
                raise Changed
            move_onto(parent, temporary, names[-1])

    def remove(self, names: Names) -> None:
        """Remove a file, a link (never what it points to), or a directory with all it holds.

        Raises:
            OSError: As the system says; a directory may be gone in part.
        """
        with self.descent.directory(names[:-1]) as parent:
            status = os.stat(names[-1], dir_fd=parent, follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                _remove_directory(parent, names[-1])
            else:
                os.unlink(names[-1], dir_fd=parent)
            sync_directory(parent)

    def move(self, old: Names, new: Names) -> None:
        """Rename a file, a link or a directory, making the missing directories of its new path; never over something.

        Raises:
            FileExistsError: Something is at the new path.
            OSError: As the system says; ENOENT where the old path is gone.
        """
        with self.descent.directory(old[:-1]) as source, self.descent.made(new[:-1]) as destination:
            move_onto_nothing(source, old[-1], destination, new[-1])


def _found(fd: int) -> Found:
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        raise _os_error(errno.EISDIR if stat.S_ISDIR(status.st_mode) else errno.EPERM)
    if status.st_size > READ_BYTES:
        raise _os_error(errno.EOVERFLOW)
    with os.fdopen(fd, "rb", closefd=False) as file:
        content = file.read()
    return Found(content=content, identity=identity_of(status), mode=stat.S_IMODE(status.st_mode))


def _remove_directory(parent: int, name: bytes) -> None:
    for _ in range(_ATTEMPTS):
        try:
            shutil.rmtree(name, dir_fd=parent)
        except FileNotFoundError:
            # Something in it went at the same moment: the directory itself may still be there.
            os.stat(name, dir_fd=parent, follow_symlinks=False)
        else:
            return
    raise _os_error(errno.EBUSY)


def _kind(mode: int) -> Kind:
    if stat.S_ISREG(mode):
        return Kind.FILE
    if stat.S_ISDIR(mode):
        return Kind.DIRECTORY
    return Kind.LINK if stat.S_ISLNK(mode) else Kind.SPECIAL


def _os_error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


def _taken(directory: int) -> bool:
    """Take the lock of a directory, which goes with its descriptor; tell whether it was free."""
    try:
        fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
