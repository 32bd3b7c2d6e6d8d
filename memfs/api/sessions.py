"""A session on the wire: which stores an agent has, and how each may be used.

Shapes are those of the vendor's SDK. Memory needs a session's resources of the kind ``memory_store``; what else the
SDK must find in a session has a fixed value here, since this side runs no agents: it names them as the client did.
Values only: safe in any thread.
"""

from enum import StrEnum
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Discriminator, Field, StringConstraints, Tag

from memfs.api.models import Timestamp, Wire
from memfs.api.requests import Body, Instructions, Title
from memfs.core.attachment import Access
from memfs.core.limits import STORES_PER_ATTACHMENT

NO_AGENT: Final = "agent_none"
NO_ENVIRONMENT: Final = "env_none"
"""What a session says where the client named no agent or environment."""
NO_MODEL: Final = "none"
"""The model of every agent here."""


class MemoryStoreResource(Wire):
    """A store as a session has it; name and description as they were when the session was made."""

    type: Literal["memory_store"] = "memory_store"
    memory_store_id: str
    access: Access
    instructions: str | None = None
    name: str
    description: str = ""
    mount_path: str


class Model(Wire):
    """The model of an agent: none."""

    id: str = NO_MODEL


class Identity(Wire):
    """As whom an agent runs: as nobody that the client named."""

    type: Literal["service_account"] = "service_account"


class SessionAgent(Wire):
    """The agent that a session is for, as far as the client told."""

    type: Literal["agent"] = "agent"
    id: str
    name: str
    version: int = 1
    description: str | None = None
    system: str | None = None
    model: Model = Model()
    execution_identity: Identity = Identity()
    mcp_servers: list[Any] = Field(default_factory=list)
    skills: list[Any] = Field(default_factory=list)
    tools: list[Any] = Field(default_factory=list)
    multiagent: None = None


class Status(StrEnum):
    """What an agent does in its session."""

    RESCHEDULING = "rescheduling"
    RUNNING = "running"
    IDLE = "idle"
    TERMINATED = "terminated"


class Session(Wire):
    """A session. ``status`` is always idle: nothing runs here. Its own fields move ``updated_at``."""

    type: Literal["session"] = "session"
    id: str
    title: str | None = None
    metadata: dict[str, str] = Field(default_factory=dict)
    agent: SessionAgent
    environment_id: str
    resources: list[MemoryStoreResource]
    status: Status = Status.IDLE
    created_at: Timestamp
    updated_at: Timestamp
    archived_at: Timestamp | None = None
    budget: None = None
    deployment_id: None = None
    outcome_evaluations: list[Any] = Field(default_factory=list)
    stats: dict[str, float] = Field(default_factory=dict)
    usage: dict[str, float] = Field(default_factory=dict)
    vault_ids: list[str] = Field(default_factory=list)


class NewSession(Session):
    """What creating a session answers, and nothing else ever again: the token that opens its stores."""

    sessions_token: str = Field(repr=False)


class AttachedStore(Wire):
    """A store of a session, as any server of the API may show it; what may be missing there may be missing here."""

    type: Literal["memory_store"]
    memory_store_id: str
    access: Access | None = None
    instructions: str | None = None
    name: str | None = None
    description: str | None = None
    mount_path: str | None = None


class OtherResource(Wire):
    """What else a session may have: files, repositories and what is still to come."""

    type: str


def _kind(resource: object) -> str:
    kind = resource.get("type") if isinstance(resource, dict) else getattr(resource, "type", None)
    return "memory_store" if kind == "memory_store" else "other"


class RemoteSession(Wire):
    """A session as whoever attaches its stores reads it, from any server of the API."""

    id: str
    status: str = Status.IDLE
    archived_at: Timestamp | None = None
    resources: list[
        Annotated[
            Annotated[AttachedStore, Tag("memory_store")] | Annotated[OtherResource, Tag("other")],
            Discriminator(_kind),
        ]
    ]

    @property
    def is_over(self) -> bool:
        """Tell whether nothing more may be done in its name."""
        return self.archived_at is not None or self.status == Status.TERMINATED

    @property
    def stores(self) -> list[AttachedStore]:
        """Return its stores, in its order."""
        return [one for one in self.resources if isinstance(one, AttachedStore)]


class DeletedSession(Wire):
    """The tombstone of a session."""

    type: Literal["session_deleted"] = "session_deleted"
    id: str


def _nothing(value: object) -> object:
    if value:
        raise ValueError("this server keeps memory and runs no agents: leave it out")
    return value


Named = Annotated[str, StringConstraints(pattern="^[!-~]{1,255}$")]
"""An id of something that this side does not have."""
Nowhere = Annotated[Any, AfterValidator(_nothing)]
"""A field of the vendor's API that only a server with agents could honour: empty, or refused."""


class WantedAgent(Body):
    """An agent, by id and version."""

    type: Literal["agent"]
    id: Named
    version: Annotated[int, Field(ge=1, lt=2**31)] = 1


class WantedResource(Body):
    """A store to attach."""

    type: Literal["memory_store"]
    memory_store_id: str
    access: Access | None = None
    instructions: Instructions | None = None


class CreateSession(Body):
    """POST /v1/sessions."""

    agent: Named | WantedAgent = NO_AGENT
    environment_id: Named = NO_ENVIRONMENT
    title: Title | None = None
    metadata: dict[str, str] = Field(default_factory=dict)
    resources: Annotated[list[WantedResource], Field(max_length=STORES_PER_ATTACHMENT)] = Field(default_factory=list)
    budget: Nowhere = None
    initial_events: Nowhere = None
    vault_ids: Nowhere = None


class UpdateSession(Body):
    """POST /v1/sessions/{id}: what is not sent stays; ``title`` null removes it, ``metadata`` is a patch."""

    title: Title | None = None
    metadata: dict[str, str | None] | None = None
    agent: Nowhere = None
    budget: Nowhere = None
    vault_ids: Nowhere = None
