"""Several server processes on one socket and one PostgreSQL database, and the process that watches them.

Used by ``memfs serve --workers N``. The watching process listens, prepares the database, and answers nobody itself: a
process that ends is started again, and when the watching one ends, however it does, the others end too.
"""

import logging
import multiprocessing
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING

from memfs.core.errors import MemfsError, UsageError
from memfs.server.listening import listen
from memfs.server.options import ServerOptions
from memfs.server.store.opening import open_database

if TYPE_CHECKING:
    from multiprocessing.context import ForkProcess

_FORK = multiprocessing.get_context("fork")
_AGAIN_S = 1.0
"""Pause before a process that ended is started again."""
_QUICK_S = 5.0
_QUICK_DEATHS = 5
"""So many processes that ended within so many seconds, one after the other: something is wrong with all of them."""
_LOG = logging.getLogger(__name__)


def serve_with_workers(
    host: str,
    port: int,
    data: Path,
    *,
    workers: int,
    options: ServerOptions,
    on_ready: Callable[[str], None],
) -> None:
    """Serve with several processes until SIGTERM or SIGINT, then have each finish what is under way, and return.

    The arguments and errors are those of `memfs.server.serve.serve`, and:

    Raises:
        UsageError: The database is SQLite's, which has one writer.
        MemfsError: The processes end again and again.
    """
    if options.database is None:
        raise UsageError(
            f"--workers {workers} needs PostgreSQL: SQLite has one writer",
            remedy="Give --database postgresql://USER@HOST/DATABASE, or --workers 1",
        )
    # What is wrong with the database is wrong with all of them, and said once.
    open_database(options.database).close()
    with closing(listen(host, port)) as listening, tempfile.TemporaryDirectory(prefix="memfs-metrics-") as shared:
        # Read by prometheus-client when it is imported, which only the processes do.
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = shared
        _Watch(host, listening, data, workers=workers, options=options, on_ready=on_ready).run()


class _Watch:
    """The processes, and what becomes of them."""

    def __init__(
        self,
        host: str,
        listening: socket,
        data: Path,
        *,
        workers: int,
        options: ServerOptions,
        on_ready: Callable[[str], None],
    ) -> None:
        self._host, self._listening, self._data = host, listening, data
        self._options, self._workers, self._on_ready = options, workers, on_ready
        self._processes: dict[int, ForkProcess] = {}
        self._ready: set[int] = set()
        self._said_url, self._url = _FORK.Pipe(duplex=False)
        self._is_stopping = False

    def run(self) -> None:
        """Start the processes, and again those that end, until a signal."""
        quick_deaths, born_s = 0, {}
        with self._signals():
            for number in range(self._workers):
                self._start(number)
                born_s[number] = time.monotonic()
            while not self._is_stopping:
                self._watch_readiness()
                for number in self._ended():
                    quick_deaths = quick_deaths + 1 if time.monotonic() - born_s[number] < _QUICK_S else 0
                    if quick_deaths >= _QUICK_DEATHS:
                        self._end()
                        raise MemfsError("the server's processes end again and again; their log says why")
                    _LOG.warning("server process %d ended; it is started again", number)
                    time.sleep(_AGAIN_S)
                    self._start(number)
                    born_s[number] = time.monotonic()
            self._end()

    def _start(self, number: int) -> None:
        share = replace(
            self._options,
            requests_per_minute=self._options.requests_per_minute and self._options.requests_per_minute / self._workers,
            prune_every_s=self._options.prune_every_s if number == 0 else None,
        )
        arguments = (number, self._host, self._listening, self._data, share, self._url)
        process = _FORK.Process(target=_serve, args=arguments, name=f"memfs-server-{number}")
        process.start()
        self._processes[number] = process

    def _watch_readiness(self) -> None:
        while self._said_url.poll(0.2 if len(self._ready) < self._workers else 0):
            number, url = self._said_url.recv()
            was_ready = len(self._ready) == self._workers
            self._ready.add(number)
            if len(self._ready) == self._workers and not was_ready:
                self._on_ready(url)

    def _ended(self) -> list[int]:
        ended = wait([process.sentinel for process in self._processes.values()], timeout=0.2)
        return [number for number, process in self._processes.items() if process.sentinel in ended]

    def _end(self) -> None:
        while alive := [process for process in self._processes.values() if process.is_alive()]:
            for process in alive:
                process.terminate()  # again, for one that was just about to be ready for signals
            wait([process.sentinel for process in alive], timeout=1.0)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        def stop(_number: int, _frame: object) -> None:
            self._is_stopping = True

        before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _serve(number: int, host: str, listening: socket, data: Path, options: ServerOptions, url: Connection) -> None:
    """Be one of the processes."""
    from memfs.server.serve import StoreServer  # noqa: PLC0415  (imports prometheus-client: see serve_with_workers)

    for signal_number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signal_number, signal.SIG_DFL)
    server = StoreServer(
        host, 0, data, options=options, listening=listening, on_ready=lambda said: url.send((number, said))
    )
    parent = multiprocessing.parent_process()

    def end_with_parent() -> None:
        wait([parent.sentinel] if parent else [])
        server.stop()

    threading.Thread(target=end_with_parent, name="parent", daemon=True).start()
    server.run()
