"""What an import or an export does with each path, given both sides: values in, values out, nothing is touched.

Used by `importing`, `exporting` and `copying`. Equality is content_sha256 alone; hence a run that was cut short goes
on where it stopped. Whatever is refused is named with its reason, and whether the rest is done is the caller's choice.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from memfs.core.errors import StoreFull
from memfs.core.paths import StorePath, ancestors


class Refusal(NamedTuple):
    """A path, or the name of a file that has none, and why nothing is done with it."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to do, by path, in the order of the paths."""

    create: tuple[StorePath, ...]
    update: tuple[StorePath, ...]
    unchanged: tuple[StorePath, ...]
    refused: tuple[Refusal, ...]


class Kind(StrEnum):
    """What a name in a directory is."""

    FILE = "file"
    DIRECTORY = "directory"
    OTHER = "link or special file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """What an export finds at a path. ``sha256`` is that of a file where a memory is to go, "" elsewhere."""

    kind: Kind
    sha256: str = ""
    is_local_only: bool = False


def import_plan(
    files: Mapping[StorePath, str], there: Mapping[StorePath, str], *, overwrite: bool, at_most: int
) -> Plan:
    """Decide for each file (path to content_sha256) what becomes of it in a store that holds ``there``.

    Raises:
        StoreFull: The store would hold more than ``at_most`` memories.
    """
    create, update, unchanged, refused = list[StorePath](), list[StorePath](), list[StorePath](), list[Refusal]()
    files_there, directories_there = set(there), {above for path in there for above in ancestors(path)}
    # In the order of paths /a comes before /a/b: of two files that exclude each other the upper one is taken.
    for path in sorted(files):
        if path in there:
            if there[path] == files[path]:
                unchanged.append(path)
            elif overwrite:
                update.append(path)
            else:
                refused.append(Refusal(path, "the memory there has other content"))
        elif blocker := _blocker(path, files_there, directories_there):
            refused.append(Refusal(path, blocker))
        else:
            create.append(path)
            files_there.add(path)
    if len(there) + len(create) > at_most:
        raise StoreFull(
            f"the store holds {len(there)} memories and would get {len(create)} more; it may hold {at_most}",
            remedy="Split the files among several stores",
        )
    return Plan(create=tuple(create), update=tuple(update), unchanged=tuple(unchanged), refused=tuple(refused))


def export_plan(memories: Mapping[StorePath, str], present: Mapping[str, Present], *, overwrite: bool) -> Plan:
    """Decide for each memory (path to content_sha256) how it gets into a directory that holds ``present``.

    What is no memory makes the directory somebody else's, local-only names and directories aside: then everything
    depends on ``overwrite``, and even so it stays as it is.
    """
    create, update, unchanged, refused = list[StorePath](), list[StorePath](), list[StorePath](), list[Refusal]()
    for path in sorted(memories):
        found = present.get(path)
        if found is None:
            if blocker := _file_above(path, present):
                refused.append(Refusal(path, f"a {present[blocker].kind} is in the way, at {blocker}"))
            else:
                create.append(path)
        elif found.kind is not Kind.FILE:
            refused.append(Refusal(path, f"a {found.kind} is in the way"))
        elif found.sha256 == memories[path]:
            unchanged.append(path)
        elif overwrite:
            update.append(path)
        else:
            refused.append(Refusal(path, "the file there has other content"))
    if not overwrite:
        refused += (Refusal(path, "a file that is no memory of the store") for path in _foreign(memories, present))
    return Plan(create=tuple(create), update=tuple(update), unchanged=tuple(unchanged), refused=tuple(refused))


def _blocker(path: StorePath, files: Collection[str], directories: Collection[str]) -> str:
    if path in directories:
        return "memories lie below that path"
    above = next((above for above in ancestors(path) if above in files), "")
    return above and f"a memory is in the way, at {above}"


def _file_above(path: StorePath, present: Mapping[str, Present]) -> str:
    above = (above for above in ancestors(path) if above in present)
    return next((one for one in above if present[one].kind is not Kind.DIRECTORY), "")


def _foreign(memories: Collection[str], present: Mapping[str, Present]) -> Iterable[str]:
    for path in sorted(present):
        found = present[path]
        if path not in memories and found.kind is not Kind.DIRECTORY and not found.is_local_only:
            yield path
