"""The remote over HTTP: the hosted Memory Stores API, or `memfs serve`.

Decides which request each call of `Remote` is; how it is sent, and when an answer is none, is decided by `Connection`.
It repeats nothing (`Retrying` does). One event loop; calls may run in parallel.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic import TypeAdapter

from memfs.api import routes
from memfs.api.changes import ChangesPage
from memfs.api.models import (
    DeletedMemory,
    DeletedStore,
    Memory,
    MemoryItem,
    MemoryPrefix,
    MemoryVersion,
    Page,
    Store,
    View,
    timestamp,
)
from memfs.api.sessions import RemoteSession
from memfs.core.errors import InvalidContent, InvalidPath
from memfs.remote.connection import Connection
from memfs.remote.listing import Listing

if TYPE_CHECKING:
    import httpx

Item = TypeVar("Item")

_STORE: Final = TypeAdapter(Store)
_STORES: Final = TypeAdapter(Page[Store])
_MEMORY: Final = TypeAdapter(Memory)
_MEMORIES: Final = TypeAdapter(Page[MemoryItem])
_VERSION: Final = TypeAdapter(MemoryVersion)
_VERSIONS: Final = TypeAdapter(Page[MemoryVersion])
_CHANGES: Final = TypeAdapter(ChangesPage)
_SESSION: Final = TypeAdapter(RemoteSession)
_DELETED_STORE: Final = TypeAdapter(DeletedStore)
_DELETED_MEMORY: Final = TypeAdapter(DeletedMemory)


class HttpRemote:
    """A `Remote` at ``base_url``, whose path is kept as a prefix.

    Args:
        base_url: Where the API is, without ``/v1``.
        api_key: Sent as a bearer token.
        connect_timeout_s: Longest time until a connection stands.
        timeout_s: Longest time of a whole call, from its first byte sent to its last byte read.
        in_flight: How many calls run at a time; further ones wait their turn, however long.
        transport: What carries the requests, for tests; the network unless given.
        is_session_token: What is sent is a session's token: a refusal is told as such.

    Raises:
        ConfigError: The URL is no http(s) URL or carries a credential, or the key cannot be a header.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        connect_timeout_s: float = 5.0,
        timeout_s: float = 60.0,
        in_flight: int = 16,
        transport: "httpx.AsyncBaseTransport | None" = None,
        is_session_token: bool = False,
    ) -> None:
        self._connection = Connection(
            base_url,
            api_key,
            connect_timeout_s=connect_timeout_s,
            timeout_s=timeout_s,
            in_flight=in_flight,
            transport=transport,
            is_session_token=is_session_token,
        )
        self._call = self._connection.call

    async def create_store(
        self, name: str, *, description: str = "", metadata: Mapping[str, str] | None = None
    ) -> Store:
        """Make a store; see `Remote`."""
        body = {"name": name, "description": description or None, "metadata": dict(metadata) if metadata else None}
        return await self._call("POST", routes.STORES, _STORE, body=_given(body))

    async def retrieve_store(self, store_id: str) -> Store:
        """Return a store; see `Remote`."""
        return await self._call("GET", routes.path(routes.STORE, store_id=store_id), _STORE)

    async def update_store(
        self,
        store_id: str,
        *,
        name: str | None = None,
        description: str | None = None,
        metadata: Mapping[str, str | None] | None = None,
    ) -> Store:
        """Change a store; see `Remote`."""
        body = {"name": name, "description": description, "metadata": None if metadata is None else dict(metadata)}
        return await self._call("POST", routes.path(routes.STORE, store_id=store_id), _STORE, body=_given(body))

    async def archive_store(self, store_id: str) -> Store:
        """Archive a store; see `Remote`."""
        return await self._call("POST", routes.path(routes.ARCHIVE, store_id=store_id), _STORE)

    async def delete_store(self, store_id: str) -> None:
        """Remove a store; see `Remote`."""
        await self._call("DELETE", routes.path(routes.STORE, store_id=store_id), _DELETED_STORE)

    def list_stores(self, *, include_archived: bool = False) -> Listing[Store]:
        """Yield stores; see `Remote`."""
        query = {"include_archived": "true"} if include_archived else {}
        return self._listing(routes.STORES, _STORES, query, View.BASIC)

    async def create_memory(self, store_id: str, path: str, content: str) -> Memory:
        """Make a memory; see `Remote`."""
        body = {"path": _check_path(path), "content": _check_content(content, path)}
        return await self._call("POST", routes.path(routes.MEMORIES, store_id=store_id), _MEMORY, body=body)

    async def retrieve_memory(self, store_id: str, memory_id: str) -> Memory:
        """Return a memory with its content; see `Remote`."""
        where = routes.path(routes.MEMORY, store_id=store_id, memory_id=memory_id)
        return await self._call("GET", where, _MEMORY, query={"view": View.FULL})

    async def update_memory(
        self,
        store_id: str,
        memory_id: str,
        *,
        content: str | None = None,
        path: str | None = None,
        expect_sha256: str | None = None,
    ) -> Memory:
        """Change a memory; see `Remote`."""
        where = routes.path(routes.MEMORY, store_id=store_id, memory_id=memory_id)
        body = {
            "content": None if content is None else _check_content(content, path or memory_id),
            "path": None if path is None else _check_path(path),
            "precondition": expect_sha256 and {"type": "content_sha256", "content_sha256": expect_sha256},
        }
        return await self._call("POST", where, _MEMORY, body=_given(body))

    async def delete_memory(self, store_id: str, memory_id: str, *, expect_sha256: str | None = None) -> None:
        """Remove a memory; see `Remote`."""
        where = routes.path(routes.MEMORY, store_id=store_id, memory_id=memory_id)
        query = {"expected_content_sha256": expect_sha256} if expect_sha256 else {}
        await self._call("DELETE", where, _DELETED_MEMORY, query=query)

    def list_memories(
        self, store_id: str, *, path_prefix: str = "", depth: int = 0, view: View = View.BASIC
    ) -> Listing[Memory | MemoryPrefix]:
        """Yield memories; see `Remote`."""
        query = {"path_prefix": _check_path(path_prefix) or None, "depth": str(depth) if depth else None, "view": view}
        return self._listing(routes.path(routes.MEMORIES, store_id=store_id), _MEMORIES, _given(query), view)

    def list_versions(
        self,
        store_id: str,
        *,
        memory_id: str | None = None,
        created_at_gte: datetime | None = None,
        view: View = View.BASIC,
    ) -> Listing[MemoryVersion]:
        """Yield versions; see `Remote`."""
        query = {
            "memory_id": memory_id,
            "created_at[gte]": None if created_at_gte is None else timestamp(created_at_gte),
            "view": view,
        }
        return self._listing(routes.path(routes.VERSIONS, store_id=store_id), _VERSIONS, _given(query), view)

    async def retrieve_version(self, store_id: str, version_id: str) -> MemoryVersion:
        """Return a version with its content; see `Remote`."""
        where = routes.path(routes.VERSION, store_id=store_id, version_id=version_id)
        return await self._call("GET", where, _VERSION, query={"view": View.FULL})

    async def redact_version(self, store_id: str, version_id: str) -> MemoryVersion:
        """Clear a version for good; see `Remote`."""
        where = routes.path(routes.REDACT, store_id=store_id, version_id=version_id)
        return await self._call("POST", where, _VERSION)

    async def retrieve_session(self, session_id: str) -> RemoteSession:
        """Return a session with its stores; see `Remote`."""
        where = routes.path(routes.SESSION, session_id=session_id)
        return await self._call("GET", where, _SESSION, beta=routes.BETA_MANAGED_AGENTS)

    @property
    def offers_changes(self) -> bool:
        """Whether an answer has announced the change feed; see `Remote`."""
        return self._connection.offers_changes

    async def read_changes(self, store_id: str, *, after: str | None, wait_s: float = 0) -> ChangesPage:
        """Return what changed after a cursor; see `Remote`."""
        query = {"after": after, "wait": f"{wait_s:g}" if wait_s else None, "limit": str(routes.CHANGES_MOST)}
        where = routes.path(routes.CHANGES, store_id=store_id)
        return await self._call("GET", where, _CHANGES, query=_given(query), wait_s=wait_s)

    async def aclose(self) -> None:
        """Let go of the connections."""
        await self._connection.aclose()

    def _listing(
        self, where: str, shape: TypeAdapter[Page[Item]], query: Mapping[str, str], view: View
    ) -> Listing[Item]:
        limit = routes.LIMIT_FULL if view is View.FULL else routes.LIMIT_MOST

        async def page(cursor: str | None) -> Page[Item]:
            asked = {**query, "limit": str(limit)} | ({"page": cursor} if cursor else {})
            return await self._call("GET", where, shape, query=asked)

        return Listing(page)


def _given(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that are given: on the wire, absent leaves a field as it is."""
    return {name: value for name, value in fields.items() if value is not None}


def _check_content(content: str, path: str) -> str:
    """Refuse here what JSON could carry as an escape and no memory may hold: a lone surrogate has no UTF-8 bytes."""
    if not _is_unicode(content):
        raise InvalidContent(f"the content for {path!a} is not Unicode text (it has a lone surrogate)")
    return content


def _check_path(path: str) -> str:
    if not _is_unicode(path):
        raise InvalidPath(f"the path {path!a} is not Unicode text (it has a lone surrogate)")
    return path


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
