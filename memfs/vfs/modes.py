"""Permission bits: what programs set and see, and what the backing file has so that it can always be served.

The backing file's owner bits are always on, or the mount of an ordinary user would lock itself out; a bit that a
program took away is remembered in one that means nothing in a mount (set-uid, set-gid, sticky). Pure.
"""

import stat
from functools import lru_cache

_PERMISSIONS = 0o777
_REMEMBERED = ((stat.S_IWUSR, stat.S_ISVTX), (stat.S_IRUSR, stat.S_ISGID), (stat.S_IXUSR, stat.S_ISUID))
_MARKS = stat.S_ISVTX | stat.S_ISGID | stat.S_ISUID
WRITE_BITS = 0o222


@lru_cache(maxsize=1_024)
def backing(mode: int, *, is_directory: bool) -> int:
    """Return the bits to give the backing entry for ``mode``; set-uid, set-gid and sticky cannot be asked for."""
    bits = mode & _PERMISSIONS
    needed = stat.S_IRWXU if is_directory else stat.S_IRUSR | stat.S_IWUSR
    for bit, mark in _REMEMBERED:
        if needed & bit & ~mode:
            bits |= bit | mark
    return bits


def reported(st_mode: int) -> int:
    """Return what programs see of a backing entry's ``st_mode``, the type included."""
    if not st_mode & _MARKS:
        return st_mode
    for bit, mark in _REMEMBERED:
        if st_mode & mark:
            st_mode &= ~bit
    return st_mode & ~_MARKS
