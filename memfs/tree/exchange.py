"""Changing a name in one step where programs change the same tree without asking: what was there is never lost.

`memfs.tree.swap` uses it where no mount stands between programs and the tree. The file that a program saved in the very
moment between comparison and change is found out afterwards, and the change taken back. Open directory descriptors and
plain names; nothing is shared between threads.
"""

import ctypes
import errno
import os

from memfs.core.tree_requests import Identity
from memfs.tree.local import identity_of
from memfs.tree.trash import link_to_trash, under_free_name

_EXCHANGE, _NO_REPLACE = 2, 1
_NOT_SUPPORTED = frozenset({errno.EINVAL, errno.ENOSYS})
"""What some file systems answer to either flag: then a moment is left in which two programs may meet."""
_libc = ctypes.CDLL(None, use_errno=True)
_libc.renameat2.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)


def move_onto_nothing(parent: int, name: str, target_parent: int, target: str) -> bool:
    """Rename a file; False, with nothing changed, where something is at the target.

    Raises:
        OSError: The disk refuses; nothing was changed.
    """
    try:
        _rename(parent, name, target_parent, target, _NO_REPLACE)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NOT_SUPPORTED:
            raise
        if _exists(target_parent, target):
            return False
        os.rename(name, target, src_dir_fd=parent, dst_dir_fd=target_parent)
    return True


def replace(parent: int, name: str, staging: int, staged: str, *, expect: Identity, trash: int, kept: str) -> bool:
    """Put a staged file in the place of another, which goes to trash as ``kept`` or like it.

    Whoever has the old file open goes on writing it there, so late bytes are kept as well. Returns False, with nothing
    changed, where the file is not the expected one any more.

    Raises:
        OSError: The disk refuses; nothing was changed.
    """
    ours = _identity(staging, staged)
    try:
        _rename(staging, staged, parent, name, _EXCHANGE)
    except OSError as error:
        if error.errno not in _NOT_SUPPORTED:
            raise
        link_to_trash(parent, name, trash, kept)
        os.rename(staged, name, src_dir_fd=staging, dst_dir_fd=parent)
        return True
    if not _is_same(staging, staged, expect):
        _rename(staging, staged, parent, name, _EXCHANGE)
        if not _is_same(staging, staged, ours):
            # A program has saved once more in this very moment, into what is taken back.
            _move_to_trash(staging, staged, trash, kept)
        return False
    _move_to_trash(staging, staged, trash, kept)
    return True


def remove(parent: int, name: str, expect: Identity, trash: int, kept: str) -> bool:
    """Move a file to trash as ``kept`` or like it; False, with nothing changed, where it is not the expected one.

    Raises:
        OSError: The disk refuses; nothing was changed.
    """
    moved = _move_to_trash(parent, name, trash, kept)
    if _is_same(trash, moved, expect):
        return True
    # Something newer may have got the name meanwhile: then what was moved stays where it is kept.
    move_onto_nothing(trash, moved, parent, name)
    return False


def _move_to_trash(parent: int, name: str, trash: int, kept: str) -> str:
    def move(free: str) -> str:
        if not move_onto_nothing(parent, name, trash, free):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), free)
        return free

    return under_free_name(kept, move)


def _is_same(parent: int, name: str, expect: Identity) -> bool:
    # A rename changes the ctime.
    found = _identity(parent, name)
    return (found.inode, found.size, found.mtime_ns) == (expect.inode, expect.size, expect.mtime_ns)


def _identity(parent: int, name: str) -> Identity:
    return identity_of(os.stat(name, dir_fd=parent, follow_symlinks=False))


def _rename(source: int, name: str, target: int, new_name: str, flags: int) -> None:
    if _libc.renameat2(source, os.fsencode(name), target, os.fsencode(new_name), flags):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), name)


def _exists(parent: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
