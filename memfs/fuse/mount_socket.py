"""``mount.sock``: where the worker asks the mount to change a tree, one JSON line each way (`core.tree_requests`).

Only the mounting user and root are answered (SO_PEERCRED); the socket has mode 0600 below the private state directory.
A file left by a mount that was killed is replaced: `held` makes sure that no other mount serves the state.

Threading: one thread serves every connection, one request at a time.
"""

import logging
import os
import selectors
import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from memfs.core.errors import MemfsError
from memfs.core.tree_requests import Answer, Outcome, Request, decode_request, encode_answer

log = logging.getLogger(__name__)

_LINE_BYTES = 1 << 20
_RECEIVE_BYTES = 1 << 16
_SEND_TIMEOUT_S = 5.0
_CONNECTIONS = 32
"""With one more, the oldest is closed: whoever still needs it connects again."""
_PAUSE_S = 0.05
_CREDENTIALS = struct.Struct("3i")


class MountSocket:
    """The listening socket and its thread.

    Args:
        path: Where it appears, absolute; its directory exists.
        apply: What answers a request; may raise MemfsError or OSError.
    """

    def __init__(self, path: Path, apply: Callable[[Request], Answer]) -> None:
        self._path, self._apply = path, apply
        self._listener = _listen(path)
        self._waker, self._woken = socket.socketpair()
        self._pending: dict[socket.socket, bytearray] = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._serve, name="memfs-socket", daemon=True)

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def close(self) -> None:
        """Finish the request at hand, end the thread and remove the socket."""
        self._waker.send(b"\0")
        if self._thread.ident is not None:
            self._thread.join()
        for one in (self._listener, self._waker, self._woken, *self._pending):
            one.close()
        self._selector.close()
        self._path.unlink(missing_ok=True)

    def _serve(self) -> None:
        while True:
            for key, _events in self._selector.select():
                if key.fileobj is self._woken:
                    return
                if key.fileobj is self._listener:
                    self._accept()
                elif isinstance(key.fileobj, socket.socket) and key.fileobj in self._pending:
                    self._receive(key.fileobj)

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            time.sleep(_PAUSE_S)  # The caller went away again, or no descriptor is left: it stays to be accepted.
            return
        connection.settimeout(_SEND_TIMEOUT_S)
        if not _is_trusted(connection):
            connection.close()
            return
        if len(self._pending) >= _CONNECTIONS:
            self._drop(next(iter(self._pending)))
        self._pending[connection] = bytearray()
        self._selector.register(connection, selectors.EVENT_READ)

    def _receive(self, connection: socket.socket) -> None:
        try:
            received = connection.recv(_RECEIVE_BYTES)
            if not received:
                raise ConnectionResetError
            self._answer_lines(connection, received)
        except OSError:
            self._drop(connection)

    def _answer_lines(self, connection: socket.socket, received: bytes) -> None:
        pending = self._pending[connection]
        pending += received
        *lines, rest = bytes(pending).split(b"\n")
        pending[:] = rest
        if len(rest) > _LINE_BYTES:
            raise ConnectionAbortedError
        for line in lines:
            connection.sendall(encode_answer(self._answer(line)))

    def _answer(self, line: bytes) -> Answer:
        try:
            return self._apply(decode_request(line))
        except (MemfsError, OSError) as error:
            return Answer(outcome=Outcome.CHANGED, error=str(error), errno=error.errno or 0)
        except Exception:
            log.exception("a request on the mount's socket failed")
            failed = "the mount failed on this request; its log says more"
            return Answer(outcome=Outcome.CHANGED, error=failed, errno=MemfsError.errno)

    def _drop(self, connection: socket.socket) -> None:
        self._selector.unregister(connection)
        del self._pending[connection]
        connection.close()


def _listen(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    directory = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        with suppress(FileNotFoundError):
            os.unlink(path.name, dir_fd=directory)
        os.fchmod(listener.fileno(), 0o600)  # The file that bind makes takes its mode from the socket.
        # Addresses end at 107 bytes, state directories do not.
        listener.bind(f"/proc/self/fd/{directory}/{path.name}")
        listener.listen()
    except BaseException:
        listener.close()
        raise
    finally:
        os.close(directory)
    return listener


def _is_trusted(connection: socket.socket) -> bool:
    _pid, uid, _gid = _CREDENTIALS.unpack(
        connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    )
    return uid in {0, os.geteuid()}
