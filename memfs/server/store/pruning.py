"""Remove the versions and changes that `retention` lets go, a few at a time, so that no writer waits for long.

Used by the server's upkeep and by ``memfs versions prune``. What may go is looked up beside every writer and removed in
short turns of its store. Between the two a memory may have been deleted, which makes its history stay: each removal
asks again. Two pruners at once remove the same rows, each row once. One killed in the middle has removed the oldest
first, a deletion last, so that the next one finds what is left. Safe in any thread.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, takewhile

from sqlalchemy import Connection, bindparam, delete, exists, func, select, tuple_, update

from memfs.core.errors import NotFound, UsageError
from memfs.server.store import erasing, rows, tables
from memfs.server.store.database import Database
from memfs.server.store.retention import History, Retention, most_to_go

_STORES = tables.stores.c
_MEMORIES = tables.memories.c
_VERSIONS = tables.versions.c
_CHANGES = tables.changes.c
_AT_ONCE = 100
"""Versions removed in one turn: 10 MB, some milliseconds, at the very most."""
_CHANGES_AT_ONCE = 1_000
_HISTORIES = (
    select(
        _VERSIONS.memory_id,
        func.count().label("versions"),
        func.max(_VERSIONS.created_at).label("newest_at"),
        func.count(_MEMORIES.id).label("lives"),
    )
    .select_from(tables.versions.outerjoin(tables.memories, _MEMORIES.id == _VERSIONS.memory_id))
    .where(_VERSIONS.store_id == bindparam("store_id"), _VERSIONS.memory_id > bindparam("after"))
    .group_by(_VERSIONS.memory_id)
    .having(func.min(_VERSIONS.created_at) < bindparam("horizon"))
    .order_by(_VERSIONS.memory_id)
    .limit(_AT_ONCE)
)
_LAST_TO_GO = (
    select(_VERSIONS.id, _VERSIONS.created_at)
    .where(_VERSIONS.store_id == bindparam("store_id"), _VERSIONS.memory_id == bindparam("memory_id"))
    .order_by(_VERSIONS.created_at.desc(), _VERSIONS.id.desc())
    .offset(bindparam("staying"))
    .limit(1)
)
# The memory is a part of the place: with nothing else to go by than a time, SQLite would take the index of the whole
# store, and look through all of it for each memory.
_place = tuple_(_VERSIONS.memory_id, _VERSIONS.created_at, _VERSIONS.id)
_OLDEST = (
    select(_VERSIONS.id, _VERSIONS.created_at, _VERSIONS.content_size_bytes)
    .where(_VERSIONS.store_id == bindparam("store_id"))
    .where(_place > tuple_(bindparam("memory_id"), bindparam("after_at"), bindparam("after_id")))
    .where(_place <= tuple_(bindparam("memory_id"), bindparam("last_at"), bindparam("last_id")))
    .order_by(_VERSIONS.memory_id, _VERSIONS.created_at, _VERSIONS.id)
    .limit(_AT_ONCE)
)
_LAST_ID = "~"
"""Sorts after every id."""
_LOCK = select(_STORES.id).where(_STORES.id == bindparam("which")).with_for_update()
_REMOVE = (
    delete(tables.versions)
    .where(_VERSIONS.id.in_(bindparam("ids", expanding=True)))
    .returning(_VERSIONS.content_size_bytes)
)
# Lives still, and holds another version now.
_REMOVE_OF_LIVING = _REMOVE.where(
    exists().where(_MEMORIES.id == _VERSIONS.memory_id, _MEMORIES.version_id != _VERSIONS.id)
)
_FIRST_CHANGES = (
    select(_CHANGES.seq, _CHANGES.created_at)
    .where(_CHANGES.store_id == bindparam("which"))
    .order_by(_CHANGES.seq)
    .limit(_CHANGES_AT_ONCE)
)
_REMOVE_CHANGES = delete(tables.changes).where(
    _CHANGES.store_id == bindparam("which"), _CHANGES.seq <= bindparam("seq")
)
_MOVE_FEED = (
    update(tables.stores)
    .where(_STORES.id == bindparam("which"), _STORES.feed_from < bindparam("seq"))
    .values(feed_from=bindparam("seq"))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """What was removed from one store, or would be."""

    store_id: str
    name: str
    versions: int = 0
    bytes: int = 0
    """Of their contents."""
    changes: int = 0
    """Rows of the change feed."""

    def __bool__(self) -> bool:
        """Tell whether anything was removed."""
        return bool(self.versions or self.changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Memory:
    """One of which versions may go: all up to a place."""

    id: str
    is_live: bool
    last_at: int
    last_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Old:
    """A version that may go."""

    id: str
    is_live: bool
    """Its memory is; it may have been deleted meanwhile, but never the other way round: ids are not used again."""
    bytes: int


def planned(database: Database, rule: Retention, now_us: int, *, only: str | None = None) -> list[Pruned]:
    """Return what `prune` would remove now, by store, and change nothing.

    Raises:
        NotFound: There is no store ``only``.
        UsageError: Several stores have that name.
    """
    return [_planned(database, store, rule, rule.horizon(now_us)) for store in _stores(database, only)]


def prune(
    database: Database,
    rule: Retention,
    now_us: int,
    *,
    only: str | None = None,
    is_stopped: Callable[[], bool] = lambda: False,
) -> list[Pruned]:
    """Remove what the rule lets go and erase its bytes; return what was removed, by store.

    ``only`` is one store's id or name. Once ``is_stopped`` says so, the rest is left for the next time, and the erasing
    of what was removed with it.

    Raises:
        NotFound: There is no store ``only``.
        UsageError: Several stores have that name.
        RemoteUnavailable: The database is busy for too long; what was removed stays removed.
    """
    done = []
    for store in _stores(database, only):
        if is_stopped():
            break
        done.append(_prune(database, store, rule, rule.horizon(now_us), is_stopped))
    if not is_stopped():
        # A run before may have been cut off.
        (database.erase if any(done) else database.settle)()
    return done


def _stores(database: Database, only: str | None) -> list[Pruned]:
    query = select(_STORES.id, _STORES.name).order_by(_STORES.id)
    with database.read() as connection:
        found = [Pruned(store_id=row.id, name=row.name) for row in connection.execute(query)]
    if only is None:
        return found
    matching = [store for store in found if only == store.store_id] or [store for store in found if only == store.name]
    if not matching:
        raise NotFound(f"there is no memory store {rows.shown(only)}")
    if len(matching) > 1:
        ids = ", ".join(store.store_id for store in matching)
        raise UsageError(f"several memory stores have the name {rows.shown(only)}", remedy=f"Use an id: {ids}")
    return matching


def _planned(database: Database, store: Pruned, rule: Retention, horizon: int) -> Pruned:
    for old in _old_versions(database, store.store_id, rule, horizon):
        store = replace(store, versions=store.versions + 1, bytes=store.bytes + old.bytes)
    query = select(func.count()).where(_CHANGES.store_id == store.store_id, _CHANGES.created_at < horizon)
    with database.read() as connection:
        return replace(store, changes=connection.scalar(query) or 0)


def _prune(database: Database, store: Pruned, rule: Retention, horizon: int, is_stopped: Callable[[], bool]) -> Pruned:
    old_versions = _old_versions(database, store.store_id, rule, horizon)
    while not is_stopped() and (old := list(islice(old_versions, _AT_ONCE))):
        with database.write() as connection:
            sizes = _remove(connection, store.store_id, old)
            erasing.owe(connection)
        store = replace(store, versions=store.versions + len(sizes), bytes=store.bytes + sum(sizes))
    while not is_stopped() and (removed := _remove_changes(database, store.store_id, horizon)):
        store = replace(store, changes=store.changes + removed)
    return store


def _old_versions(database: Database, store_id: str, rule: Retention, horizon: int) -> Iterator[_Old]:
    """Yield what may go, the oldest of each memory first; no transaction is open meanwhile."""
    for memory in _memories(database, store_id, rule, horizon):
        after: tuple[int, str] = (0, "")
        while True:
            places = {"after_at": after[0], "after_id": after[1], "last_at": memory.last_at, "last_id": memory.last_id}
            which = {"store_id": store_id, "memory_id": memory.id}
            with database.read() as connection:
                found = connection.execute(_OLDEST, which | places).all()
            yield from (_Old(id=row.id, is_live=memory.is_live, bytes=row.content_size_bytes or 0) for row in found)
            if len(found) < _AT_ONCE:
                break
            after = (found[-1].created_at, found[-1].id)


def _memories(database: Database, store_id: str, rule: Retention, horizon: int) -> Iterator[_Memory]:
    """Yield the memories, living or not, of which something may go."""
    after = ""
    while True:
        with database.read() as connection:
            found = connection.execute(_HISTORIES, {"store_id": store_id, "after": after, "horizon": horizon}).all()
            memories = [_memory(connection, store_id, row, rule, horizon) for row in found]
        yield from (memory for memory in memories if memory is not None)
        if len(found) < _AT_ONCE:
            return
        after = found[-1].memory_id


def _memory(connection: Connection, store_id: str, row: rows.AnyRow, rule: Retention, horizon: int) -> _Memory | None:
    history = History(is_live=row.lives > 0, versions=row.versions, newest_at=row.newest_at)
    most = most_to_go(history, rule, horizon)
    if not most:
        return None
    # A place, not a count, which would reach further once another pruner has removed the oldest.
    which = {"store_id": store_id, "memory_id": row.memory_id, "staying": row.versions - most}
    last = connection.execute(_LAST_TO_GO, which).one()
    last_at, last_id = min((last.created_at, last.id), (horizon - 1, _LAST_ID))
    return _Memory(id=row.memory_id, is_live=history.is_live, last_at=last_at, last_id=last_id)


def _remove(connection: Connection, store_id: str, old: Sequence[_Old]) -> list[int]:
    """Remove versions in the store's turn and return the sizes of those that were still there and may still go."""
    connection.execute(_LOCK, {"which": store_id})
    sizes: list[int] = []
    for statement, is_live in ((_REMOVE_OF_LIVING, True), (_REMOVE, False)):
        ids = [version.id for version in old if version.is_live is is_live]
        if ids:
            sizes += (size or 0 for size in connection.scalars(statement, {"ids": ids}))
    return sizes


def _remove_changes(database: Database, store_id: str, horizon: int) -> int:
    """Remove some of a store's old changes and move the beginning of its feed behind them; return how many."""
    with database.read() as connection:
        if not _old_changes(connection, store_id, horizon):
            return 0
    with database.write() as connection:
        connection.execute(_LOCK, {"which": store_id})
        old = _old_changes(connection, store_id, horizon)
        if old:
            connection.execute(_MOVE_FEED, {"which": store_id, "seq": old[-1]})
            connection.execute(_REMOVE_CHANGES, {"which": store_id, "seq": old[-1]})
            erasing.owe(connection)
        return len(old)


def _old_changes(connection: Connection, store_id: str, horizon: int) -> list[int]:
    """Return the places of the oldest changes, up to the first that is not from before the horizon."""
    found = connection.execute(_FIRST_CHANGES, {"which": store_id}).all()
    return [row.seq for row in takewhile(lambda row: row.created_at < horizon, found)]
