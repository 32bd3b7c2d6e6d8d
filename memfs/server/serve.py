"""Run the store server: its socket, its signals, its parts.

Used by ``memfs serve`` (`serve`), by each of several processes (`memfs.server.workers`) and by whoever runs it in a
thread of its own (`StoreServer`).
"""

import asyncio
import logging
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import uvicorn

from memfs.server.app import create_app
from memfs.server.connection import Connection
from memfs.server.credentials import Credentials
from memfs.server.descriptors import Shortage
from memfs.server.listening import BACKLOG, listen
from memfs.server.metrics import Metrics
from memfs.server.neighbours import Neighbours
from memfs.server.options import ServerOptions
from memfs.server.prepared import key_file, now_us, prepared
from memfs.server.store.database import Database
from memfs.server.store.sql import SqlStore
from memfs.server.threads import Threads, threads
from memfs.server.upkeep import Upkeep
from memfs.server.waiters import Waiters

__all__ = ["StoreServer", "key_file", "serve"]

_GRACE_S = 10
_IDLE_S = 75
"""Longer than clients keep an idle connection, so that it is they who close it and no request meets a closed one."""
_TICKS_OF_A_SECOND = 10
_AT_ONCE = 1
"""Connections that the loop accepts in one go. Without a descriptor it tries, and tells of, each of them in vain."""
_DEFAULTS = ServerOptions()
_LOG = logging.getLogger(__name__)


def serve(
    host: str,
    port: int,
    data: Path,
    *,
    on_ready: Callable[[str], None],
    options: ServerOptions = _DEFAULTS,
) -> None:
    """Serve until SIGTERM, SIGINT or SIGHUP, then finish the requests under way and return.

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
    _LOG.info("stopped")


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
        with ExitStack() as undo:
            self._socket = undo.enter_context(listening or listen(host, port))
            ready = prepared(data, options)
            undo.pop_all()  # all is in place: `run` closes socket and database
        self._database, stamps, self.api_key = ready.database, ready.stamps, ready.api_key
        self._waiters = Waiters()
        credentials = Credentials(self._database, time.monotonic)

        def end_tokens(told: Iterable[str]) -> None:
            if credentials.forget(told):
                self._waiters.tell_all()  # one of them may wait with such a token

        self._database.on_commit(end_tokens)
        self._database.on_commit(self._waiters.tell)
        metrics = _metrics(self._database, self._waiters)
        self._neighbours = Neighbours(self._database, self._waiters, end_tokens)
        self._upkeep = _upkeep(self._database, options)
        store = SqlStore.on(self._database, stamps, options.limits)
        self._threads = threads(self._database)
        app = create_app(store, credentials, stamps, options, self._waiters, metrics, self._threads)
        shown = f"[{host}]" if ":" in host else host
        scheme = "http" if options.tls is None else "https"
        self.url = f"{scheme}://{shown}:{self._socket.getsockname()[1]}"
        certificate, key = options.tls or (None, None)
        self._server = _Uvicorn(
            uvicorn.Config(
                app, http=Connection, ws="none", lifespan="off", server_header=False, backlog=_AT_ONCE,
                timeout_graceful_shutdown=_GRACE_S, timeout_keep_alive=_IDLE_S,
                proxy_headers=False,  # nobody asks where a client is
                ssl_certfile=certificate, ssl_keyfile=key,
                # Any stranger could fill the log with uvicorn's warnings about what he sends.
                log_config=None, log_level=logging.ERROR, access_log=False,
            ),
            on_ready=lambda: on_ready(self.url),
            on_stop=self._waiters.close,
            on_second=metrics.measure,
        )  # fmt: skip

    def run(self) -> None:
        """Answer requests until a signal (in the main thread) or `stop`."""
        with ExitStack() as undo:
            undo.enter_context(closing(self._database))
            undo.enter_context(closing(self._socket))
            parts: list[Neighbours | Upkeep | Threads] = [self._threads, self._neighbours, *self._upkeep]
            for part in parts:
                part.start()
                undo.callback(part.stop)
            asyncio.run(self._server.serve(sockets=[self._socket]))

    def stop(self) -> None:
        """Ask `run` to finish what is under way and return. May be called from any thread."""
        self._server.should_exit = True


class _Uvicorn(uvicorn.Server):
    """Says when it is ready, and ends on a signal by returning, not by passing the signal on."""

    def __init__(
        self,
        config: uvicorn.Config,
        *,
        on_ready: Callable[[], None],
        on_stop: Callable[[], None],
        on_second: Callable[[], None],
    ) -> None:
        super().__init__(config)
        self._on_ready, self._on_stop, self._on_second = on_ready, on_stop, on_second

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(Shortage(time.monotonic))
        await super().startup(sockets=sockets)
        for listening in sockets or ():
            listening.listen(BACKLOG)  # set to `_AT_ONCE` by the loop
        self._on_ready()

    async def on_tick(self, counter: int) -> bool:
        if counter % _TICKS_OF_A_SECOND == 0:
            self._on_second()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._on_stop()
        await super().shutdown(sockets=sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        with super().capture_signals():
            # The end of its terminal is a signal like the others, unless nohup has it ignored.
            hangs_up = signal.getsignal(signal.SIGHUP) is signal.SIG_DFL
            if hangs_up and threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGHUP, self.handle_exit)
            yield
            self._captured_signals.clear()


def _upkeep(database: Database, options: ServerOptions) -> list[Upkeep]:
    if options.prune_every_s is None and not database.is_sqlite:
        return []
    return [Upkeep(database=database, rule=options.retention, prune_every_s=options.prune_every_s, clock_us=now_us)]


def _metrics(database: Database, waiters: Waiters) -> Metrics:
    metrics = Metrics(
        waiters=lambda: waiters.count,
        connections=database.connections_in_use,
        database_bytes=database.size_bytes,
    )
    database.on_commit(metrics.written)
    return metrics
