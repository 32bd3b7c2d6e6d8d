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
        data.mkdir(mode=0o700, parents=True)
        (data / "api-key").write_text(KEY)
        self._command = [sys.executable, "-c", RUN, data, str(free_port()), database or ""]
        self.url = self.start()

    def start(self) -> str:
        """Start it and return its URL once it answers."""
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        said = self._process.stdout.readline().strip()
        assert said, "the server did not start"
        return said

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> None:
        with self._process:
            self._process.send_signal(number)


@contextmanager
def killable(data: Path, *databases: str | None) -> Iterator[list[Killable]]:
    """Run a server process for each database named; all know `KEY`."""
    servers: list[Killable] = []
    try:
        for number, database in enumerate(databases):
            servers.append(Killable(data / f"server-{number}", database))
        yield servers
    finally:
        for server in servers:
            server.stop()
