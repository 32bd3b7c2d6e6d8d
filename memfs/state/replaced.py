"""What replaced versions held: when one is redacted, the remote tells its id, not its digest.

Written by the worker on its control thread. Kept for as long as displaced bytes are.
"""

import sqlite3

from memfs.state.baseline import Agreed


class Replaced:
    """The versions of one store whose bytes may still be here."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def put(self, row: Agreed, at: float) -> None:
        """Remember what a version held that another took the place of at ``at``, in unix seconds."""
        self._connection.execute(
            "INSERT OR REPLACE INTO versions VALUES (?, ?, ?)", (row.version_id, row.content_sha256, at)
        )

    def content_sha256(self, version_id: str) -> str | None:
        """Return the digest of what a version held, None where that is not known."""
        found = self._connection.execute(
            "SELECT content_sha256 FROM versions WHERE version_id = ?", (version_id,)
        ).fetchone()
        return None if found is None else str(found[0])

    def drop(self, version_id: str) -> None:
        """Forget a version whose bytes are gone."""
        self._connection.execute("DELETE FROM versions WHERE version_id = ?", (version_id,))

    def forget(self, until: float) -> None:
        """Forget every version that was replaced up to ``until``, in unix seconds."""
        self._connection.execute("DELETE FROM versions WHERE at <= ?", (until,))
