"""The sides of the server bench, each a process: memfs on SQLite, memfs on PostgreSQL, a bare FastAPI application.

Run as a program it is one of them: ``memfs DATA [URL]``, or ``bare`` with the sizes of the answers to be given.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from load import OPERATIONS, Place, Wire, digest, text

from memfs.api.routes import MEMORIES
from memfs.core.limits import Limits

NO_LIMIT = Limits(memories=10_000_000)


@contextmanager
def process(*words: str | Path) -> Iterator[str]:
    """Run a side and yield its URL."""
    command = [sys.executable, __file__, *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        try:
            yield running.stdout.readline().strip()
        finally:
            running.terminate()
            running.wait(30)


@contextmanager
def memfs(data: Path, database: str | None = None) -> Iterator[Place]:
    """Run the store server, and yield where; no store is made."""
    with process("memfs", data, *([database] if database else [])) as url:
        yield _place(url, (data / "api-key").read_text().strip())


@contextmanager
def bare(sizes: Mapping[str, int]) -> Iterator[Place]:
    """Run the bare application, whose answers have the sizes of memfs's."""
    with process("bare", *(str(sizes[operation]) for operation in OPERATIONS)) as url:
        place = _place(url, "no-key")
        yield Place(host=place.host, port=place.port, key=place.key, read=("x",), written=(("x", "0" * 64),) * 64)


def stocked(place: Place, memories: int, clients: int) -> Place:
    """Make a store with some memories in it, and one more for each client."""
    wire = Wire(place)
    path = MEMORIES.format(store_id=new_store(wire))
    made = [
        wire.ask("POST", path, {"path": f"/notes/{number:06}", "content": text(number)})["id"]
        for number in range(memories + clients)
    ]
    wire.close()
    written = tuple((made[memories + client], digest(text(memories + client))) for client in range(clients))
    return Place(
        host=place.host, port=place.port, key=place.key, memories=path, read=tuple(made[:memories]), written=written
    )


def new_store(wire: Wire) -> str:
    made: str = wire.ask("POST", "/v1/memory_stores", {"name": "Bench"})["id"]
    return made


def _place(url: str, key: str) -> Place:
    parts = urlsplit(url)
    return Place(host=parts.hostname or "", port=parts.port or 0, key=key)


def _run_memfs(data: Path, database: str | None) -> None:
    from memfs.server.options import ServerOptions  # noqa: PLC0415  (only the process that serves pays for it)
    from memfs.server.serve import serve  # noqa: PLC0415  (the same)

    options = ServerOptions(database=database, limits=NO_LIMIT)
    serve("127.0.0.1", 0, data, on_ready=lambda url: print(url, flush=True), options=options)


def _run_bare(sizes: list[int]) -> None:
    import uvicorn  # noqa: PLC0415  (only the process that serves pays for it)
    from fastapi import FastAPI, Response  # noqa: PLC0415  (the same)

    from memfs.server.listening import BACKLOG, listen  # noqa: PLC0415  (the same)

    def constant(size: int) -> Callable[[], Response]:
        content = b'"' + b"x" * (size - 2) + b'"'

        def answer() -> Response:
            return Response(content, media_type="application/json")

        return answer

    # Telemetry is off as it is for memfs: it would make the comparison easier.
    off = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, telemetry=off)
    for operation, size in zip(OPERATIONS, sizes, strict=True):
        app.add_api_route(f"/{operation}", constant(size), methods=["GET", "POST"])
    listening = listen("127.0.0.1", 0)
    print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    config = uvicorn.Config(
        app,
        ws="none",
        lifespan="off",
        server_header=False,
        backlog=BACKLOG,
        log_config=None,
        access_log=False,
        timeout_keep_alive=75,  # as memfs has it: a connection outlives the rounds of the other sides
    )
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    if sys.argv[1] == "memfs":
        _run_memfs(Path(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else None)
    else:
        _run_bare([int(word) for word in sys.argv[2:]])
