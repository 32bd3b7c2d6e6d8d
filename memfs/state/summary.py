"""What `memfs status`, ``.memfs/`` and the health conditions show: the worker's state, read only.

Every call opens the databases, looks once and closes them; it may be made from any thread, while the worker writes.
"""

import sqlite3
from dataclasses import dataclass

from memfs.core.attachment import Attachment
from memfs.core.conflicts import is_conflict_copy
from memfs.core.paths import StorePath
from memfs.core.plan import Side
from memfs.state.attachments import attached, detached
from memfs.state.database import open_to_read
from memfs.state.layout import Layout
from memfs.state.problems import Conflict, Problem, read_conflicts, read_problems


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSummary:
    """One attached store as the worker last recorded it."""

    attachment: Attachment
    memories: int
    """How many memories both sides agreed on."""
    pending_paths: tuple[str, ...]
    """Where the sides are not equal yet, held-back names included."""
    problems: tuple[Problem, ...]
    conflicts: tuple[Conflict, ...]
    last_sync_at: float | None
    """Unix seconds of the last cycle that left nothing owed."""
    sync_error: tuple[str, str] | None
    """Code and message, while the remote cannot be worked with."""
    conflict_copies: tuple[str, ...] = ()
    """Every conflict copy in the store, whichever host made it."""

    @property
    def pending(self) -> int:
        """How many paths are not equal on both sides yet."""
        return len(self.pending_paths)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFacts:
    """What the worker knows about one path. Ids and digest are "" for a file that is no memory yet."""

    path: str
    memory_id: str
    version_id: str
    content_sha256: str
    size_bytes: int
    updated_at: str
    state: str
    """synced, pending, held, conflict or refused; unknown where the worker has not seen the path."""
    reason: str
    """Why it is refused, else ""."""


def summaries(layout: Layout) -> list[StoreSummary]:
    """Return each attached store, in the order of the mount.

    Raises:
        StateDamaged: A store's database cannot be read.
    """
    return [summary for one in attached(layout) if (summary := _summary(layout, one)) is not None]


def owed_by_detached(layout: Layout) -> list[StoreSummary]:
    """Return each store that is attached no more and has paths that were never pushed.

    Raises:
        StateDamaged: A store's database cannot be read.
    """
    found = [_summary(layout, one) for one in detached(layout)]
    return [summary for summary in found if summary is not None and summary.pending_paths]


def memory_facts(layout: Layout, store_id: str, path: str) -> MemoryFacts:
    """Return what is known of the store path ``path``.

    Raises:
        StateDamaged: The store's database cannot be read.
    """
    with open_to_read(layout.store(store_id).database) as connection:
        if connection is None:
            return _facts(path, None, None, {}, is_conflict=False)
        row = connection.execute(
            "SELECT memory_id, version_id, content_sha256, size_bytes, updated_at FROM baseline WHERE path = ?", (path,)
        ).fetchone()
        pending = connection.execute("SELECT state FROM pending WHERE path = ?", (path,)).fetchone()
        refusals = connection.execute("SELECT side, message FROM problems WHERE path = ?", (path,)).fetchall()
        conflict = connection.execute("SELECT 1 FROM conflicts WHERE ? IN (path, copy_path)", (path,)).fetchone()
    reasons = {Side(side): message for side, message in refusals}
    return _facts(path, row, pending and pending[0], reasons, is_conflict=conflict is not None)


def _facts(
    path: str,
    row: tuple[str, str, str, int, str] | None,
    pending: str | None,
    reasons: dict[Side, str],
    *,
    is_conflict: bool,
) -> MemoryFacts:
    memory_id, version_id, content_sha256, size_bytes, updated_at = row or ("", "", "", 0, "")
    reason = reasons.get(Side.LOCAL) or reasons.get(Side.REMOTE) or ""
    if reason:
        state = "refused"
    elif pending:
        state = pending
    elif is_conflict:
        state = "conflict"
    else:
        state = "synced" if row else "unknown"
    return MemoryFacts(
        path=path, memory_id=memory_id, version_id=version_id, content_sha256=content_sha256, size_bytes=size_bytes,
        updated_at=updated_at, state=state, reason=reason,
    )  # fmt: skip


def _summary(layout: Layout, attachment: Attachment) -> StoreSummary | None:
    with open_to_read(layout.store(attachment.store_id).database) as connection:
        if connection is None:
            return None
        last_sync_at, code, message = connection.execute(
            "SELECT last_sync_at, error_code, error_message FROM sync_status"
        ).fetchone()
        return StoreSummary(
            attachment=attachment,
            memories=connection.execute("SELECT count(*) FROM baseline").fetchone()[0],
            pending_paths=tuple(path for (path,) in connection.execute("SELECT path FROM pending ORDER BY path")),
            problems=tuple(read_problems(connection)),
            conflicts=tuple(read_conflicts(connection)),
            last_sync_at=last_sync_at,
            sync_error=(code, message) if code else None,
            conflict_copies=_conflict_copies(connection),
        )


def _conflict_copies(connection: sqlite3.Connection) -> tuple[str, ...]:
    named = connection.execute("SELECT path FROM baseline WHERE path LIKE '%.conflict-%' ORDER BY path")
    return tuple(path for (path,) in named if is_conflict_copy(StorePath(path)))
