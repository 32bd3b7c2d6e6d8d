"""What `memfs status`, ``.memfs/`` and the health conditions show: the worker's state, read only.

What takes a layout opens the databases, looks once and closes them; it may be called from any thread, while the worker
writes. What takes a connection looks once (`memfs.state.reader` keeps one).
"""

import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from memfs.core.attachment import Attachment
from memfs.core.conflicts import is_conflict_copy, original_name
from memfs.core.paths import StorePath
from memfs.state.attachments import attached, detached
from memfs.state.braking import Halt, read_halt
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
    halt: Halt | None = None
    """Why nothing is deleted until somebody decides."""

    @property
    def pending(self) -> int:
        """How many paths are not equal on both sides yet."""
        return len(self.pending_paths)

    @property
    def copies(self) -> dict[str, str]:
        """Each open conflict copy, whether pushed yet or not, with the path it conflicts with."""
        ours = {one.copy_path: one.path for one in self.conflicts}
        theirs = {copy: _original(copy) for copy in self.conflict_copies if copy not in ours}
        return dict(sorted((ours | theirs).items()))

    def state(self, *, is_watched: bool) -> str:
        """Return in one word how the store stands, given whether a worker runs."""
        if self.sync_error:
            return self.sync_error[0]
        if self.halt:
            return "halted"
        if self.last_sync_at is None:
            return "never synced"
        if self.pending:
            return "pending"
        return "synced" if is_watched else "unwatched"


class SyncedFile(NamedTuple):
    """What a file looked like when it last had the bytes of the baseline; its bits may have changed since."""

    inode: int
    size: int
    mtime_ns: int


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
    """synced, pending, held, halted, conflict or refused; unknown where the worker has not seen the path."""
    reason: str
    """Why it is refused, else ""."""
    file: SyncedFile | None = None
    """None where the worker knows of no file that has the baseline's bytes."""


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


def is_watched(layout: Layout) -> bool:
    """Tell whether a worker runs, without taking its lock: one that starts now must find it free."""
    try:
        found = layout.worker_lock.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    device = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}"
    return f" {device}:{found.st_ino} " in Path("/proc/locks").read_text(encoding="ascii")


def memory_facts(connection: sqlite3.Connection | None, path: str) -> MemoryFacts:
    """Return what is known of the store path ``path``; nothing, where there is no database yet."""
    if connection is None:
        return MemoryFacts(**_NOTHING, path=path, state="unknown", reason="")
    # Read to its end, so that the look is over: the worker's writes are not held up, and the next look is a new one.
    [(*row, pending, reason, is_conflict)] = connection.execute(_FACTS, (path,)).fetchall()
    memory_id, version_id, content_sha256, size_bytes, updated_at, *file = row
    has_row = memory_id is not None
    known = {
        "memory_id": memory_id, "version_id": version_id, "content_sha256": content_sha256, "size_bytes": size_bytes,
        "updated_at": updated_at,
    }  # fmt: skip
    return MemoryFacts(
        **(known if has_row else _NOTHING),
        path=path,
        state=_memory_state(reason, pending, is_conflict=bool(is_conflict), has_row=has_row),
        reason=reason or "",
        file=None if file[0] is None else SyncedFile(*file),
    )


def summary(connection: sqlite3.Connection, attachment: Attachment) -> StoreSummary:
    """Return one store as its worker last recorded it."""
    [(last_sync_at, code, message)] = connection.execute(
        "SELECT last_sync_at, error_code, error_message FROM sync_status"
    ).fetchall()
    [(memories,)] = connection.execute("SELECT count(*) FROM baseline").fetchall()
    return StoreSummary(
        attachment=attachment,
        memories=memories,
        pending_paths=tuple(path for (path,) in connection.execute("SELECT path FROM pending ORDER BY path")),
        problems=tuple(read_problems(connection)),
        conflicts=tuple(read_conflicts(connection)),
        last_sync_at=last_sync_at,
        sync_error=(code, message) if code else None,
        conflict_copies=_conflict_copies(connection),
        halt=read_halt(connection),
    )


_NOTHING: dict[str, Any] = {
    "memory_id": "", "version_id": "", "content_sha256": "", "size_bytes": 0, "updated_at": "",
}  # fmt: skip
_FACTS = """
SELECT b.memory_id, b.version_id, b.content_sha256, b.size_bytes, b.updated_at, b.inode, b.file_size, b.mtime_ns,
    (SELECT state FROM pending WHERE path = ?1),
    (SELECT message FROM problems WHERE path = ?1 ORDER BY side LIMIT 1),
    EXISTS (SELECT 1 FROM conflicts WHERE ?1 IN (path, copy_path))
FROM (SELECT 1) LEFT JOIN baseline AS b ON b.path = ?1
"""
"""Of two problems of a path the local one is told: ``local`` comes before ``remote``."""


def _memory_state(reason: str | None, pending: str | None, *, is_conflict: bool, has_row: bool) -> str:
    if reason:
        return "refused"
    if pending:
        return pending
    if is_conflict:
        return "conflict"
    return "synced" if has_row else "unknown"


def _original(copy: str) -> str:
    """Return which path a copy that another host made lies beside."""
    above, slash, _ = copy.rpartition("/")
    return above + slash + original_name(StorePath(copy))


def _summary(layout: Layout, attachment: Attachment) -> StoreSummary | None:
    with open_to_read(layout.store(attachment.store_id).database) as connection:
        return None if connection is None else summary(connection, attachment)


def _conflict_copies(connection: sqlite3.Connection) -> tuple[str, ...]:
    named = connection.execute("SELECT path FROM baseline WHERE path LIKE '%.conflict-%' ORDER BY path")
    return tuple(path for (path,) in named if is_conflict_copy(StorePath(path)))
