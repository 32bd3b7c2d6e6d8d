"""What a ``memfs.toml`` may say: one model per table, every default and unit beside its name."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from memfs.core.attachment import Access, WantedStore
from memfs.core.limits import Limits

_LIMITS = Limits()
_DATABASES = frozenset({"postgresql", "postgres", "postgresql+psycopg"})
_NO_DATABASE = "must be a URL like postgresql://USER@HOST/DATABASE"
_HALF_TLS = "tls_cert and tls_key go together"
_BOTH_WAYS = "session.id and [[stores]] exclude each other"
DEFAULT_LISTEN = "127.0.0.1:8484"
DEFAULT_BASE_URL = f"http://{DEFAULT_LISTEN}"


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _path(text: object, info: ValidationInfo) -> object:
    """Read a path from TOML's text: ``~`` is the user's home, a relative one starts at the file that says it."""
    if not isinstance(text, str):
        return text
    directory = info.context["directory"] if info.context else Path()
    return directory / Path(text).expanduser()


def _database_url(text: str) -> str:
    if text.partition("://")[0] not in _DATABASES:
        raise ValueError(_NO_DATABASE)  # the value is not said: it may hold a password
    return text


FilePath = Annotated[Path, BeforeValidator(_path)]
DatabaseUrl = Annotated[str, AfterValidator(_database_url)]
Seconds = Annotated[float, Field(gt=0, le=86_400)]
PruneSeconds = Annotated[float, Field(ge=60, le=2_592_000)]
Umask = Annotated[str, Field(pattern="^0?[0-7]{3}$")]


class StateTable(_Table):
    """``[state]``: what memfs keeps on this host."""

    dir: FilePath | None = Field(
        default=None,
        description="State directory; else `memfs/default` in `$XDG_STATE_HOME`, or `/var/lib` for root",
    )


class RemoteTable(_Table):
    """``[remote]``: where the stores are."""

    base_url: str | None = Field(default=None, description="Base URL of the hosted API or of a memfs server")
    api_key_file: FilePath | None = Field(default=None, description="File that holds the API key, mode 0600")


class MountTable(_Table):
    """``[mount]``: how the stores appear."""

    point: FilePath | None = Field(default=None, description="Directory under which each store appears")
    fuse: bool = Field(
        default=True, description="`false` is directory mode: links to the trees, for hosts without FUSE"
    )
    allow_other: bool = Field(default=False, description="Let other users than the mounting one in")
    uid: int | None = Field(default=None, ge=0, description="Owner of every file, the mounting user unless given")
    gid: int | None = Field(default=None, ge=0, description="Group of every file, the mounting user's unless given")
    umask: Umask = Field(default="022", description="Permission bits that new and pulled files go without, octal")
    open_upcalls: Literal["auto", "always"] = Field(
        default="auto", description="`always` for kernels or sandboxes that cannot open files by themselves"
    )


class WorkerTable(_Table):
    """``[worker]``: how local edits go out and remote ones come in."""

    poll_s: Seconds = Field(
        default=30.0, description="Seconds between two looks for remote edits, where the remote has no change feed"
    )
    drain_timeout_s: Seconds = Field(default=20.0, description="Longest time a stopping worker goes on pushing")
    conflicts: Literal["merge", "remote", "local"] = Field(
        default="merge",
        description="Of two edits: merge them by lines, or the remote's or the local one keeps the name",
    )


class ServerTable(_Table):
    """``[server]``: the embedded server of `memfs up`, and what `memfs serve` uses."""

    embedded: bool = Field(default=False, description="`memfs up` starts a server of its own")
    listen: str = Field(default=DEFAULT_LISTEN, description="HOST:PORT to listen on")
    database: DatabaseUrl | None = Field(
        default=None, repr=False, description="PostgreSQL URL; else the SQLite file `memfs.db` in `data`"
    )
    workers: int = Field(default=1, ge=1, le=64, description="Server processes; more than one needs PostgreSQL")
    tls_cert: FilePath | None = Field(default=None, description="Certificate chain in PEM; plain HTTP without it")
    tls_key: FilePath | None = Field(default=None, description="Key of the certificate in PEM")
    memories: int = Field(default=_LIMITS.memories, ge=1, description="Memories that a store may hold")
    memory_bytes: int = Field(
        default=_LIMITS.memory_bytes, ge=1, le=_LIMITS.memory_bytes, description="Bytes that a memory may have"
    )
    body_bytes: int | None = Field(
        default=None, ge=1_024, description="Bytes of a request's body; else what the largest memory can need"
    )
    requests_per_minute: int | None = Field(
        default=None, ge=1, description="Requests of each key or session in a minute; else any number"
    )
    strict_beta: bool = Field(
        default=False, description="Refuse requests without a beta header, as the hosted API does"
    )
    settle_retries: bool = Field(
        default=True, description="Answer a repeated request whose first answer was lost with what the first one did"
    )
    access_log: bool = Field(default=True, description="One line for each request; never of the server of `memfs up`")
    prune_every_s: PruneSeconds | None = Field(
        default=None, description="Seconds between two removals of expired versions; else never"
    )
    retention_days: int = Field(default=30, ge=30, description="Days for which every version is kept")
    keep_newest: int = Field(default=10, ge=10, description="Versions of a living memory that are kept for ever")
    data: FilePath | None = Field(
        default=None,
        description="Database and API key; else `memfs/server` in `$XDG_DATA_HOME`, or `/var/lib` for root",
    )

    @model_validator(mode="after")
    def _has_both_of_tls(self) -> Self:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ValueError(_HALF_TLS)
        return self


class NamesTable(_Table):
    """``[names]``: further names that are no memories, in gitignore syntax."""

    local_only: list[str] = Field(default=[], description="Never synced, not counted")
    held_back: list[str] = Field(default=[], description="A memory only when it still exists after 60 s")


class LoggingTable(_Table):
    """``[logging]``: what the processes tell."""

    level: Literal["debug", "info", "warning", "error"] = Field(default="info", description="Least level shown")


class StoreTable(_Table):
    """``[[stores]]``: one attached store."""

    store: str = Field(min_length=1, description="Id (`memstore_…`) or display name")
    access: Literal["read_write", "read_only"] = Field(default="read_write", description="`read_write` or `read_only`")
    instructions: str = Field(default="", max_length=4_096, description="What an agent is told about this store")


class SessionTable(_Table):
    """``[session]``: a session whose stores are attached, instead of `[[stores]]`."""

    id: str | None = Field(default=None, min_length=1, description="Its id; what it says of its stores is taken over")
    token_file: FilePath | None = Field(
        default=None, description="File that holds the session's token, mode 0600; else the API key is used"
    )


class Settings(_Table):
    """Everything a ``memfs.toml`` may say."""

    state: StateTable = StateTable()
    remote: RemoteTable = RemoteTable()
    mount: MountTable = MountTable()
    worker: WorkerTable = WorkerTable()
    server: ServerTable = ServerTable()
    names: NamesTable = NamesTable()
    logging: LoggingTable = LoggingTable()
    session: SessionTable = SessionTable()
    stores: list[StoreTable] = Field(default=[])

    @field_validator("stores")
    @classmethod
    def _names_stores_in_one_way(cls, stores: list[StoreTable], info: ValidationInfo) -> list[StoreTable]:
        session = info.data.get("session")
        if stores and session and session.id:
            raise ValueError(_BOTH_WAYS)
        return stores

    def wanted_stores(self) -> list[WantedStore]:
        """Return the stores as a resolver takes them."""
        return [WantedStore(store=s.store, access=Access(s.access), instructions=s.instructions) for s in self.stores]
