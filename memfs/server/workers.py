"""Several server processes on one socket and one PostgreSQL database, and the process that watches them.

Used by ``memfs serve --workers N``. The watching process listens, prepares the database, and answers nobody itself: a
process that ends is started again, however often, and when the watching one ends, however it does, the others end too.
"""

import logging
import multiprocessing
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING

from memfs.core.errors import ConfigError, MemfsError, RemoteUnavailable, StateUnavailable, UsageError
from memfs.server.counting import counting_directory
from memfs.server.listening import listen
from memfs.server.options import ServerOptions
from memfs.server.prepared import prepared
from memfs.server.restarts import Restarts

if TYPE_CHECKING:
    from multiprocessing.context import ForkProcess

_FORK = multiprocessing.get_context("fork")
_LAST_S = 30.0
"""Longer than any of them finishes what is under way; one that hangs is ended then."""
_LOOK_S = 0.2
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_FOR_GOOD = {kind.exit_code: kind for kind in (UsageError, ConfigError, StateUnavailable)}
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
    """Serve with several processes until SIGTERM, SIGINT or SIGHUP, have each finish what is under way, and return.

    The arguments and errors are those of `memfs.server.serve.serve`, and:

    Raises:
        UsageError: The database is SQLite's, which has one writer.
        MemfsError: A process cannot serve from the very beginning, for a reason that does not pass by itself.
    """
    if options.database is None:
        raise UsageError(
            f"--workers {workers} needs PostgreSQL: SQLite has one writer",
            remedy="Give --database postgresql://USER@HOST/DATABASE, or --workers 1",
        )
    with closing(listen(host, port)) as listening, counting_directory() as shared:
        # What is wrong with one of them is wrong with all, and said once. No connection is open when they begin.
        prepared(data, options).database.close()
        # Read by prometheus-client when it is imported, which is after this.
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(shared)
        work = _Work(host=host, listening=listening, data=data, options=options, shared=shared)
        _Watch(work, workers=workers, on_ready=on_ready).run()
    _LOG.info("stopped")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """What each of the processes is to do."""

    host: str
    listening: socket
    data: Path
    options: ServerOptions
    shared: Path
    """Where they count together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """What a process says when it serves, or why it cannot."""

    number: int
    url: str = ""
    message: str = ""
    exit_code: int = 0


class _Watch:
    """The processes, and what becomes of them."""

    def __init__(self, work: _Work, *, workers: int, on_ready: Callable[[str], None]) -> None:
        self._work, self._workers, self._on_ready = work, workers, on_ready
        self._processes: dict[int, ForkProcess] = {}
        self._restarts = Restarts(time.monotonic)
        self._ready: set[int] = set()
        self._has_served = False
        self._failed: dict[int, _Said] = {}
        """Why processes could not serve, until they can."""
        self._told = ""
        self._says, self._say = _FORK.Pipe(duplex=False)
        self._watched, self._watching = _FORK.Pipe(duplex=False)
        self._is_stopping = False

    def run(self) -> None:
        """Start the processes, and again those that end, until a signal."""
        with self._signals():
            try:
                for number in range(self._workers):
                    self._start(number)
                while not self._is_stopping:
                    self._hear()
                    for number in self._ended():
                        self._bury(number)
                    for number in self._restarts.due():
                        self._start(number)
            finally:
                self._end()

    def _start(self, number: int) -> None:
        options = self._work.options
        share = replace(
            options,
            requests_per_minute=options.requests_per_minute and options.requests_per_minute / self._workers,
            prune_every_s=options.prune_every_s if number == 0 else None,
        )
        arguments = (number, replace(self._work, options=share), self._say, self._watched, self._watching)
        process = _FORK.Process(target=_serve, args=arguments, name=f"memfs-server-{number}")
        process.start()
        self._processes[number] = process
        self._restarts.started(number)

    def _hear(self) -> None:
        while self._says.poll(0 if self._has_served else _LOOK_S):
            said: _Said = self._says.recv()
            if not said.url:
                self._failed[said.number] = said
                continue
            self._failed.pop(said.number, None)
            self._ready.add(said.number)
            if len(self._ready) < self._workers:
                continue
            if self._told:
                _LOG.info("all %d server processes serve again", self._workers)
                self._told = ""
            if not self._has_served:
                self._has_served = True
                self._on_ready(said.url)

    def _ended(self) -> list[int]:
        ended = wait([process.sentinel for process in self._processes.values()], timeout=_LOOK_S)
        return [number for number, process in self._processes.items() if process.sentinel in ended]

    def _bury(self, number: int) -> None:
        """Have a process that ended started again after a while; from the very beginning some ends are for good."""
        from prometheus_client.multiprocess import mark_process_dead  # noqa: PLC0415  (see serve_with_workers)

        process = self._processes.pop(number)
        process.join()
        self._hear()
        self._ready.discard(number)
        why = self._failed.get(number)
        if not self._has_served:
            _refuse(number, process.exitcode or 0, why)
        # Nobody waits in it any more.
        mark_process_dead(process.pid, str(self._work.shared))  # type: ignore[no-untyped-call]  # untyped in prometheus-client
        self._restarts.ended(number)
        told = why.message if why is not None else _ending(process.exitcode or 0)
        if told != self._told:
            _LOG.warning("a server process ended, it is started again until it serves: %s", told)
        self._told = told

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

        # Whoever started it with nohup has it go on.
        wanted = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        before = {number: signal.signal(number, stop) for number in wanted}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _refuse(number: int, exit_code: int, why: _Said | None) -> None:
    """Raise for a process that could not serve from the very beginning, unless trying again may help."""
    if why is not None and why.exit_code != RemoteUnavailable.exit_code:
        raise _FOR_GOOD.get(why.exit_code, MemfsError)(why.message)
    if why is None and exit_code > 0:
        raise MemfsError(f"the server process {number} failed at once ({_ending(exit_code)}); its lines above say why")


def _ending(exit_code: int) -> str:
    return signal.Signals(-exit_code).name if exit_code < 0 else f"exit code {exit_code}"


def _serve(number: int, work: _Work, say: Connection, watched: Connection, watching: Connection) -> None:
    """Be one of the processes."""
    from memfs.server.serve import StoreServer  # noqa: PLC0415  (imports prometheus-client: see serve_with_workers)

    watching.close()  # only the watching process holds it: at its end, however it comes, `watched` is closed
    for signal_number in _SIGNALS:
        if signal.getsignal(signal_number) is not signal.SIG_IGN:
            signal.signal(signal_number, signal.SIG_DFL)
    try:
        server = StoreServer(
            work.host, 0, work.data, options=work.options, listening=work.listening,
            on_ready=lambda url: say.send(_Said(number=number, url=url)),
        )  # fmt: skip
    except (MemfsError, OSError) as error:
        code = error.exit_code if isinstance(error, MemfsError) else StateUnavailable.exit_code
        say.send(_Said(number=number, message=str(error), exit_code=code))
        sys.exit(code)

    def end_with_watch() -> None:
        wait([watched])
        server.stop()

    threading.Thread(target=end_with_watch, name="watched", daemon=True).start()
    server.run()
    if watched.poll():
        shutil.rmtree(work.shared, ignore_errors=True)  # nobody else is left to do it
