"""Permission bits as far as they go: who is not root cannot write into a read_only store by mistake.

Directory mode has no other means at the moment of a write; what is written all the same, the worker puts back. A mark
beside the tree says that bits were taken, so that whoever serves the store next gives them back. In one thread, by
whoever holds the state directory for a mount.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from memfs.state.layout import StoreLayout

_WRITE = 0o222


def protect(store: StoreLayout) -> None:
    """Take the write bits of every file and directory of a tree.

    Raises:
        OSError: The tree cannot be walked.
    """
    store.write_protected.touch(mode=0o600)
    for path in _below(store.tree):
        _change(path, taken=_WRITE)


def release(store: StoreLayout) -> None:
    """Give the owner's write bits back, where they were taken.

    Raises:
        OSError: The tree cannot be walked.
    """
    if not store.write_protected.exists():
        return
    # From above: below a directory that may not be written, nothing can be changed by who is not root.
    for path in reversed(list(_below(store.tree))):
        _change(path, given=stat.S_IWUSR)
    store.write_protected.unlink(missing_ok=True)


@contextmanager
def opened(store: StoreLayout, paths: tuple[str, ...]) -> Iterator[None]:
    """Let the owner of a tree change these store paths within the block; afterwards all is protected again."""
    above = sorted({directory for path in paths for directory in _above(store.tree, path)})
    for directory in above:
        _change(directory, given=stat.S_IWUSR)
    try:
        yield
    finally:
        for path in (*above, *(store.tree / path[1:] for path in paths)):
            _change(path, taken=_WRITE)


def _above(tree: Path, path: str) -> list[Path]:
    names = path.strip("/").split("/")[:-1]
    return [tree.joinpath(*names[:count]) for count in range(len(names) + 1)]


def _below(tree: Path) -> Iterator[Path]:
    """Yield what is in a tree, contents before their directory, the tree itself last."""
    for directory, _, files in os.walk(tree, topdown=False):
        yield from (Path(directory, name) for name in files)
        yield Path(directory)


def _change(path: Path, *, given: int = 0, taken: int = 0) -> None:
    with suppress(FileNotFoundError, PermissionError):  # It went away meanwhile, or is somebody else's.
        found = path.lstat().st_mode
        wanted = stat.S_IMODE(found) & ~taken | given
        if not stat.S_ISLNK(found) and wanted != stat.S_IMODE(found):
            path.chmod(wanted)
