"""The change feed on the wire, which `memfs serve` adds to the Memory Stores API (docs/PROTOCOL.md). Values only."""

from typing import Literal

from memfs.api.models import Actor, Timestamp, Wire

CREATED, MODIFIED, DELETED, REDACTED = "created", "modified", "deleted", "redacted"
STORE_UPDATED, STORE_ARCHIVED = "store_updated", "store_archived"


class MemoryChange(Wire):
    """One change of a store. What is redacted, pruned or of no memory comes with None.

    ``kind`` is a text and no enumeration: a client must bear a kind that came after it.
    """

    type: Literal["memory_change"] = "memory_change"
    kind: str
    memory_id: str | None = None
    memory_version_id: str | None = None
    path: str | None = None
    content_sha256: str | None = None
    content_size_bytes: int | None = None
    created_at: Timestamp
    created_by: Actor | None = None


class ChangesPage(Wire):
    """Changes in the order of their commits, and the cursor of what comes after them."""

    data: list[MemoryChange]
    next: str
    has_more: bool


"""Whether there were more already when this page was read."""
