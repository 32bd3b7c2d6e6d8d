"""Several server processes on one socket and one PostgreSQL database, and the process that watches them.

Used by ``memfs serve --workers N``. The watching process listens, prepares the database, and answers nobody itself: a
process that ends is started again, and when the watching one ends, however it does, the others end too.
"""

import logging
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING

from memfs.core.errors import MemfsError, UsageError
from memfs.server.listening import listen
from memfs.server.options import ServerOptions
from memfs.server.prepared import prepared

if TYPE_CHECKING:
    from multiprocessing.context import ForkProcess

_FORK = multiprocessing.get_context("fork")
_AGAIN_S = 1.0
"""Pause before a process that ended is started again."""
_QUICK_S = 5.0
_QUICK_DEATHS = 5
"""So many processes that ended within so many seconds, one after the other: something is wrong with all of them."""
_LAST_S = 30.0
"""Longer than any of them finishes what is under way; one that hangs is ended then."""
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
    with closing(listen(host, port)) as listening, tempfile.TemporaryDirectory(prefix="memfs-metrics-") as shared:
        # What is wrong with one of them is wrong with all, and said once. No connection is open when they begin.
        prepared(data, options).database.close()
        # Read by prometheus-client when it is imported, which is after this.
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = shared
        work = _Work(host=host, listening=listening, data=data, options=options, shared=Path(shared))
        _Watch(work, workers=workers, on_ready=on_ready).run()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """What each of the processes is to do."""

    host: str
    listening: socket
    data: Path
    options: ServerOptions
    shared: Path
    """Where they count together."""


class _Watch:
    """The processes, and what becomes of them."""

    def __init__(self, work: _Work, *, workers: int, on_ready: Callable[[str], None]) -> None:
        self._work, self._workers, self._on_ready = work, workers, on_ready
        self._processes: dict[int, ForkProcess] = {}
        self._born_s: dict[int, float] = {}
        self._quick_deaths = 0
        self._ready: set[int] = set()
        self._said_url, self._url = _FORK.Pipe(duplex=False)
        self._watched, self._watching = _FORK.Pipe(duplex=False)
        self._is_stopping = False

    def run(self) -> None:
        """Start the processes, and again those that end, until a signal."""
        with self._signals():
            try:
                for number in range(self._workers):
                    self._start(number)
                while not self._is_stopping:
                    self._watch_readiness()
                    for number in self._ended():
                        self._start_again(number)
            finally:
                self._end()

    def _start(self, number: int) -> None:
        options = self._work.options
        share = replace(
            options,
            requests_per_minute=options.requests_per_minute and options.requests_per_minute / self._workers,
            prune_every_s=options.prune_every_s if number == 0 else None,
        )
        arguments = (number, replace(self._work, options=share), self._url, self._watched, self._watching)
        process = _FORK.Process(target=_serve, args=arguments, name=f"memfs-server-{number}")
        process.start()
        self._processes[number] = process
        self._born_s[number] = time.monotonic()

    def _start_again(self, number: int) -> None:
        from prometheus_client.multiprocess import mark_process_dead  # noqa: PLC0415  (see serve_with_workers)

        is_quick = time.monotonic() - self._born_s[number] < _QUICK_S
        self._quick_deaths = self._quick_deaths + 1 if is_quick else 0
        if self._quick_deaths >= _QUICK_DEATHS:
            raise MemfsError("the server's processes end again and again; their log says why")
        # Nobody waits in it any more.
        mark_process_dead(self._processes[number].pid, str(self._work.shared))  # type: ignore[no-untyped-call]  # untyped in prometheus-client
        _LOG.warning("server process %d ended; it is started again", number)
        time.sleep(_AGAIN_S)
        if not self._is_stopping:
            self._start(number)

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
        deadline_s = time.monotonic() + _LAST_S
        while alive := [process for process in self._processes.values() if process.is_alive()]:
            is_late = time.monotonic() > deadline_s
            for process in alive:
                end = process.kill if is_late else process.terminate
                end()  # again, for one that was just about to be ready for signals
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


def _serve(number: int, work: _Work, url: Connection, watched: Connection, watching: Connection) -> None:
    """Be one of the processes."""
    from memfs.server.serve import StoreServer  # noqa: PLC0415  (imports prometheus-client: see serve_with_workers)

    watching.close()  # only the watching process holds it: at its end, however it comes, `watched` is closed
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signal_number, signal.SIG_DFL)
    try:
        server = StoreServer(
            work.host, 0, work.data, options=work.options, listening=work.listening,
            on_ready=lambda said: url.send((number, said)),
        )  # fmt: skip
    except MemfsError as error:
        _LOG.error("server process %d cannot serve: %s", number, error)
        sys.exit(error.exit_code)

    def end_with_watch() -> None:
        wait([watched])
        server.stop()

    threading.Thread(target=end_with_watch, name="watched", daemon=True).start()
    server.run()
    if watched.poll():
        shutil.rmtree(work.shared, ignore_errors=True)  # nobody else is left to do it
