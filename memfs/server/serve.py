"""Run the store server: its data directory, its socket, its signals.

Used by ``memfs serve`` (`serve`) and by whoever runs it in a thread of its own (`StoreServer`). The key is never
shown, only where it is.
"""

import asyncio
import errno
import logging
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import uvicorn

from memfs.core.errors import AlreadyHeld, ConfigError, UsageError
from memfs.server.app import create_app
from memfs.server.connection import Connection
from memfs.server.credentials import Credentials
from memfs.server.first_key import key_in
from memfs.server.keys import Keys
from memfs.server.options import ServerOptions
from memfs.server.store.database import Database
from memfs.server.store.opening import FILE, open_database
from memfs.server.store.sql import SqlStore, last_moment
from memfs.server.store.stamps import Stamps

KEY_FILE = "api-key"
_GRACE_S = 10
_BACKLOG = 512
_LAST_PORT = 65_535
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

    Makes the data directory, the database and the key where they are missing. See `serve` for arguments and errors.
    """

    def __init__(
        self,
        host: str,
        port: int,
        data: Path,
        *,
        options: ServerOptions = _DEFAULTS,
        on_ready: Callable[[str], None] = lambda _url: None,
    ) -> None:
        with ExitStack() as undo:
            self._socket = undo.enter_context(_listen(host, port))
            self._database = undo.enter_context(closing(_open(data, options.database)))
            stamps = Stamps(lambda: time.time_ns() // 1_000, last_us=last_moment(self._database))
            self.api_key = key_in(key_file(data))
            Keys(self._database, stamps).ensure(self.api_key)
            undo.pop_all()  # all is in place: `run` closes both
        store = SqlStore.on(self._database, stamps, options.limits)
        app = create_app(store, Credentials(self._database, time.monotonic), stamps, options)
        shown = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{self._socket.getsockname()[1]}"
        self._server = _Uvicorn(
            uvicorn.Config(
                app, http=Connection, ws="none", lifespan="off", server_header=False, backlog=_BACKLOG,
                timeout_graceful_shutdown=_GRACE_S, timeout_keep_alive=_IDLE_S,
                # Any stranger could fill the log with uvicorn's warnings about what he sends.
                log_config=None, log_level=logging.ERROR, access_log=False,
            ),
            lambda: on_ready(self.url),
        )  # fmt: skip

    def run(self) -> None:
        """Answer requests until a signal (in the main thread) or `stop`."""
        try:
            asyncio.run(self._server.serve(sockets=[self._socket]))
        finally:
            self._socket.close()
            self._database.close()

    def stop(self) -> None:
        """Ask `run` to finish what is under way and return. May be called from any thread."""
        self._server.should_exit = True


class _Uvicorn(uvicorn.Server):
    """Says when it is ready, and ends on a signal by returning, not by passing the signal on."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self._on_ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        with super().capture_signals():
            yield
            self._captured_signals.clear()


def _listen(host: str, port: int) -> socket.socket:
    where = f"{host}:{port}"
    if not 0 <= port <= _LAST_PORT:
        raise UsageError(f"{where} names no port", remedy="Choose another --listen HOST:PORT")
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        listening = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise AlreadyHeld(
                f"another program listens on {where}", remedy="Stop it, or choose another --listen HOST:PORT"
            ) from None
        raise UsageError(
            f"cannot listen on {where} ({error.strerror})", remedy="Choose another --listen HOST:PORT"
        ) from None
    except UnicodeError:
        raise UsageError(f"{host!r} is no host", remedy="Choose another --listen HOST:PORT") from None
    # Connections inherit it; without it an answer in two parts waits 40 ms for the client's acknowledgement.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


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
