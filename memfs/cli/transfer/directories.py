"""A directory as one end of a transfer: looked at and read by descriptors, written file by file.

No symlink below the directory is ever followed. A file gets its name only when it is whole and on the disk
(`memfs.agent.directory`); what a killed run leaves of one has a local-only name. One thread.
"""

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import assert_never

from memfs.agent.directory import Changed, Directory
from memfs.cli.transfer.plans import Kind, Present
from memfs.cli.transfer.surveys import Survey
from memfs.core import paths
from memfs.core.digest import content_sha256
from memfs.core.errors import ConcurrentChange
from memfs.core.limits import Limits
from memfs.core.names import Names
from memfs.core.paths import StorePath
from memfs.tree import local
from memfs.tree.local import Entry, LocalTree

_KINDS: Mapping[local.Kind, Kind] = {
    local.Kind.FILE: Kind.FILE,
    local.Kind.DIRECTORY: Kind.DIRECTORY,
    local.Kind.OTHER: Kind.OTHER,
}


class DirectorySource:
    """The files below a directory, to be imported; the caller closes the tree."""

    def __init__(self, tree: LocalTree) -> None:
        self._tree = tree

    def survey(self, limits: Limits, names: Names | None) -> Survey:
        """Look at every file; see `Source`."""
        survey = Survey(limits=limits, names=names)
        aside: set[bytes] = set()
        for entry in self._tree.scan(lambda relative: relative not in aside):
            if survey.is_skipped(entry.relative, is_directory=entry.kind is local.Kind.DIRECTORY):
                aside.add(entry.relative)
                continue
            self._look(survey, entry)
        return survey

    def read(self, path: StorePath) -> bytes:
        """Return a file's bytes; see `Source`."""
        return self._tree.read(path)[0]

    def _look(self, survey: Survey, entry: Entry) -> None:
        match entry.kind:
            case local.Kind.FILE:
                survey.add(entry.relative, entry.identity.size, self.read)
            case local.Kind.OTHER:
                survey.refuse(entry.relative, "a symbolic link or a special file")
            case local.Kind.DIRECTORY:
                pass
            case _ as never:
                assert_never(never)


def present(root: Path, memories: Collection[str], limits: Limits, names: Names) -> dict[str, Present]:
    """Return what is below ``root``, nothing where it does not exist; files at a path of ``memories`` are read.

    Raises:
        OSError: It is no directory, or cannot be read.
    """
    found: dict[str, Present] = {}
    if not os.path.lexists(root):
        return found
    with LocalTree(root) as tree:
        for entry in tree.scan():
            path = "/" + os.fsdecode(entry.relative)
            found[path] = Present(
                kind=_KINDS[entry.kind],
                sha256=_digest(tree, entry, limits) if path in memories else "",
                is_local_only=names.is_local_only(path[1:]),
            )
    return found


class DirectoryTarget:
    """A directory that memories are written to; it is made where there is none."""

    def __init__(self, root: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self._directory = Directory(root)

    def write(self, path: StorePath, content: bytes, *, over: bool) -> None:
        """Put a file at the path, durably and at once; ``over`` replaces the one that is there.

        Raises:
            ConcurrentChange: Somebody else made or changed it meanwhile.
            OSError: As the system says.
        """
        names = [os.fsencode(name) for name in paths.segments(path)]
        try:
            if over:
                self._directory.replace(names, content, self._directory.read(names))
            else:
                self._directory.create(names, content)
        except (Changed, FileExistsError):
            raise ConcurrentChange(f"somebody else wrote {path} meanwhile", remedy="Run it again") from None


def _digest(tree: LocalTree, entry: Entry, limits: Limits) -> str:
    # What is longer than a memory is none, and is not read.
    if entry.kind is not local.Kind.FILE or entry.identity.size > limits.memory_bytes:
        return ""
    return content_sha256(tree.read(paths.from_local(entry.relative, limits))[0])
