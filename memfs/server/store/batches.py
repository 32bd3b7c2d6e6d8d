"""Writes of one SQLite file, one after another, and one commit for all of a batch.

A commit waits for the disk, longer than a write takes. So a thread that has several writes to do opens a batch: each
of them is a part of one transaction, and none may be answered before the batch has ended. A write outside of a batch
is one by itself; a write that fails takes back its own part only. Used by `memfs.server.store.sqlite`. Safe in any
thread: batches of different threads wait for each other.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine


class Batches:
    """The writes of one process."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._turn = threading.Lock()
        self._mine = _Mine()

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Commit all that this thread writes in the block together at its end; raise what prevented it."""
        with self._turn:
            batch = self._mine.batch = _Batch(self._engine)
            try:
                yield
            finally:
                self._mine.batch = None
                batch.end()

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Write a part of this thread's batch, or leave nothing behind on an error; without one commit at the end."""
        if self._mine.batch is None:
            with self.batch(), self.write() as connection:
                yield connection
            return
        with self._mine.batch.part() as connection:
            yield connection

    def once_committed(self, act: Callable[[], None]) -> None:
        """Call ``act`` once what this thread wrote last is committed: at once, or at the end of its batch."""
        if self._mine.batch is None:
            act()
        else:
            self._mine.batch.afterwards.append(act)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let nobody write, and leave no transaction open."""
        if self._mine.batch is not None:
            self._mine.batch.end()
            yield
            return
        with self._turn:
            yield


class _Mine(threading.local):
    batch: "_Batch | None" = None


class _Batch:
    """One transaction at a time, each from its first part to its end."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._connection: Connection | None = None
        self._parts = 0
        """How many the open transaction has kept."""
        self._failure: BaseException | None = None
        """Why no part can be kept any more."""
        self.afterwards: list[Callable[[], None]] = []

    @contextmanager
    def part(self) -> Iterator[Connection]:
        """Take back what the block wrote, and only that, if it ends with an error."""
        connection = self._begun()
        is_first = self._parts == 0  # then the transaction itself is all that there is to take back
        if not is_first:
            connection.exec_driver_sql("SAVEPOINT part")
        try:
            yield connection
            if not is_first:
                connection.exec_driver_sql("RELEASE part")
        except BaseException as error:
            if is_first:
                self._close()
            # After some failures, such as a full disk, SQLite has taken back all of it by itself.
            elif connection.connection.driver_connection.in_transaction:  # type: ignore[union-attr]  # sqlite3's own
                connection.exec_driver_sql("ROLLBACK TO part")
                connection.exec_driver_sql("RELEASE part")
            else:
                self._failure = error
            raise
        self._parts += 1

    def end(self) -> None:
        """Commit; raise what prevented it."""
        if self._connection is None:
            return
        try:
            if self._failure is not None:
                raise self._failure
            self._connection.commit()
        finally:
            done, self.afterwards = self.afterwards, []
            self._close()
        for act in done:
            act()

    def _begun(self) -> Connection:
        if self._failure is not None:
            raise self._failure
        if self._connection is None:
            connection = self._engine.connect()
            try:
                connection.begin()
            except BaseException as error:
                connection.close()
                # Who comes next in this batch would wait as long again.
                self._failure = error
                raise
            self._connection = connection
        return self._connection

    def _close(self) -> None:
        connection, self._connection, self._parts = self._connection, None, 0
        if connection is not None:
            connection.close()
