"""``worker.sock``: where the command line asks the worker that runs, one JSON line each way.

Only the worker's user and root are answered (SO_PEERCRED); the socket has mode 0600 below the private state directory.
A file left by a worker that was killed is replaced: ``worker.lock`` makes sure that no other worker runs. Runs on the
control thread.
"""

import asyncio
import logging
import os
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from memfs.core.worker_requests import Reply, encode_reply

log = logging.getLogger(__name__)

_LINE_BYTES = 1 << 21
_CREDENTIALS = struct.Struct("3i")


@asynccontextmanager
async def serving_control(path: Path, answer: Callable[[bytes], Awaitable[Reply]]) -> AsyncIterator[None]:
    """Answer requests on the socket ``path`` until the block ends.

    Raises:
        OSError: The socket cannot be made.
    """

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Who hangs up, or sends more than a line holds, is not answered.
        with suppress(OSError, ValueError):
            if _is_trusted(writer.get_extra_info("socket")):
                while line := await reader.readline():
                    writer.write(encode_reply(await answer(line)))
                    await writer.drain()
        writer.close()

    server = await asyncio.start_unix_server(serve, sock=_bound(path), limit=_LINE_BYTES)
    try:
        yield
    finally:
        server.close()
        _remove(path)


def _bound(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    directory = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(FileNotFoundError):
            os.unlink(path.name, dir_fd=directory)
        os.fchmod(listener.fileno(), 0o600)  # The file that bind makes takes its mode from the socket.
        # Addresses end at 107 bytes, state directories do not.
        listener.bind(f"/proc/self/fd/{directory}/{path.name}")
    except BaseException:
        listener.close()
        raise
    finally:
        os.close(directory)
    return listener


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)


def _is_trusted(connection: socket.socket) -> bool:
    _pid, uid, _gid = _CREDENTIALS.unpack(
        connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    )
    return uid in {0, os.geteuid()}
