"""A store's turns: each write gets the next place and the next moment of its store, and is told to the feed.

Used inside a write transaction that holds the store's row. Since that row is locked until the transaction ends, the
places of a store's changes are in the order of their commits, whichever process or host made them, and a clock that is
behind does not carry the history with it.
"""

from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import Connection, bindparam, insert, update

from memfs.server.store import tables
from memfs.server.store.database import TOLD
from memfs.server.store.rows import AnyRow
from memfs.server.store.stamps import Stamps

_STORES = tables.stores.c
_TAKE = (
    update(tables.stores)
    .where(_STORES.id == bindparam("store_id"))
    .values(memories=_STORES.memories + bindparam("difference"), last_seq=bindparam("seq"), last_at=bindparam("at_us"))
)
_TELL = insert(tables.changes)


class Kind(StrEnum):
    """What happened: a version was written or redacted, or the store itself changed."""

    CREATED = "created"
    MODIFIED = "modified"
    DELETED = "deleted"
    REDACTED = "redacted"
    STORE_UPDATED = "store_updated"
    STORE_ARCHIVED = "store_archived"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One write of a store, from `take` to `tell`."""

    store_id: str
    seq: int
    at_us: int
    """Microseconds since 1970, later than every change of the store before."""

    def tell(
        self,
        connection: Connection,
        kind: Kind,
        *,
        memory_id: str | None = None,
        version_id: str | None = None,
        difference: int = 0,
    ) -> None:
        """End the turn: write the store's counters and the row of the feed.

        ``difference`` is by how many the store's memories became more.
        """
        counted = {"store_id": self.store_id, "seq": self.seq, "at_us": self.at_us, "difference": difference}
        connection.execute(_TAKE, counted)
        told = {"store_id": self.store_id, "seq": self.seq, "kind": kind.value, "created_at": self.at_us}
        connection.execute(_TELL, told | {"memory_id": memory_id, "version_id": version_id})
        note(connection, self.store_id, kind)


def note(connection: Connection, store_id: str, *kinds: Kind) -> None:
    """Have whoever waits for the store woken when the transaction commits."""
    connection.info[TOLD].setdefault(store_id, []).extend(kind.value for kind in kinds)


def note_end(connection: Connection, actor: str) -> None:
    """Have the token of a key or a session forgotten, wherever it is remembered, when the transaction commits."""
    connection.info[TOLD].setdefault(actor, [])


def take(store: AnyRow, stamps: Stamps) -> Turn:
    """Return the next turn of a store whose row is locked."""
    return Turn(store_id=store.id, seq=store.last_seq + 1, at_us=max(stamps.next(), store.last_at + 1))
