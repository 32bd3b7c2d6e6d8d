"""Durability in one place: bytes are written and fsynced before they are named, and their directory is fsynced after.

Used by whoever stages a file for the tree. No locks and no threads: callers own their paths.
"""

import os
from pathlib import Path

PRIVATE_FILE_MODE = 0o600


def stage(staging: Path, name: str, content: bytes) -> Path:
    """Write and fsync ``content`` as ``staging/name``, ready to be renamed into the tree; an older one is replaced."""
    path = staging / name
    path.unlink(missing_ok=True)
    _write_durably(path, content, PRIVATE_FILE_MODE)
    return path


def fsync_directory(directory: Path | int) -> None:
    """Make the names in a directory durable; takes its path or an open descriptor of it."""
    if isinstance(directory, int):
        os.fsync(directory)
        return
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_all(descriptor: int, content: bytes, offset: int) -> None:
    """Write every byte at ``offset``, however many calls it takes."""
    written = os.pwrite(descriptor, content, offset)
    if written == len(content):
        return
    view, offset = memoryview(content)[written:], offset + written
    while view:
        written = os.pwrite(descriptor, view, offset)
        view, offset = view[written:], offset + written


def _write_durably(path: Path, content: bytes, mode: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, mode)
    try:
        os.fchmod(descriptor, mode)
        write_all(descriptor, content, 0)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
