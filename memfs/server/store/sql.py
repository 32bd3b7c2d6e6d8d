"""The store as one thing: what the endpoints are handed.

Safe in any thread; several processes may share one database.
"""

from dataclasses import dataclass
from typing import Self

from sqlalchemy import func, literal, select

from memfs.core.limits import Limits
from memfs.server.store import tables
from memfs.server.store.changes import Changes
from memfs.server.store.database import Database
from memfs.server.store.listing import Listing
from memfs.server.store.memories import Memories
from memfs.server.store.sessions import Sessions
from memfs.server.store.stamps import Stamps
from memfs.server.store.stores import Stores
from memfs.server.store.versions import Versions


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlStore:
    """All that the server keeps, by kind."""

    database: Database
    stores: Stores
    memories: Memories
    listing: Listing
    versions: Versions
    changes: Changes
    sessions: Sessions

    @classmethod
    def on(cls, database: Database, stamps: Stamps, limits: Limits) -> Self:
        """Return the store that a database holds."""
        return cls(
            database=database,
            stores=Stores(database, stamps),
            memories=Memories(database, stamps, limits),
            listing=Listing(database),
            versions=Versions(database, stamps),
            changes=Changes(database),
            sessions=Sessions(database, stamps),
        )

    def check(self) -> None:
        """Check that the database answers.

        Raises:
            RemoteUnavailable: It does not.
        """
        with self.database.read() as connection:
            connection.execute(select(literal(1)))


def last_moment(database: Database) -> int:
    """Return the latest moment that a row was made, in microseconds since 1970; 0 before the first."""
    with database.read() as connection:
        # No version of a store is newer than its last change: the history need not be searched.
        moments = (tables.stores.c.last_at, tables.sessions.c.created_at)
        found = [connection.scalar(select(func.max(moment))) for moment in moments]
    return max(moment or 0 for moment in found)
