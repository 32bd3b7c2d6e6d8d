"""The far side of a store as an interface; its docstrings are obligations that `tests/contract` checks.

Used by the worker, the command line and the wrappers of this room (`Retrying`). Implementations: `HttpRemote` (the
hosted API or `memfs serve`), `MemoryRemote` of the tests. One event loop; within it calls may run in parallel.

Every call may raise, besides what its docstring names:
    AuthenticationFailed, PermissionRefused: the credential; nothing was done.
    RateLimited: nothing was done; ``retry_after_s`` says how long to wait.
    RemoteUnavailable: there was no usable answer; a change may or may not have been made.
    InvalidRequest: a rule of the wire contract is broken; nothing was done.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from memfs.api.changes import ChangesPage
from memfs.api.models import Memory, MemoryPrefix, MemoryVersion, Store, View
from memfs.api.sessions import RemoteSession
from memfs.remote.listing import Listing


class Remote(Protocol):
    """Stores, memories and versions of one workspace.

    Each change is atomic: it is seen whole or not at all, and a listing begun after it returned shows it. What the
    remote returns was parsed: an answer that is not of the contract's shape is RemoteUnavailable, never half a value.

    A listing is an asynchronous iterator in the remote's order. It reads its pages as it goes and **raises** where a
    page cannot be had: a listing that ended without an exception is complete. After a retryable failure, asking it for
    the next item tries that page again. A memory that nobody touches meanwhile is yielded exactly once; one that is
    renamed meanwhile may be missing or come twice.
    """

    async def create_store(
        self, name: str, *, description: str = "", metadata: Mapping[str, str] | None = None
    ) -> Store:
        """Make a store. Not idempotent: names are not unique, so a second call makes a second store."""
        ...

    async def retrieve_store(self, store_id: str) -> Store:
        """Return a store, archived or not. Raises NotFound."""
        ...

    async def update_store(
        self,
        store_id: str,
        *,
        name: str | None = None,
        description: str | None = None,
        metadata: Mapping[str, str | None] | None = None,
    ) -> Store:
        """Change what is given; ``metadata`` is a patch in which None removes a key.

        Unconditional: a repeated call can undo what another writer did in between. Raises NotFound, InvalidRequest
        (a limit is passed), StoreReadOnly (the store is archived).
        """
        ...

    async def archive_store(self, store_id: str) -> Store:
        """Make a store read-only for good. May be called twice: the first ``archived_at`` stays. Raises NotFound."""
        ...

    async def delete_store(self, store_id: str) -> None:
        """Remove a store with its memories and versions for good. Raises NotFound, also on a second call."""
        ...

    def list_stores(self, *, include_archived: bool = False) -> Listing[Store]:
        """Yield every store of the workspace, archived ones where asked for."""
        ...

    async def create_memory(self, store_id: str, path: str, content: str) -> Memory:
        """Make a memory where none is; it never overwrites.

        Not to be repeated blindly: after a lost answer a second call raises PathConflict about the first one's memory.

        Raises NotFound (the store), PathConflict (the path, an ancestor or a descendant is taken), StoreFull,
        InvalidContent (a lone surrogate; refused before anything is sent), StoreReadOnly (the store is archived),
        InvalidRequest and its kinds (path, size).
        """
        ...

    async def retrieve_memory(self, store_id: str, memory_id: str) -> Memory:
        """Return a memory with its content. Raises NotFound, also for a memory of another store."""
        ...

    async def update_memory(
        self,
        store_id: str,
        memory_id: str,
        *,
        content: str | None = None,
        path: str | None = None,
        expect_sha256: str | None = None,
    ) -> Memory:
        """Change content, path or both; the id stays. ``expect_sha256`` is the content_sha256 the caller assumes.

        May be called twice with the same arguments: where content and path already are what is asked for, the memory
        is returned, no version is written, and ``expect_sha256`` is not looked at. Hence a lost answer heals by itself.
        Without ``expect_sha256`` a repeated call can undo what another writer did in between.

        Raises NotFound, PreconditionFailed (nothing was changed), PathConflict (a rename never overwrites),
        InvalidContent, StoreReadOnly (the store is archived), InvalidRequest and its kinds (neither content nor path
        is given, a path, a size).
        """
        ...

    async def delete_memory(self, store_id: str, memory_id: str, *, expect_sha256: str | None = None) -> None:
        """Remove a memory; its versions stay. Allowed in an archived store.

        May be called twice; the second raises NotFound. Raises NotFound, PreconditionFailed (nothing was removed).
        """
        ...

    def list_memories(
        self, store_id: str, *, path_prefix: str = "", depth: int = 0, view: View = View.BASIC
    ) -> Listing[Memory | MemoryPrefix]:
        """Yield the memories below ``path_prefix`` (``""`` or ending in ``/``).

        ``depth=1`` yields the direct children, and one MemoryPrefix for each directory among them; 0 yields all
        memories below. ``View.BASIC`` leaves ``content`` None. Raises NotFound (the store), InvalidRequest.
        """
        ...

    def list_versions(
        self,
        store_id: str,
        *,
        memory_id: str | None = None,
        created_at_gte: datetime | None = None,
        view: View = View.BASIC,
    ) -> Listing[MemoryVersion]:
        """Yield versions, newest first, of one memory (gone ones included) or of the store; the bound is inclusive."""
        ...

    async def retrieve_version(self, store_id: str, version_id: str) -> MemoryVersion:
        """Return a version with its content (None where deleted or redacted). Raises NotFound."""
        ...

    async def redact_version(self, store_id: str, version_id: str) -> MemoryVersion:
        """Clear a version's content, path, digest and size for good; it stays listed. Also in an archived store.

        May be called twice: the first ``redacted_at`` stays. Raises NotFound, InvalidRequest (the version is what a
        living memory holds now).
        """
        ...

    async def retrieve_session(self, session_id: str) -> RemoteSession:
        """Return a session with its stores, archived or not. Raises NotFound.

        A session's own token may ask for it as well, and for no other (PermissionRefused or NotFound).
        """
        ...

    @property
    def offers_changes(self) -> bool:
        """Whether an answer has announced the change feed; False before the first one."""
        ...

    async def read_changes(self, store_id: str, *, after: str | None, wait_s: float = 0) -> ChangesPage:
        """Return what changed after a cursor, oldest first; None returns the cursor of now and no changes.

        Only where ``offers_changes``. Changes come in the order of their commits, none left out and none twice; what a
        listing begun after the cursor was taken shows already may be told again. Where there is none yet, the call
        waits up to ``wait_s`` seconds (60 at most) for one, in addition to the other calls in flight.

        May be repeated with the same cursor. Raises NotFound (the store, also when it goes during the wait),
        InvalidRequest (no cursor of this store), ChangeCursorExpired (list the store again).
        """
        ...

    async def aclose(self) -> None:
        """Let go of the connections. May be called twice; no other call may follow."""
        ...
