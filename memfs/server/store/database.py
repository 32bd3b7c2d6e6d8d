"""Transactions: what the store needs of an engine, the same on SQLite and on PostgreSQL.

A read sees one state from its begin to its end; a write that holds a store's row excludes every other write of that
store, so what it checks still holds when it commits, and what it committed survives a power loss. What is particular
to an engine is in `memfs.server.store.sqlite` and `memfs.server.store.postgresql`. Safe in any thread.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, QueuePool, Row, Select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from memfs.core.errors import MemfsError, RemoteUnavailable
from memfs.server.store import erasing

_SIZE = text("SELECT pg_database_size(current_database())")
_SIZE_SQLITE = text("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
TOLD = "memfs_told"
"""In a writing connection's ``info``: the transaction's `Told`."""
Told = dict[str, list[str]]
"""By store, the kinds of changes that a transaction tells to the feed; none for a store that is deleted.

Also, without any kinds, the keys and sessions whose tokens it ended.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """How an engine does what the store needs."""

    reading: Engine
    """Its transactions see one state and change nothing."""
    looking: Engine
    """Runs single statements that change nothing, without a transaction around them."""
    writing: Engine
    write: Callable[[], AbstractContextManager[Connection]]
    """Opens a transaction of ``writing`` that commits at the end of the block."""
    foreseen: Callable[[DBAPIError], MemfsError | None]
    """Return what a failure of the database is to whoever asked; None for a bug."""
    announce: Callable[[Connection, Told], None] = lambda _connection, _told: None
    """Called before a write commits: tell other processes of these stores' changes, if it commits."""
    batch: Callable[[], AbstractContextManager[None]] | None = None
    """Has what this thread writes in the block committed together at its end; None where writes do not wait in line."""
    once_committed: Callable[[Callable[[], None]], None] = lambda act: act()
    """Calls what it is given once the write that this thread made last is committed."""
    alone: Callable[[], AbstractContextManager[None]] = nullcontext
    """Lets nobody write during the block."""
    erase: Callable[[bool], None] | None = None
    """Leave nothing in the files of what was deleted before, called within `alone`; None where the engine cannot.

    Told True it waits for readers, who keep old bytes in use; told False it gives up at once if there are any.
    """


class Database:
    """A database with the two kinds of transaction that the store needs."""

    def __init__(self, ways: Ways) -> None:
        self._ways = ways
        self._listeners: list[Callable[[Told], None]] = []
        self._counting = threading.Lock()
        self._wanted = self._erased = 0

    @property
    def engine(self) -> Engine:
        """The engine below, for what is no transaction of the store."""
        return self._ways.writing

    @property
    def is_sqlite(self) -> bool:
        """Whether the database is one file, of which this process may be the only user."""
        return self.engine.dialect.name == "sqlite"

    def on_commit(self, listener: Callable[[Told], None]) -> None:
        """Have ``listener`` called with what a committed write told to the feed, in the writer's thread.

        It must return at once and raise nothing.
        """
        self._listeners.append(listener)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a transaction that only reads.

        Raises:
            RemoteUnavailable: The database is busy for longer than anyone should wait, or cannot be reached.
        """
        with self._foreseen(), self._ways.reading.begin() as connection:
            yield connection

    def look(self, query: Select[Any], bound: Mapping[str, object]) -> Row[Any] | None:
        """Return the first row of one statement. It sees one state, so it needs no transaction, which costs more.

        Raises:
            RemoteUnavailable: The database is busy for longer than anyone should wait, or cannot be reached.
        """
        with self._foreseen(), self._ways.looking.connect() as connection:
            return connection.execute(query, bound).first()

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Open a transaction that may write; it commits at the end, or leaves nothing behind on an error.

        Raises:
            RemoteUnavailable: The database is busy for longer than anyone should wait, full, or cannot be reached.
            ConcurrentChange: Two writes were in each other's way; nothing was changed.
        """
        with self._foreseen(), self._ways.write() as connection:
            told: Told = {}
            connection.info[TOLD] = told
            yield connection
            if told:
                self._ways.announce(connection, told)
        if told:
            self._ways.once_committed(lambda: self._tell(told))

    @property
    def has_one_writer(self) -> bool:
        """Whether writes wait in one line, so that a thread that does several is best to `batch` them."""
        return self._ways.batch is not None

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Have what this thread writes in the block committed together at its end, where writes wait in one line.

        Raises:
            RemoteUnavailable: Nothing of it was committed, but for what an `erase` in the block came after.
        """
        with self._foreseen(), (self._ways.batch or nullcontext)():
            yield

    def erase(self, *, is_patient: bool = True) -> None:
        """Leave nothing in the files of what was deleted before, where the engine can.

        Those who wait while another erases share the next time. Without ``is_patient`` it gives up at once if readers
        are in the way, and so keeps no writer waiting.

        Raises:
            RemoteUnavailable: Readers keep the log in use for longer than anyone should wait, or the disk is full.
        """
        if self._ways.erase is None:
            return
        with self._counting:
            self._wanted += 1
            mine = self._wanted
        with self._foreseen(), self._ways.alone():
            if self._erased >= mine:
                return
            with self._counting:
                covered = self._wanted
            self._ways.erase(is_patient)
            self._erased = covered

    def settle(self, *, is_patient: bool = True) -> bool:
        """Erase what a committed deletion still owes; return whether one owed anything.

        Raises:
            RemoteUnavailable: As `erase` does.
        """
        # Within a batch, what this thread wrote before is only then committed.
        with self._foreseen(), self._ways.alone(), self._ways.reading.begin() as connection:
            is_owed = erasing.is_owed(connection)
        if is_owed:
            self.erase(is_patient=is_patient)
        return is_owed

    def connections_in_use(self) -> int:
        """Return how many connections transactions hold now."""
        pool = self._ways.writing.pool
        return pool.checkedout() if isinstance(pool, QueuePool) else 0

    def size_bytes(self) -> int:
        """Return how large the database is; 0 if it does not say."""
        try:
            with self._ways.reading.begin() as connection:
                return int(connection.execute(_SIZE_SQLITE if self.is_sqlite else _SIZE).scalar_one())
        except DBAPIError:
            return 0

    def close(self) -> None:
        """Close every connection that is not in use."""
        self._ways.reading.dispose()
        self._ways.writing.dispose()

    def _tell(self, told: Told) -> None:
        for listener in self._listeners:
            listener(told)

    @contextmanager
    def _foreseen(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            foreseen = self._ways.foreseen(error)
            if foreseen is None:
                raise
            raise foreseen from None
        except PoolTimeout:
            raise RemoteUnavailable("the database is busy", retry_after_s=1.0, remedy="Try again in a moment") from None
