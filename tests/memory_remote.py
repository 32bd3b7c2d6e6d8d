"""`MemoryRemote`: a remote in memory, held to the same contract suite as the one over HTTP (import it from fakes)."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import count
from typing import Any, TypeVar

from memory_feed import Feed, Told
from memory_stored import Stored
from pydantic import ValidationError

from memfs.api.changes import REDACTED, STORE_ARCHIVED, STORE_UPDATED, ChangesPage
from memfs.api.models import ApiActor, Memory, MemoryPrefix, MemoryVersion, Operation, Page, Store, View
from memfs.api.requests import CreateStore, UpdateStore, check_metadata
from memfs.api.sessions import RemoteSession
from memfs.core import paths
from memfs.core.digest import check_content, content_sha256
from memfs.core.errors import (
    InvalidContent,
    InvalidRequest,
    NotFound,
    PreconditionFailed,
    StoreFull,
    StoreReadOnly,
)
from memfs.core.limits import Limits
from memfs.remote.listing import Listing

Item = TypeVar("Item")
Viewed = TypeVar("Viewed", Memory, MemoryVersion)
Asked = TypeVar("Asked", CreateStore, UpdateStore)

ACTOR = ApiActor(api_key_id="apikey_fake")


def _now() -> datetime:
    return datetime.now(UTC)


class MemoryRemote:
    """A remote in memory: preconditions, occupancy of paths, versions, no-op updates, pages and limits are real."""

    def __init__(
        self,
        *,
        now: Callable[[], datetime] = _now,
        limits: Limits = paths.DEFAULT_LIMITS,
        page_size: int = 100,
        full_page_size: int = 20,
    ) -> None:
        self._now = now
        self._limits = limits
        self._page_size = page_size
        self._full_page_size = full_page_size
        self._stores: dict[str, Stored] = {}
        self.sessions: dict[str, RemoteSession] = {}
        """By id: put here what a session is to be."""
        self._numbers = count(1)
        self.is_closed = False
        self.offers_changes = True
        """False is a remote without a change feed, as the hosted API is."""

    async def create_store(
        self, name: str, *, description: str = "", metadata: Mapping[str, str] | None = None
    ) -> Store:
        asked = _checked(CreateStore, name=name, description=description, metadata=dict(metadata or {}))
        check_metadata(asked.metadata)
        now = self._now()
        store = Store(id=self._id("memstore"), created_at=now, updated_at=now, **asked.model_dump())
        self._stores[store.id] = Stored(store, Feed(store.id))
        return store

    async def retrieve_store(self, store_id: str) -> Store:
        return self._stored(store_id).store

    async def update_store(
        self,
        store_id: str,
        *,
        name: str | None = None,
        description: str | None = None,
        metadata: Mapping[str, str | None] | None = None,
    ) -> Store:
        stored = self._writable(store_id)
        asked = _checked(UpdateStore, name=name, description=description, metadata=metadata and dict(metadata))
        merged = {**stored.store.metadata, **(asked.metadata or {})}
        kept = {key: value for key, value in merged.items() if value is not None}
        check_metadata(kept)
        changed = stored.store.model_copy(
            update={
                "name": stored.store.name if asked.name is None else asked.name,
                "description": stored.store.description if asked.description is None else asked.description,
                "metadata": kept,
            }
        )
        if changed != stored.store:
            stored.store = changed.model_copy(update={"updated_at": self._now()})
            stored.feed.tell(Told(kind=STORE_UPDATED, at=stored.store.updated_at))
        return stored.store

    async def archive_store(self, store_id: str) -> Store:
        stored = self._stored(store_id)
        if stored.store.archived_at is None:
            now = self._now()
            stored.store = stored.store.model_copy(update={"archived_at": now, "updated_at": now})
            stored.feed.tell(Told(kind=STORE_ARCHIVED, at=now))
        return stored.store

    async def delete_store(self, store_id: str) -> None:
        self._stored(store_id).feed.end()
        del self._stores[store_id]

    def list_stores(self, *, include_archived: bool = False) -> Listing[Store]:
        def items() -> Iterator[tuple[str, Store]]:
            for stored in self._stores.values():
                if include_archived or stored.store.archived_at is None:
                    yield _newest_first(stored.store.id), stored.store

        return self._listing(items, self._page_size)

    async def create_memory(self, store_id: str, path: str, content: str) -> Memory:
        stored = self._writable(store_id)
        wanted = paths.parse(path, self._limits)
        described = self._described(content, path)
        stored.check_free(wanted)
        if len(stored.memories) >= self._limits.memories:
            raise StoreFull(f"the store {store_id} holds {len(stored.memories)} memories, as many as it may")
        now = self._now()
        memory = Memory(
            id=self._id("mem"),
            memory_store_id=store_id,
            memory_version_id=self._id("memver"),
            path=wanted,
            created_at=now,
            updated_at=now,
            **described,
        )
        stored.add(memory)
        self._record(stored, memory, Operation.CREATED)
        return _basic(memory)

    async def retrieve_memory(self, store_id: str, memory_id: str) -> Memory:
        return self._memory(self._stored(store_id), memory_id)

    async def update_memory(
        self,
        store_id: str,
        memory_id: str,
        *,
        content: str | None = None,
        path: str | None = None,
        expect_sha256: str | None = None,
    ) -> Memory:
        stored = self._stored(store_id)
        memory = self._memory(stored, memory_id)
        self._writable(store_id)
        if content is None and path is None:
            raise InvalidRequest("an update needs content or path")
        target = memory.path if path is None else paths.parse(path, self._limits)
        described = {} if content is None else self._described(content, target)
        if target == memory.path and described.get("content", memory.content) == memory.content:
            return _basic(memory)
        _check_digest(memory, expect_sha256)
        stored.check_free(target, of=memory)
        changed = memory.model_copy(
            update={**described, "path": target, "memory_version_id": self._id("memver"), "updated_at": self._now()}
        )
        stored.remove(memory)
        stored.add(changed)
        self._record(stored, changed, Operation.MODIFIED)
        return _basic(changed)

    async def delete_memory(self, store_id: str, memory_id: str, *, expect_sha256: str | None = None) -> None:
        stored = self._stored(store_id)
        memory = self._memory(stored, memory_id)
        _check_digest(memory, expect_sha256)
        stored.remove(memory)
        gone = memory.model_copy(update={"memory_version_id": self._id("memver"), "updated_at": self._now()})
        self._record(stored, gone, Operation.DELETED)

    def list_memories(
        self, store_id: str, *, path_prefix: str = "", depth: int = 0, view: View = View.BASIC
    ) -> Listing[Memory | MemoryPrefix]:
        def items() -> Iterator[tuple[str, Memory | MemoryPrefix]]:
            stored = self._stored(store_id)
            if path_prefix and not path_prefix.endswith("/"):
                raise InvalidRequest(f"the path_prefix {path_prefix!r} does not end with /")
            if depth not in {0, 1}:
                raise InvalidRequest("depth is 0 or 1")
            directory = path_prefix or "/"
            for memory in stored.memories.values():
                below = memory.path.removeprefix(directory)
                if not memory.path.startswith(directory):
                    continue
                if depth == 1 and "/" in below:
                    prefix = MemoryPrefix(path=directory + below.partition("/")[0] + "/")
                    yield prefix.path, prefix
                else:
                    yield memory.path, memory if view is View.FULL else _basic(memory)

        return self._listing(items, self._full_page_size if view is View.FULL else self._page_size)

    def list_versions(
        self,
        store_id: str,
        *,
        memory_id: str | None = None,
        created_at_gte: datetime | None = None,
        view: View = View.BASIC,
    ) -> Listing[MemoryVersion]:
        def items() -> Iterator[tuple[str, MemoryVersion]]:
            for version in self._stored(store_id).versions:
                is_wanted = memory_id in {None, version.memory_id}
                if is_wanted and (created_at_gte is None or version.created_at >= created_at_gte):
                    yield _newest_first(version.id), version if view is View.FULL else _basic(version)

        return self._listing(items, self._full_page_size if view is View.FULL else self._page_size)

    async def retrieve_version(self, store_id: str, version_id: str) -> MemoryVersion:
        found = _version(self._stored(store_id), version_id)
        if found is None:
            raise NotFound(f"there is no version {version_id}")
        return found

    async def redact_version(self, store_id: str, version_id: str) -> MemoryVersion:
        stored = self._stored(store_id)
        version = await self.retrieve_version(store_id, version_id)
        if version.redacted_at is not None:
            return version
        if any(memory.memory_version_id == version_id for memory in stored.memories.values()):
            raise InvalidRequest(f"the version {version_id} is the head of a living memory")
        described = {"path": None, "content": None, "content_sha256": None, "content_size_bytes": None}
        now = self._now()
        redacted = version.model_copy(update={**described, "redacted_at": now, "redacted_by": ACTOR})
        stored.versions[stored.versions.index(version)] = redacted
        stored.feed.tell(Told(kind=REDACTED, at=now, by=ACTOR, version=version_id))
        return redacted

    async def retrieve_session(self, session_id: str) -> RemoteSession:
        if session_id not in self.sessions:
            raise NotFound(f"there is no session {session_id}")
        return self.sessions[session_id]

    async def read_changes(self, store_id: str, *, after: str | None, wait_s: float = 0) -> ChangesPage:
        stored = self._stored(store_id)
        return await stored.feed.read(after, wait_s, lambda wanted: _version(stored, wanted))

    def forget_changes(self, store_id: str) -> None:
        """Let every cursor of before expire."""
        self._stored(store_id).feed.forget()

    async def aclose(self) -> None:
        self.is_closed = True

    def _listing(self, items: Callable[[], Iterable[tuple[str, Item]]], size: int) -> Listing[Item]:
        """Page by key, ascending: what is not touched between two pages is neither omitted nor repeated."""

        async def page(cursor: str | None) -> Page[Item]:
            found = dict(items())
            keys = sorted(found, key=str.encode)
            first = 0 if cursor is None else bisect_right(keys, cursor.encode(), key=str.encode)
            shown = keys[first : first + size]
            rest = len(keys) > first + size
            return Page(data=[found[key] for key in shown], next_page=shown[-1] if rest else None)

        return Listing(page)

    def _id(self, prefix: str) -> str:
        return f"{prefix}_01{next(self._numbers):022d}"

    def _stored(self, store_id: str) -> Stored:
        if store_id not in self._stores:
            raise NotFound(f"there is no store {store_id}")
        return self._stores[store_id]

    def _writable(self, store_id: str) -> Stored:
        stored = self._stored(store_id)
        if stored.store.archived_at is not None:
            raise StoreReadOnly(f"the store {store_id} is archived")
        return stored

    def _memory(self, stored: Stored, memory_id: str) -> Memory:
        if memory_id not in stored.memories:
            raise NotFound(f"there is no memory {memory_id} in {stored.store.id}")
        return stored.memories[memory_id]

    def _described(self, content: str, path: str) -> dict[str, Any]:
        try:
            raw = content.encode()
        except UnicodeEncodeError:
            raise InvalidContent(f"the content for {path!a} has a lone surrogate") from None
        check_content(raw, self._limits, path)
        return {"content": content, "content_sha256": content_sha256(raw), "content_size_bytes": len(raw)}

    def _record(self, stored: Stored, memory: Memory, operation: Operation) -> None:
        described = {"content", "content_sha256", "content_size_bytes"} if operation is not Operation.DELETED else set()
        stored.versions.append(
            MemoryVersion(
                id=memory.memory_version_id,
                memory_id=memory.id,
                memory_store_id=memory.memory_store_id,
                operation=operation,
                path=memory.path,
                created_at=memory.updated_at,
                created_by=ACTOR,
                **memory.model_dump(include=described),
            )
        )
        stored.feed.tell(Told(kind=operation.value, at=memory.updated_at, by=ACTOR, version=memory.memory_version_id))


def _version(stored: Stored, version_id: str) -> MemoryVersion | None:
    return next((one for one in stored.versions if one.id == version_id), None)


def _check_digest(memory: Memory, expected: str | None) -> None:
    if expected is not None and expected != memory.content_sha256:
        raise PreconditionFailed(f"the memory {memory.id} has another content_sha256")


def _basic(full: Viewed) -> Viewed:
    return full.model_copy(update={"content": None})


def _newest_first(numbered: str) -> str:
    """Return a key that sorts an id with a high number before one with a low number."""
    return f"{10**22 - int(numbered.rpartition('_')[2][2:]):023d}"


def _checked(kind: type[Asked], **fields: Any) -> Asked:
    try:
        return kind(**fields)
    except ValidationError as error:
        raise InvalidRequest(f"{error.errors(include_input=False)[0]['loc']} is not allowed") from None
