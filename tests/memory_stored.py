"""One store of a `MemoryRemote`."""

from collections import Counter
from dataclasses import dataclass, field

from memory_feed import Feed

from memfs.api.models import Memory, MemoryVersion, Store
from memfs.core import paths
from memfs.core.errors import PathConflict


@dataclass
class Stored:
    """One store: its memories by id and by path, how many memories lie below each directory, its history."""

    store: Store
    feed: Feed
    memories: dict[str, Memory] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    below: Counter[str] = field(default_factory=Counter)
    versions: list[MemoryVersion] = field(default_factory=list)

    def add(self, memory: Memory) -> None:
        self.memories[memory.id] = memory
        self.ids[memory.path] = memory.id
        self.below.update(_above(memory.path))

    def remove(self, memory: Memory) -> None:
        del self.memories[memory.id], self.ids[memory.path]
        self.below.subtract(_above(memory.path))

    def check_free(self, path: str, *, of: Memory | None = None) -> None:
        """Refuse a path that is taken: itself, an ancestor or a descendant, the memory ``of`` aside."""
        for candidate in (path, *_above(path)):
            holder = self.ids.get(candidate)
            if holder and (of is None or holder != of.id):
                raise _conflict(path, candidate, holder)
        own = 1 if of and paths.is_below(of.path, path) else 0
        if self.below[path] > own:
            blocker = next(p for p in sorted(self.ids) if paths.is_below(p, path) and (of is None or p != of.path))
            raise _conflict(path, blocker, self.ids[blocker])


def _above(path: str) -> list[paths.StorePath]:
    return paths.ancestors(paths.StorePath(path))


def _conflict(path: str, blocker: str, memory_id: str) -> PathConflict:
    return PathConflict(f"{path!a} is taken by {blocker!a}", conflicting_path=blocker, conflicting_memory_id=memory_id)
