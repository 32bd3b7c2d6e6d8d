"""May a memory sit at this path? Not where one sits, nor above or below one: `/a` and `/a/b` cannot both be memories.

Used by create and rename, inside their write transaction. Compared by whole segments and bytes, never with LIKE.
"""

from sqlalchemy import Connection, bindparam, select

from memfs.core.errors import PathConflict
from memfs.core.paths import StorePath, ancestors
from memfs.server.store import tables

_MEMORIES = tables.memories.c
_OTHERS = select(_MEMORIES.path, _MEMORIES.id).where(
    _MEMORIES.store_id == bindparam("store_id"), _MEMORIES.id != bindparam("besides")
)
# No more than one of them can be a memory: each lies above the next.
_AT_OR_ABOVE = _OTHERS.where(_MEMORIES.path.in_(bindparam("paths", expanding=True)))
_BELOW = (
    _OTHERS.where(_MEMORIES.path >= bindparam("first"), _MEMORIES.path < bindparam("past"))
    .order_by(_MEMORIES.path)
    .limit(1)
)


def first_past(directory: str) -> str:
    """Return the first text after every path below ``directory`` (with its final slash)."""
    return directory[:-1] + chr(ord("/") + 1)


def refuse_occupied(connection: Connection, store_id: str, path: StorePath, *, besides: str = "") -> None:
    """Check that nothing but the memory ``besides`` takes ``path``.

    Raises:
        PathConflict: Something does; it names what sits at the path, else the nearest ancestor, else a descendant.
    """
    which = {"store_id": store_id, "besides": besides}
    below = path + "/"
    taken = (
        connection.execute(_AT_OR_ABOVE, which | {"paths": [path, *ancestors(path)]}).first()
        or connection.execute(_BELOW, which | {"first": below, "past": first_past(below)}).first()
    )
    if taken is not None:
        how = "is taken" if taken.path == path else f"is blocked by {taken.path!a}"
        raise PathConflict(
            f"the path {path!a} {how}", conflicting_path=taken.path, conflicting_memory_id=taken.id,
            remedy="Choose another path, or change the memory that is there",
        )  # fmt: skip
