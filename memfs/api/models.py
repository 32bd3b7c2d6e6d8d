"""What travels on the wire: the objects that the server answers and a client reads.

Field names and nulls are section 3 of the Memory Stores API. Reading is lenient where the API may grow (unknown
fields, unknown actors) and strict where a wrong guess loses data (a page without ``data`` is no page). The request
bodies are in `memfs.api.requests`. Values only: safe in any thread.
"""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Generic, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer


class View(StrEnum):
    """Whether a memory or a version comes with its content."""

    BASIC = "basic"
    FULL = "full"


class Operation(StrEnum):
    """What a version records."""

    CREATED = "created"
    MODIFIED = "modified"
    DELETED = "deleted"


def as_utc(moment: datetime) -> datetime:
    """Return ``moment`` in UTC; one without an offset is taken as UTC, since clients send such.

    Raises:
        ValueError: Its offset carries it past the first or the last year there is.
    """
    if moment.tzinfo is UTC:
        return moment
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("a year from 1 to 9999 is wanted") from None


def timestamp(moment: datetime) -> str:
    """Return RFC 3339 in UTC with ``Z`` and six digits, whatever the moment."""
    return as_utc(moment).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


Timestamp = Annotated[datetime, AfterValidator(as_utc), PlainSerializer(timestamp, return_type=str, when_used="json")]


class Wire(BaseModel):
    """Base of what a server answers. Errors never show the input: it may be a memory's content."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)


class Store(Wire):
    """A memory store. ``updated_at`` moves with the store's own fields and on archive, not with its memories."""

    type: Literal["memory_store"] = "memory_store"
    id: str
    name: str
    description: str = ""
    metadata: dict[str, str] = Field(default_factory=dict)
    created_at: Timestamp
    updated_at: Timestamp
    archived_at: Timestamp | None = None


class Memory(Wire):
    """A memory. ``content`` is None under the basic view; digest and size (of the UTF-8 bytes) are always there."""

    type: Literal["memory"] = "memory"
    id: str
    memory_store_id: str
    memory_version_id: str
    path: str
    content: str | None = None
    content_sha256: str
    content_size_bytes: int
    created_at: Timestamp
    updated_at: Timestamp


class MemoryPrefix(Wire):
    """What a listing of depth 1 shows for all memories below one segment. ``path`` ends with a slash."""

    type: Literal["memory_prefix"] = "memory_prefix"
    path: str


class ApiActor(Wire):
    """A program with an API key."""

    type: Literal["api_actor"] = "api_actor"
    api_key_id: str


class SessionActor(Wire):
    """An agent that wrote through its mount."""

    type: Literal["session_actor"] = "session_actor"
    session_id: str


class UserActor(Wire):
    """A person in the hosted console."""

    type: Literal["user_actor"] = "user_actor"
    user_id: str


class ServiceAccountActor(Wire):
    """A service account."""

    type: Literal["service_account_actor"] = "service_account_actor"
    service_account_id: str


class UnknownActor(Wire):
    """A kind of actor that came after this code: reading a history must not fail on it."""

    type: str


Actor = Annotated[
    ApiActor | SessionActor | UserActor | ServiceAccountActor | UnknownActor, Field(union_mode="left_to_right")
]


class MemoryVersion(Wire):
    """One immutable row of a memory's history; which fields are None, and when, is in the API's table.

    ``path`` is None exactly when the version is redacted; digest and size are also None for a deletion.
    """

    type: Literal["memory_version"] = "memory_version"
    id: str
    memory_id: str
    memory_store_id: str
    operation: Operation
    path: str | None = None
    content: str | None = None
    content_sha256: str | None = None
    content_size_bytes: int | None = None
    created_at: Timestamp
    created_by: Actor | None = None
    redacted_at: Timestamp | None = None
    redacted_by: Actor | None = None


class DeletedStore(Wire):
    """The tombstone of a store."""

    type: Literal["memory_store_deleted"] = "memory_store_deleted"
    id: str


class DeletedMemory(Wire):
    """The tombstone of a memory."""

    type: Literal["memory_deleted"] = "memory_deleted"
    id: str


MemoryItem = Annotated[Memory | MemoryPrefix, Field(discriminator="type")]
"""What a listing of memories holds."""

Item = TypeVar("Item")


class Page(Wire, Generic[Item]):
    """Some of a listing, and the cursor of the rest. ``data`` must be there: a missing one is no empty listing."""

    data: list[Item]
    next_page: str | None = None
