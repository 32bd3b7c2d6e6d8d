"""How a file gets its name: staged, fsynced, renamed; onto what was read, or onto nothing at all.

Used by `directory`. The temporary name `.tmp-…~` is local-only (memfs.core.names): if the process dies, what is left
of it is never synced, never counted. "Onto nothing" is RENAME_NOREPLACE where the file system has it; our own mount
speaks a protocol without it (EINVAL), so there the target is reserved first, by O_EXCL or mkdir, which only one of
several can win. All names are below open directory descriptors; nothing is shared between threads.
"""

import ctypes
import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from memfs.agent.descent import sync_directory

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_RENAME_NOREPLACE = 1
_NOT_SUPPORTED = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP})

_RenameAt2 = Callable[[int, bytes, int, bytes, int], int]


def _find_renameat2() -> _RenameAt2 | None:
    function = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if function is None:
        return None
    function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    function.restype = ctypes.c_int
    return function  # type: ignore[no-any-return]  # ctypes describes its functions at run time only


_renameat2 = _find_renameat2()


@contextmanager
def staged(directory: int, content: bytes, mode: int) -> Iterator[bytes]:
    """Write ``content`` durably under a temporary name in ``directory``; it is removed if the block raises.

    Raises:
        OSError: As the system says.
    """
    name = f".tmp-{secrets.token_hex(6)}~".encode()
    try:
        _write(directory, name, content, mode)
        yield name
    except BaseException:
        with suppress(OSError):
            os.unlink(name, dir_fd=directory)
        raise


def move_onto(directory: int, name: bytes, target: bytes) -> None:
    """Rename within ``directory``, replacing what is at ``target``, durably.

    Raises:
        OSError: As the system says.
    """
    os.rename(name, target, src_dir_fd=directory, dst_dir_fd=directory)
    sync_directory(directory)


def move_onto_nothing(source: int, name: bytes, destination: int, target: bytes) -> None:
    """Rename from one open directory to another, durably; never onto something.

    Raises:
        FileExistsError: Something is at ``target``.
        OSError: As the system says.
    """
    if not _renamed_atomically(source, name, destination, target):
        _rename_reserved(source, name, destination, target)
    sync_directory(destination)
    if source != destination:
        sync_directory(source)


def _renamed_atomically(source: int, name: bytes, destination: int, target: bytes) -> bool:
    """Rename with RENAME_NOREPLACE; False where system or file system do not know it."""
    if _renameat2 is None:
        return False
    if _renameat2(source, name, destination, target, _RENAME_NOREPLACE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _NOT_SUPPORTED:
        return False
    raise OSError(number, os.strerror(number))


def _rename_reserved(source: int, name: bytes, destination: int, target: bytes) -> None:
    is_directory = stat.S_ISDIR(os.stat(name, dir_fd=source, follow_symlinks=False).st_mode)
    reserve = _reserved_directory if is_directory else _reserved_file
    with reserve(destination, target):
        os.rename(name, target, src_dir_fd=source, dst_dir_fd=destination)


@contextmanager
def _reserved_directory(parent: int, name: bytes) -> Iterator[None]:
    os.mkdir(name, 0o700, dir_fd=parent)
    try:
        yield
    except BaseException:
        # Only an empty one goes: a file that someone put there meanwhile stays.
        with suppress(OSError):
            os.rmdir(name, dir_fd=parent)
        raise


@contextmanager
def _reserved_file(parent: int, name: bytes) -> Iterator[None]:
    try:
        fd = os.open(name, _NEW, 0o600, dir_fd=parent)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        # A full store holds no second name for the file, and gives nobody else one: a look is as good.
        _refuse_taken(parent, name)
        yield
        return
    inode = os.fstat(fd).st_ino
    os.close(fd)
    try:
        yield
    except BaseException:
        with suppress(OSError):
            now = os.stat(name, dir_fd=parent, follow_symlinks=False)
            if now.st_ino == inode and now.st_size == 0:  # still ours and nobody has written to it
                os.unlink(name, dir_fd=parent)
        raise


def _refuse_taken(parent: int, name: bytes) -> None:
    with suppress(FileNotFoundError):
        os.stat(name, dir_fd=parent, follow_symlinks=False)
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))


def _write(directory: int, name: bytes, content: bytes, mode: int) -> None:
    fd = os.open(name, _NEW, 0o600, dir_fd=directory)
    try:
        if mode != 0o600:  # noqa: PLR2004  (the mode it was just opened with)
            os.fchmod(fd, mode)
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(fd, rest) :]
        os.fsync(fd)
    finally:
        os.close(fd)
