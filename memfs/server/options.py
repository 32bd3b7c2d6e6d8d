"""How a server is to be run: every choice that its operator has, with the defaults. Values only."""

from dataclasses import dataclass, field
from pathlib import Path

from memfs.core.limits import Limits
from memfs.server.store.retention import Retention

_ESCAPED = 6
"""Bytes of JSON that one byte of content may need, as in ``\\u0000``."""
_AROUND = 65_536
"""Bytes of a body beside the content: a path of 1,024 bytes, escaped, and the names of fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """What `memfs.server.serve` is told beside the address and the data directory."""

    database: str | None = field(default=None, repr=False)
    """A PostgreSQL URL, which may hold a password; None is the SQLite file in the data directory."""
    limits: Limits = field(default_factory=Limits)
    body_bytes: int | None = None
    """What a request's body may have at most; None is what the largest memory can need."""
    strict_beta: bool = False
    """Refuse requests without a beta header, as the hosted API does."""
    settle_retries: bool = True
    """Answer a repeated request whose first answer was lost with what the first one did."""
    requests_per_minute: float | None = None
    """Of each key or session; None is as many as it likes."""
    access_log: bool = False
    """One line for each request."""
    tls: tuple[Path, Path] | None = None
    """Files of the certificate chain and of its key."""
    prune_every_s: float | None = None
    """Period of the pruning; None never prunes."""
    retention: Retention = field(default_factory=Retention)

    @property
    def body_cap(self) -> int:
        """Bytes of a request's body that are read at all."""
        return self.body_bytes or self.limits.memory_bytes * _ESCAPED + _AROUND
