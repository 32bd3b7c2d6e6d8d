"""Writes of one SQLite file, one after another, and one commit for all that came meanwhile.

A commit waits for the disk, longer than a write takes. So who is done hands the open transaction on to the next who
waits, and the last one commits for all: each is answered after that commit, or told that it failed. A write that fails
takes back its own part only. Used by `memfs.server.store.sqlite`. Safe in any thread.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine

_MOST = 16
"""Writes of one transaction: other processes wait for its end."""


class _Shared:
    """One transaction, from its first write to its commit."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.writes = 0
        self._is_over = threading.Event()
        self._failure: BaseException | None = None

    @contextmanager
    def part(self) -> Iterator[None]:
        """Take back what the block wrote, and only that, if it ends with an error."""
        run = self.connection.exec_driver_sql
        run("SAVEPOINT part")
        try:
            yield
            run("RELEASE part")
        except BaseException as error:
            self._failure = error
            # After some failures, such as a full disk, SQLite has taken back all of it by itself.
            if self.connection.connection.driver_connection.in_transaction:  # type: ignore[union-attr]  # sqlite3's own
                run("ROLLBACK TO part")
                run("RELEASE part")
                self._failure = None
            raise

    @property
    def is_lost(self) -> bool:
        """Whether nothing of it can be committed any more."""
        return self._failure is not None

    def end(self) -> None:
        """Commit, or note why that cannot be."""
        try:
            with self.connection:
                if not self.is_lost:
                    self.connection.commit()
        except BaseException as error:  # noqa: BLE001  (raised in the thread of each write, by `await_end`)
            self._failure = error
        self._is_over.set()

    def await_end(self) -> None:
        """Return once all is committed; raise what prevented it."""
        self._is_over.wait()
        if self._failure is not None:
            raise self._failure


class SharedCommits:
    """The writes of one process."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._turn = threading.Lock()
        self._counting = threading.Lock()
        self._waiting = 0
        self._open: _Shared | None = None
        """Handed on: whoever has the turn goes on with it."""

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Write within a transaction that is committed at the end, or leave nothing behind on an error."""
        shared: _Shared | None = None
        try:
            with self._next_turn():
                shared = self._open = self._open or self._begin()
                try:
                    with shared.part():
                        yield shared.connection
                finally:
                    shared.writes += 1
                    if self._waiting == 0 or shared.writes >= _MOST or shared.is_lost:
                        self._end()
        finally:
            # A refusal too rests on what others wrote before, which must last.
            if shared is not None:
                shared.await_end()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let nobody write, and leave no transaction open."""
        with self._turn:
            if self._open is not None:
                self._end()
            yield

    @contextmanager
    def _next_turn(self) -> Iterator[None]:
        with self._counting:
            self._waiting += 1
        with self._turn:
            with self._counting:
                self._waiting -= 1
            yield

    def _begin(self) -> _Shared:
        connection = self._engine.connect()
        try:
            connection.begin()
        except BaseException:
            connection.close()
            raise
        return _Shared(connection)

    def _end(self) -> None:
        shared, self._open = self._open, None
        if shared is not None:
            shared.end()
