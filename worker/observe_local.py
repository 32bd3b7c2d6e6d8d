"""Look at the tree: what is at a path, or everywhere, and what of it cannot be a memory.

`LocalObserver` only reads, and only returns values: the worker calls it in a thread and takes the values in on its
control thread. Local-only names are not seen at all. A file whose identity proves that it is what was read before is
not read again by a scan; a path that is asked for by name always is.
"""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from memfs.core.digest import content_sha256
from memfs.core.errors import ConcurrentChange, ContentTooLarge, InvalidPath, PathTooLong
from memfs.core.limits import Limits
from memfs.core.names import Names
from memfs.core.paths import StorePath, from_local
from memfs.core.tree_requests import Identity
from memfs.tree.local import Kind, LocalTree
from worker.views import LocalFile


class Refusal(NamedTuple):
    """Why what is there cannot be a memory."""

    code: str
    message: str


class Sight(NamedTuple):
    """What is at one place of the tree: a file, something that is refused, or nothing."""

    shown: str
    """The path as people read it: bytes that are no UTF-8 are escaped."""
    path: StorePath | None
    """None where the name cannot be a store path."""
    file: LocalFile | None = None
    refusal: Refusal | None = None
    is_directory: bool = False
    is_unsettled: bool = False
    """It changed while it was read: look again."""


Known = Callable[[StorePath], LocalFile | None]


class LocalObserver:
    """The eyes of the worker on one tree."""

    def __init__(self, tree: LocalTree, root: Path, names: Names, limits: Limits, now: Callable[[], float]) -> None:
        self._tree = tree
        self._root = os.fsencode(root)
        self._names = names
        self._limits = limits
        self._now = now

    def look(self, relative: bytes) -> Sight | None:
        """Return what is at ``relative`` (``b"a/b.md"``), None for a name that is never synced."""
        kind = self._kind(relative)
        if self._is_local_only(relative, kind):
            return None
        return self._sight(relative, kind, None, lambda _: None)

    def look_at(self, relatives: list[bytes]) -> list[Sight]:
        """Return what is at each place, without the names that are never synced."""
        return [sight for sight in map(self.look, relatives) if sight is not None]

    def scan(self, known: Known) -> list[Sight]:
        """Return everything that is there; ``known`` says what is known of a path already."""
        return list(self._scan(known))

    def read(self, path: StorePath, expected: LocalFile) -> bytes:
        """Return the bytes of a file that is still the one that was seen.

        Raises:
            ConcurrentChange: It is another one, is gone, or changes.
        """
        try:
            content, identity = self._tree.read(path)
        except FileNotFoundError:
            raise ConcurrentChange(f"{path} is gone since it was observed") from None
        if identity != expected.identity or content_sha256(content) != expected.content_sha256:
            raise ConcurrentChange(f"{path} changed since it was observed")
        return content

    def read_now(self, path: StorePath) -> tuple[bytes, LocalFile]:
        """Return the bytes of the file that is at ``path`` now, and how it was found.

        Raises:
            ConcurrentChange: It is gone, is too large by now, or changes while it is read.
        """
        hashed_at = self._now()
        found = self._tree.identity(path)
        if found is None or found.size > self._limits.memory_bytes:
            raise ConcurrentChange(f"{path} is not what was observed any more")
        try:
            content, identity = self._tree.read(path)
        except FileNotFoundError:
            raise ConcurrentChange(f"{path} is gone since it was observed") from None
        return content, LocalFile(content_sha256(content), len(content), identity, hashed_at)

    def identity(self, path: StorePath) -> Identity | None:
        """Return the identity of the file at ``path``, None where there is none."""
        return self._tree.identity(path)

    def _scan(self, known: Known) -> Iterator[Sight]:
        for entry in self._tree.scan(enter=lambda relative: not self._is_local_only(relative, Kind.DIRECTORY)):
            if not self._is_local_only(entry.relative, entry.kind):
                yield self._sight(entry.relative, entry.kind, entry.identity, known)

    def _sight(self, relative: bytes, kind: Kind | None, identity: Identity | None, known: Known) -> Sight:
        shown = "/" + relative.decode(errors="backslashreplace")
        if kind is None:
            return Sight(shown, _store_path(relative, self._limits))
        try:
            path = from_local(relative, self._limits)
        except (InvalidPath, PathTooLong) as error:
            return Sight(shown, None, refusal=Refusal(error.code, str(error)), is_directory=kind is Kind.DIRECTORY)
        if kind is Kind.DIRECTORY:
            return Sight(shown, path, is_directory=True)
        if kind is Kind.OTHER:
            return Sight(shown, path, refusal=Refusal("not_a_file", f"{path} is a link, a pipe, a socket or a device"))
        before = known(path)
        if before is not None and identity is not None and before.proves(identity):
            return Sight(shown, path, before)
        return self._read(shown, path)

    def _read(self, shown: str, path: StorePath) -> Sight:
        found = self._tree.identity(path)
        if found is None:
            return Sight(shown, path)
        if found.size > self._limits.memory_bytes:
            message = f"{path} has {found.size} bytes; a memory holds at most {self._limits.memory_bytes}"
            return Sight(shown, path, refusal=Refusal(ContentTooLarge.code, message))
        hashed_at = self._now()
        try:
            content, identity = self._tree.read(path)
        except FileNotFoundError:
            return Sight(shown, path)
        except ConcurrentChange:
            return Sight(shown, path, is_unsettled=True)
        except PermissionError:
            return Sight(shown, path, refusal=Refusal("not_a_file", f"{path} may not be read by the worker"))
        return Sight(shown, path, LocalFile(content_sha256(content), len(content), identity, hashed_at))

    def _kind(self, relative: bytes) -> Kind | None:
        try:
            mode = os.lstat(os.path.join(self._root, relative)).st_mode  # noqa: PTH118  (names that are no text)
        except OSError:
            return None
        if stat.S_ISREG(mode):
            return Kind.FILE
        return Kind.DIRECTORY if stat.S_ISDIR(mode) else Kind.OTHER

    def _is_local_only(self, relative: bytes, kind: Kind | None) -> bool:
        text = relative.decode(errors="surrogateescape")
        if kind is Kind.DIRECTORY:
            return self._names.is_local_only_directory(text)
        return self._names.is_local_only(text)


def _store_path(relative: bytes, limits: Limits) -> StorePath | None:
    try:
        return from_local(relative, limits)
    except (InvalidPath, PathTooLong):
        return None
