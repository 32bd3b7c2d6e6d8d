"""May a memory sit at this path? Not where one sits, nor above or below one: `/a` and `/a/b` cannot both be memories.

Used by create and rename, inside their write transaction. Compared by whole segments and bytes, never with LIKE.
"""

from sqlalchemy import Connection, func, select

from memfs.core.errors import PathConflict
from memfs.core.paths import StorePath, ancestors
from memfs.server.store import tables

_MEMORIES = tables.memories.c


def first_past(directory: str) -> str:
    """Return the first text after every path below ``directory`` (with its final slash)."""
    return directory[:-1] + chr(ord("/") + 1)


def refuse_occupied(connection: Connection, store_id: str, path: StorePath, *, besides: str = "") -> None:
    """Check that nothing but the memory ``besides`` takes ``path``.

    Raises:
        PathConflict: Something does; it names what sits at the path, else the nearest ancestor, else a descendant.
    """
    others = select(_MEMORIES.path, _MEMORIES.id).where(_MEMORIES.store_id == store_id, _MEMORIES.id != besides)
    at_or_above = others.where(_MEMORIES.path.in_([path, *ancestors(path)])).order_by(
        func.length(_MEMORIES.path).desc()
    )
    below = others.where(_MEMORIES.path >= path + "/", _MEMORIES.path < first_past(path + "/")).order_by(_MEMORIES.path)
    taken = connection.execute(at_or_above.limit(1)).first() or connection.execute(below.limit(1)).first()
    if taken is not None:
        how = "is taken" if taken.path == path else f"is blocked by {taken.path!a}"
        raise PathConflict(f"the path {path!a} {how}", conflicting_path=taken.path, conflicting_memory_id=taken.id)
