"""The query parameters of the endpoints, as the API names them. Unknown ones are ignored. Values only."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from memfs.api.models import Operation, View, as_utc
from memfs.api.requests import Sha256
from memfs.api.routes import CHANGES_DEFAULT, CHANGES_MOST, LIMIT_DEFAULT, LIMIT_FULL, LIMIT_MOST, WAIT_MOST_S
from memfs.api.sessions import Status
from memfs.server.store.stamps import microseconds

Limit = Annotated[int, Field(ge=1, le=LIMIT_MOST)]


def _moment(text: str) -> str:
    # A number would be taken as seconds since 1970: the API knows dates and times only.
    try:
        float(text)
    except ValueError:
        return text
    raise ValueError("not a date and time of RFC 3339")


def _whole_segments(prefix: str) -> str:
    if prefix and not prefix.endswith("/"):
        raise ValueError("must end with /")
    return prefix


Moment = Annotated[datetime, BeforeValidator(_moment), AfterValidator(as_utc)]


class Query(BaseModel):
    """Base of the query parameters."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)


class Window(Query):
    """A listing that shows the newest first, from one moment to another, both inclusive."""

    created_at_gte: Moment | None = Field(default=None, alias="created_at[gte]")
    created_at_lte: Moment | None = Field(default=None, alias="created_at[lte]")
    limit: Limit = LIMIT_DEFAULT
    page: str | None = None

    @property
    def created_from(self) -> int | None:
        """The first moment, in microseconds since 1970."""
        return None if self.created_at_gte is None else microseconds(self.created_at_gte)

    @property
    def created_to(self) -> int | None:
        """The last moment, in microseconds since 1970."""
        return None if self.created_at_lte is None else microseconds(self.created_at_lte)


class ListStores(Window):
    """GET /v1/memory_stores."""

    include_archived: bool = False


def _listed(text: str) -> frozenset[str]:
    return frozenset(text.split(",") if text else ())


class ListSessions(Window):
    """GET /v1/sessions."""

    created_at_gt: Moment | None = Field(default=None, alias="created_at[gt]")
    created_at_lt: Moment | None = Field(default=None, alias="created_at[lt]")
    include_archived: bool = False
    memory_store_id: str | None = None
    agent_id: str | None = None
    agent_version: int | None = Field(default=None, ge=1, lt=2**31)
    deployment_id: str | None = None
    statuses: Annotated[frozenset[Status], BeforeValidator(_listed)] = frozenset()
    order: Literal["asc", "desc"] = "desc"

    @property
    def created_from(self) -> int | None:
        """The first moment, in microseconds since 1970."""
        after = None if self.created_at_gt is None else microseconds(self.created_at_gt) + 1
        return max((moment for moment in (super().created_from, after) if moment is not None), default=None)

    @property
    def created_to(self) -> int | None:
        """The last moment, in microseconds since 1970."""
        before = None if self.created_at_lt is None else microseconds(self.created_at_lt) - 1
        return min((moment for moment in (super().created_to, before) if moment is not None), default=None)

    @property
    def is_of_none(self) -> bool:
        """Whether what is asked for is what no session here has: all are idle, and none is of a deployment."""
        return self.deployment_id is not None or bool(self.statuses and Status.IDLE not in self.statuses)


class ListVersions(Window):
    """GET …/memory_versions."""

    memory_id: str | None = None
    operation: Operation | None = None
    api_key_id: str | None = None
    session_id: str | None = None
    service_account_id: str | None = None
    view: View = View.BASIC


class ListMemories(Query):
    """GET …/memories."""

    path_prefix: Annotated[str, AfterValidator(_whole_segments)] = ""
    depth: Annotated[int, Field(ge=0, le=1)] = 0
    limit: Limit = LIMIT_DEFAULT
    page: str | None = None
    view: View = View.BASIC


class FollowChanges(Query):
    """GET …/changes."""

    after: str | None = None
    wait: Annotated[float, Field(ge=0, le=WAIT_MOST_S)] = 0
    limit: Annotated[int, Field(ge=1, le=CHANGES_MOST)] = CHANGES_DEFAULT


class ReadView(Query):
    """What the retrieves take."""

    view: View = View.FULL


class WriteView(Query):
    """What create and update of a memory take."""

    view: View = View.BASIC


class DeleteMemory(Query):
    """DELETE …/memories/{id}."""

    expected_content_sha256: Sha256 | None = None


def page_limit(limit: int, view: View) -> int:
    """Return how many items a page holds: with contents at most 20, however many are asked for."""
    return min(limit, LIMIT_FULL) if view is View.FULL else limit
