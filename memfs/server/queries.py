"""The query parameters of the endpoints, as the API names them. Unknown ones are ignored. Values only."""

from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from memfs.api.models import Operation, View, as_utc
from memfs.api.requests import Sha256
from memfs.api.routes import LIMIT_DEFAULT, LIMIT_FULL, LIMIT_MOST
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
