"""The two observations a cycle compares with the baseline: what each side looked like when it was last looked at.

Values in memory, by store path; the worker's control thread owns them. Truth is on disk and on the remote: a view that
is wrong costs a look, since every change is conditional on what the view said.
"""

from typing import NamedTuple

from memfs.api.models import Memory, timestamp
from memfs.core.paths import StorePath
from memfs.core.tree_requests import Identity

RACY_NS = 2_000_000_000
"""A file hashed within so long of its last change may have changed again under the same identity."""


class LocalFile(NamedTuple):
    """A file as it was read."""

    content_sha256: str
    size_bytes: int
    identity: Identity
    hashed_at: float

    def proves(self, identity: Identity) -> bool:
        """Tell whether a file that has ``identity`` now is known to have these bytes still."""
        last_change_ns = max(identity.mtime_ns, identity.ctime_ns)
        return identity == self.identity and self.hashed_at * 1e9 - last_change_ns > RACY_NS


class LocalView:
    """The tree: files that can be memories, directories, and what is in the way."""

    def __init__(self) -> None:
        self.files: dict[StorePath, LocalFile] = {}
        self.directories: set[StorePath] = set()
        self.blocked: set[StorePath] = set()
        """Something is there that cannot be read as a memory: the path is left alone."""
        self.gone: dict[StorePath, LocalFile] = {}
        """The last that was seen at a path that vanished: a rename is known by it."""
        self.gone_since: dict[StorePath, float] = {}
        self.held_since: dict[StorePath, float] = {}
        """First sight of a file whose name programs use while saving."""

    def sha256(self, path: StorePath) -> str | None:
        """Return the digest of the file at a path, None where there is none."""
        file = self.files.get(path)
        return None if file is None else file.content_sha256

    def put(self, path: StorePath, file: LocalFile) -> bool:
        """Note a file; tell whether its bytes are news."""
        before = self.files.get(path)
        self.files[path] = file
        self.blocked.discard(path)
        self.gone.pop(path, None)
        self.gone_since.pop(path, None)
        return before is None or before.content_sha256 != file.content_sha256

    def drop(self, path: StorePath, now: float) -> bool:
        """Note that no file is at a path; tell whether that is news."""
        before = self.files.pop(path, None)
        self.held_since.pop(path, None)
        self.gone_since.setdefault(path, now)
        if before is not None:
            self.gone[path] = before
        return before is not None

    def forget(self, path: StorePath) -> None:
        """Forget that a file was there."""
        self.gone.pop(path, None)
        self.gone_since.pop(path, None)


class RemoteMemory(NamedTuple):
    """A memory as the remote last described it, without its content."""

    memory_id: str
    version_id: str
    content_sha256: str
    size_bytes: int
    updated_at: str


def described(memory: Memory) -> RemoteMemory:
    """Return what the view keeps of a memory."""
    return RemoteMemory(
        memory.id,
        memory.memory_version_id,
        memory.content_sha256,
        memory.content_size_bytes,
        timestamp(memory.updated_at),
    )


class RemoteView:
    """The memories of the store whose paths a tree can hold, and a note about each other one."""

    def __init__(self) -> None:
        self.memories: dict[StorePath, RemoteMemory] = {}
        self.unusable: dict[str, str] = {}
        """Memory id and wire path of what cannot be a file here: never pulled, never deleted."""
        self.is_complete = False
        """Whether every memory is known: until then, one that is not in the view may exist."""
        self.is_verified = False
        """Whether a listing was taken in; before that the view is what the baseline says."""
        self._paths: dict[str, StorePath] = {}
        self._count = 0
        self._touched: dict[str, int] = {}

    def sha256(self, path: StorePath) -> str | None:
        """Return the digest of the memory at a path, None where there is none."""
        memory = self.memories.get(path)
        return None if memory is None else memory.content_sha256

    def path_of(self, memory_id: str) -> StorePath | None:
        """Return where a memory is."""
        return self._paths.get(memory_id)

    def version_of(self, memory_id: str) -> str | None:
        """Return the version that the view knows of a memory."""
        path = self._paths.get(memory_id)
        return None if path is None else self.memories[path].version_id

    def now(self) -> int:
        """Return the moment at which a question is put, for `is_stale`."""
        return self._count

    def is_stale(self, asked_at: int, *keys: str) -> bool:
        """Tell whether something newer became known of one of the ids or paths since ``asked_at``."""
        return any(self._touched.get(key, 0) > asked_at for key in keys)

    def put(self, path: StorePath, memory: RemoteMemory) -> set[StorePath]:
        """Note a memory; return every path about which that is news."""
        if self.memories.get(path) == memory:
            return set()
        news = {path} | self.drop(memory.memory_id)
        other = self.memories.get(path)
        if other is not None:
            # Only one memory can be at a path: the other one was moved or deleted, and its news will come.
            del self._paths[other.memory_id]
        self.memories[path] = memory
        self._paths[memory.memory_id] = path
        self._touch(memory.memory_id, path)
        return news

    def put_unusable(self, memory_id: str, wire_path: str) -> set[StorePath]:
        """Note a memory that cannot be a file here; return every path about which that is news."""
        news = self.drop(memory_id)
        self.unusable[memory_id] = wire_path
        return news

    def drop(self, memory_id: str) -> set[StorePath]:
        """Note that a memory is gone from where it was; return every path about which that is news."""
        self.unusable.pop(memory_id, None)
        path = self._paths.pop(memory_id, None)
        if path is None:
            return set()
        del self.memories[path]
        self._touch(memory_id, path)
        return {path}

    def ids(self) -> set[str]:
        """Return the id of every memory that is known."""
        return self._paths.keys() | self.unusable.keys()

    def _touch(self, *keys: str) -> None:
        self._count += 1
        for key in keys:
            self._touched[key] = self._count
