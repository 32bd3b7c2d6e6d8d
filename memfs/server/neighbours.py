"""Changes that other processes made in the same database: noticed, so that whoever waits here is woken.

Started and stopped by `memfs.server.serve`; a thread of its own, since both databases are asked by blocking calls.
A message that is lost costs latency only: whoever waits looks by itself in the end.
"""

import logging
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing

import psycopg
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from memfs.server.store.database import Database
from memfs.server.store.postgresql import CHANNEL
from memfs.server.waiters import Waiters

_LOOK_S = 0.03
"""How often SQLite is asked while someone waits: no call of it tells of another process's commit."""
_LISTEN_S = 0.5
"""How long PostgreSQL is listened to between two looks whether to stop."""
_AGAIN_S = 1.0
_LISTEN = text(f"LISTEN {CHANNEL}")
_PLACE = "SELECT last_seq FROM stores WHERE id = ?"
_LOG = logging.getLogger(__name__)


class Neighbours:
    """Wakes `Waiters` for what other processes commit.

    Args:
        database: Where they commit it.
        waiters: Who waits.
        on_told: Called in its thread with each id that PostgreSQL tells: a store, or a key or session that is over.
    """

    def __init__(
        self, database: Database, waiters: Waiters, on_told: Callable[[list[str]], object] = lambda _ids: None
    ) -> None:
        self._database = database
        self._waiters = waiters
        self._on_told = on_told
        self._stopped = threading.Event()
        self._is_cut_off = False
        self._thread = threading.Thread(target=self._run, name="neighbours", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, and wait for that. Nobody may begin to wait any more."""
        self._stopped.set()
        self._waiters.someone.set()  # it may be waiting for someone to wait
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        follow = self._look if self._database.is_sqlite else self._listen
        while not self._stopped.is_set():
            try:
                follow()
            except (sqlite3.Error, psycopg.Error, SQLAlchemyError, OSError) as error:
                # Requests that need the database tell it to those whom it concerns.
                if not self._is_cut_off:
                    _LOG.info("other processes' changes are not seen for now (%s)", type(error).__name__)
                self._is_cut_off = True
                self._stopped.wait(_AGAIN_S)

    def _look(self) -> None:
        with closing(sqlite3.connect(str(self._database.engine.url.database), timeout=_AGAIN_S)) as connection:
            self._is_cut_off = False
            seen: int | None = None
            places: dict[str, int | None] = {}
            while not self._stopped.wait(_LOOK_S):
                (version,) = connection.execute("PRAGMA data_version").fetchone()
                if version != seen:
                    # This process's own commits too: nothing tells them apart. Only then are the stores looked at,
                    # so that a busy store does not wake those who wait for a quiet one.
                    before, places = places, _places(connection, self._waiters.stores())
                    self._waiters.tell(store for store, at in places.items() if before.get(store, 0) != at)
                    seen = version
                self._waiters.someone.wait()

    def _listen(self) -> None:
        with self._database.engine.connect() as borrowed:
            connection = borrowed.execution_options(isolation_level="AUTOCOMMIT")
            connection.execute(_LISTEN)
            driver: psycopg.Connection[object] = connection.connection.driver_connection  # type: ignore[assignment]  # psycopg's own
            connection.detach()  # closed at the end, not kept for others
            self._is_cut_off = False
            self._waiters.tell_all()  # of what came while nobody listened
            while not self._stopped.is_set():
                for notice in driver.notifies(timeout=_LISTEN_S):
                    self._on_told([notice.payload])
                    self._waiters.tell([notice.payload])


def _places(connection: sqlite3.Connection, stores: list[str]) -> dict[str, int | None]:
    """Return how far each store's changes have come; None for a store that is gone."""
    found = {store_id: connection.execute(_PLACE, (store_id,)).fetchone() for store_id in stores}
    return {store_id: None if row is None else row[0] for store_id, row in found.items()}
