"""What the brakes remember of one store: deletions that were carried out lately, and whether it is halted.

Written by the worker on its control thread, inside transactions; `read_halt` is for whoever only looks.
"""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from memfs.core.brakes import Reason
from memfs.core.paths import StorePath
from memfs.core.plan import Side
from memfs.state.schema import BRAKES_SINCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """A deletion that was carried out on ``side``.

    ``at`` is when it was first seen (unix seconds), ``memories`` how many the store had then; ``kept`` the file's name
    in trash, "" for a memory.
    """

    at: float
    side: Side
    path: StorePath
    version_id: str
    content_sha256: str
    memories: int
    kept: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Halt:
    """A store in which nothing is deleted until somebody decides: ``deletions`` of ``memories`` were counted."""

    reason: Reason
    deletions: int
    memories: int
    since: float


def describe(halt: Halt) -> str:
    """Return a halt in words."""
    match halt.reason:
        case Reason.MANY_LOCAL:
            return f"{halt.deletions} of {halt.memories} memories are gone here"
        case Reason.MANY_REMOTE:
            return f"{halt.deletions} of {halt.memories} memories are gone on the remote"
        case Reason.ROOT_REPLACED:
            return f"the directory of its files is another one, and {halt.deletions} of {halt.memories} are missing"
        case Reason.REMOTE_EMPTY:
            return f"the remote has nothing, and {halt.memories} memories are known"


class Braking:
    """The brakes' memory of one store."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._deletions = [_deletion(row) for row in connection.execute(_DELETIONS)]
        self._halt = read_halt(connection)
        self._accepted = {(Side(side), StorePath(path)) for side, path in connection.execute(_ACCEPTED)}
        self._root: tuple[int, int] | None = connection.execute("SELECT device, inode FROM tree_root").fetchone()

    # ------------------------------------------------------------------------------------------------- the brake

    @property
    def halt(self) -> Halt | None:
        """Why nothing is deleted, None while deletions are carried out."""
        return self._halt

    def set_halt(self, halt: Halt | None) -> None:
        """Put the brake on, or take it off."""
        self._halt = halt
        self._connection.execute("DELETE FROM halt")
        if halt is not None:
            self._connection.execute(
                "INSERT INTO halt VALUES (1, ?, ?, ?, ?)",
                (halt.reason.value, halt.deletions, halt.memories, halt.since),
            )

    # ---------------------------------------------------------------------------------------------------- deletions

    @property
    def deletions(self) -> tuple[Deletion, ...]:
        """The deletions that are remembered, the oldest first."""
        return tuple(self._deletions)

    def add(self, deletion: Deletion) -> None:
        """Remember a deletion that was carried out; one that was allowed does not count any more."""
        if (deletion.side, deletion.path) in self._accepted:
            self.settle(deletion.side, deletion.path)
            return
        self._deletions.append(deletion)
        self._connection.execute(
            "INSERT INTO deletions VALUES (?, ?, ?, ?, ?, ?, ?)",
            (deletion.at, deletion.side.value, deletion.path, deletion.version_id, deletion.content_sha256,
             deletion.memories, deletion.kept),
        )  # fmt: skip

    def forget_deletions(self, until: float) -> None:
        """Forget what was carried out up to ``until``, in unix seconds."""
        if any(one.at <= until for one in self._deletions):
            self._deletions = [one for one in self._deletions if one.at > until]
            self._connection.execute("DELETE FROM deletions WHERE at <= ?", (until,))

    # ------------------------------------------------------------------------------------------------------ allowed

    def is_accepted(self, side: Side, path: StorePath) -> bool:
        """Tell whether somebody allowed the deletion."""
        return (side, path) in self._accepted

    @property
    def accepted(self) -> frozenset[tuple[Side, StorePath]]:
        """Every deletion that was allowed and not carried out yet."""
        return frozenset(self._accepted)

    def accept(self, allowed: Iterable[tuple[Side, StorePath]]) -> None:
        """Allow deletions."""
        new = set(allowed) - self._accepted
        self._accepted |= new
        self._connection.executemany(
            "INSERT INTO accepted VALUES (?, ?)", [(side.value, path) for side, path in sorted(new)]
        )

    def settle(self, side: Side, path: StorePath) -> None:
        """Take back what was allowed: it is done, or nobody wants it any more."""
        if (side, path) in self._accepted:
            self._accepted.discard((side, path))
            self._connection.execute("DELETE FROM accepted WHERE side = ? AND path = ?", (side.value, path))

    # --------------------------------------------------------------------------------------------------- root marker

    @property
    def root(self) -> tuple[int, int] | None:
        """Device and inode of the directory that the tree was, None before it was ever seen."""
        return self._root

    def set_root(self, device: int, inode: int) -> None:
        """Remember which directory the tree is."""
        if (device, inode) != self._root:
            self._root = (device, inode)
            self._connection.execute("INSERT OR REPLACE INTO tree_root VALUES (1, ?, ?)", self._root)


def read_halt(connection: sqlite3.Connection) -> Halt | None:
    """Return the halt that is recorded, None where there is none."""
    [(version,)] = connection.execute("PRAGMA user_version").fetchall()
    if version < BRAKES_SINCE:
        return None
    rows = connection.execute("SELECT reason, deletions, memories, since FROM halt").fetchall()
    for reason, deletions, memories, since in rows:
        return Halt(reason=Reason(reason), deletions=deletions, memories=memories, since=since)
    return None


_DELETIONS = "SELECT at, side, path, version_id, content_sha256, memories, kept FROM deletions ORDER BY at"
_ACCEPTED = "SELECT side, path FROM accepted"


def _deletion(row: tuple[float, str, str, str, str, int, str]) -> Deletion:
    at, side, path, version_id, content_sha256, memories, kept = row
    return Deletion(
        at=at, side=Side(side), path=StorePath(path), version_id=version_id, content_sha256=content_sha256,
        memories=memories, kept=kept,
    )  # fmt: skip
