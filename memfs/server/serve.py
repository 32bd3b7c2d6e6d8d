"""Run the store server: its data directory, its socket, its signals.

Used by ``memfs serve`` (`serve`) and by whoever runs it in a thread of its own (`StoreServer`). The key is never
shown, only where it is.
"""

import asyncio
import logging
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import uvicorn

from memfs.core.errors import ConfigError
from memfs.server import tls
from memfs.server.app import create_app
from memfs.server.connection import Connection
from memfs.server.credentials import Credentials
from memfs.server.first_key import key_in
from memfs.server.keys import Keys
from memfs.server.listening import BACKLOG, listen
from memfs.server.metrics import Metrics
from memfs.server.neighbours import Neighbours
from memfs.server.options import ServerOptions
from memfs.server.store.database import Database
from memfs.server.store.opening import FILE, open_database
from memfs.server.store.sql import SqlStore, last_moment
from memfs.server.store.stamps import Stamps
from memfs.server.upkeep import Upkeep
from memfs.server.waiters import Waiters

KEY_FILE = "api-key"
_GRACE_S = 10
_IDLE_S = 75
"""Longer than clients keep an idle connection, so that it is they who close it and no request meets a closed one."""
_DEFAULTS = ServerOptions()


def key_file(data: Path) -> Path:
    """Return where the first start puts the API key."""
    return data / KEY_FILE


def serve(
    host: str,
    port: int,
    data: Path,
    *,
    on_ready: Callable[[str], None],
    options: ServerOptions = _DEFAULTS,
) -> None:
    """Serve until SIGTERM or SIGINT, then finish the requests under way and return.

    Args:
        host: The address to listen on.
        port: The port; 0 takes a free one.
        data: The data directory, made with mode 0700 if it is missing.
        on_ready: Called once with the URL when requests are answered.
        options: Everything else that may be chosen.

    Raises:
        AlreadyHeld: Another program listens there.
        UsageError: The address cannot be listened on.
        ConfigError: The data directory or the database cannot be used.
        RemoteUnavailable: The database cannot be reached.
    """
    StoreServer(host, port, data, options=options, on_ready=on_ready).run()


class StoreServer:
    """A server that listens from its making on, and answers while `run` runs.

    Makes the data directory, the database and the key where they are missing. See `serve` for arguments and errors;
    ``listening`` is a socket to take over in place of an address.
    """

    def __init__(
        self,
        host: str,
        port: int,
        data: Path,
        *,
        options: ServerOptions = _DEFAULTS,
        on_ready: Callable[[str], None] = lambda _url: None,
        listening: socket.socket | None = None,
    ) -> None:
        if options.tls is not None:
            tls.check(*options.tls)
        with ExitStack() as undo:
            self._socket = undo.enter_context(listening or listen(host, port))
            self._database = undo.enter_context(closing(_open(data, options.database)))
            stamps = Stamps(_now_us, last_us=last_moment(self._database))
            self.api_key = key_in(key_file(data))
            Keys(self._database, stamps).ensure(self.api_key)
            undo.pop_all()  # all is in place: `run` closes both
        self._waiters = Waiters()
        self._database.on_commit(self._waiters.tell)
        metrics = _metrics(self._database, self._waiters)
        self._neighbours = Neighbours(self._database, self._waiters)
        self._upkeep = _upkeep(self._database, options)
        store = SqlStore.on(self._database, stamps, options.limits)
        app = create_app(store, Credentials(self._database, time.monotonic), stamps, options, self._waiters, metrics)
        shown = f"[{host}]" if ":" in host else host
        scheme = "http" if options.tls is None else "https"
        self.url = f"{scheme}://{shown}:{self._socket.getsockname()[1]}"
        certificate, key = options.tls or (None, None)
        self._server = _Uvicorn(
            uvicorn.Config(
                app, http=Connection, ws="none", lifespan="off", server_header=False, backlog=BACKLOG,
                timeout_graceful_shutdown=_GRACE_S, timeout_keep_alive=_IDLE_S,
                ssl_certfile=certificate, ssl_keyfile=key,
                # Any stranger could fill the log with uvicorn's warnings about what he sends.
                log_config=None, log_level=logging.ERROR, access_log=False,
            ),
            on_ready=lambda: on_ready(self.url),
            on_stop=self._waiters.close,
        )  # fmt: skip

    def run(self) -> None:
        """Answer requests until a signal (in the main thread) or `stop`."""
        with ExitStack() as undo:
            undo.enter_context(closing(self._database))
            undo.enter_context(closing(self._socket))
            parts: list[Neighbours | Upkeep] = [self._neighbours, *self._upkeep]
            for part in parts:
                part.start()
                undo.callback(part.stop)
            asyncio.run(self._server.serve(sockets=[self._socket]))

    def stop(self) -> None:
        """Ask `run` to finish what is under way and return. May be called from any thread."""
        self._server.should_exit = True


class _Uvicorn(uvicorn.Server):
    """Says when it is ready, and ends on a signal by returning, not by passing the signal on."""

    def __init__(self, config: uvicorn.Config, *, on_ready: Callable[[], None], on_stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready
        self._on_stop = on_stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._on_stop()
        await super().shutdown(sockets=sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        with super().capture_signals():
            yield
            self._captured_signals.clear()


def _upkeep(database: Database, options: ServerOptions) -> list[Upkeep]:
    if options.prune_every_s is None:
        return []
    return [Upkeep(database=database, rule=options.retention, period_s=options.prune_every_s, clock_us=_now_us)]


def _metrics(database: Database, waiters: Waiters) -> Metrics:
    metrics = Metrics(
        waiters=lambda: waiters.count,
        connections=database.connections_in_use,
        database_bytes=database.size_bytes,
    )
    database.on_commit(metrics.written)
    return metrics


def _now_us() -> int:
    return time.time_ns() // 1_000


def _open(data: Path, url: str | None) -> Database:
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise _unusable(data, error.strerror or "unknown cause") from None
    if not os.access(data, os.R_OK | os.W_OK | os.X_OK):
        raise _unusable(data, "it cannot be written")
    return open_database(url or data / FILE)


def _unusable(data: Path, why: str) -> ConfigError:
    return ConfigError(
        f"the data directory {data} cannot be used ({why})", remedy="Check it, or choose another with --data DIR"
    )
