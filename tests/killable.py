"""Server processes that may be killed at any moment and begun again at the same address, over the same database."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from postgres import free_port

KEY = "a-key-of-the-tests-own"
RUN = """
import sys
from pathlib import Path
from memfs.server.options import ServerOptions
from memfs.server.serve import serve
data, port, url = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] or None
serve("127.0.0.1", port, data, on_ready=lambda url: print(url, flush=True), options=ServerOptions(database=url))
"""


class Killable:
    """One server process."""

    def __init__(self, data: Path, database: str | None) -> None:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        (data / "api-key").write_text(KEY)
        self._command = [sys.executable, "-c", RUN, data, str(free_port()), database or ""]
        self._begin()

    def start(self) -> None:
        """Start it again at its address, and return once it answers."""
        self._begin()
        self.await_start()

    def await_start(self) -> None:
        """Return once it answers, at ``url``."""
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        assert self.url, "the server did not start"

    def _begin(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> None:
        with self._process:
            self._process.send_signal(number)


@contextmanager
def killable(data: Path, *databases: str | None) -> Iterator[list[Killable]]:
    """Run a server process for each database named, None for the SQLite file in ``data``; all know `KEY`."""
    servers: list[Killable] = []
    try:
        for database in databases:
            servers.append(Killable(data, database))  # noqa: PERF401  (those that run end even if the next cannot start)
        for server in servers:
            server.await_start()
        yield servers
    finally:
        for server in servers:
            server.stop()
