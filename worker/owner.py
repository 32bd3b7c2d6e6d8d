"""Whom the worker asks to change a tree: the mount that serves it, or itself where no mount lives.

`MountOwner` is asked from the worker's threads, several at a time: each request has a connection of its own for as long
as it takes. Nothing here waits for longer than a mount needs for one change.
"""

import os
import socket
import threading
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

from memfs.core.errors import AlreadyHeld, InvalidRequest
from memfs.core.tree_requests import (
    Answer,
    Changed,
    Move,
    Outcome,
    Reload,
    Remove,
    Replace,
    Request,
    decode_answer,
    encode_request,
)
from memfs.state.layout import Layout
from memfs.tree.owner import DirectOwner

ANSWER_TIMEOUT_S = 30.0
_RECEIVE_BYTES = 1 << 16
_LOCK_WAIT_S = 0.5


class MountOwner:
    """A `TreeOwner`: asks over ``mount.sock``, and changes the tree itself where nobody listens there."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._guard = threading.Lock()
        self._idle: list[socket.socket] = []
        # owner.lock is a lock between processes: within this one, a store's direct changes take turns.
        self._turns: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def ask(self, request: Request) -> Answer:
        """Do what is asked; see `TreeOwner`.

        Raises:
            AlreadyHeld: A mount owns the tree and does not answer.
        """
        answer = self._over_the_socket(request)
        if answer is None:
            return self._directly(request)
        if answer.error and isinstance(request, Replace | Remove | Move):
            # A mount that does not know the store yet leaves it to us; one that has it keeps the lock.
            with suppress(AlreadyHeld):
                return self._directly(request)
        return answer

    def tell(self, request: Reload | Changed) -> None:
        """Let the mount know, where one lives; nothing depends on it."""
        self._over_the_socket(request)

    def close(self) -> None:
        """Give the connections back."""
        with self._guard:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _directly(self, request: Request) -> Answer:
        direct = DirectOwner(self._layout.store, timeout_s=_LOCK_WAIT_S)
        with self._turn_of(request):
            return direct.ask(request)

    def _turn_of(self, request: Request) -> threading.Lock:
        store_id = request.store_id if isinstance(request, Replace | Remove | Move) else ""
        with self._guard:
            return self._turns[store_id]

    def _over_the_socket(self, request: Request) -> Answer | None:
        """Return the mount's answer, or None where no mount lives."""
        while True:
            with self._guard:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                break
            with suppress(OSError):
                return self._exchange(connection, request)
            # At this point we know that the mount it led to is gone. Asking again is safe: another may have come.
        try:
            connection = connect(self._layout.mount_socket)
        except OSError:
            return None
        try:
            return self._exchange(connection, request)
        except OSError:
            return Answer(outcome=Outcome.CHANGED)

    def _exchange(self, connection: socket.socket, request: Request) -> Answer:
        try:
            connection.sendall(encode_request(request))
            answer = decode_answer(_line(connection))
        except (OSError, InvalidRequest) as error:
            connection.close()
            raise ConnectionError(str(error)) from None
        with self._guard:
            self._idle.append(connection)
        return answer


def connect(path: Path) -> socket.socket:
    """Connect to a unix socket however long its path is: an address ends at 107 bytes, a state directory does not.

    Raises:
        OSError: Nobody listens there.
    """
    directory = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(ANSWER_TIMEOUT_S)
        connection.connect(f"/proc/self/fd/{directory}/{path.name}")
    except OSError:
        connection.close()
        raise
    finally:
        os.close(directory)
    return connection


def _line(connection: socket.socket) -> bytes:
    received = bytearray()
    while not received.endswith(b"\n"):
        piece = connection.recv(_RECEIVE_BYTES)
        if not piece:
            raise ConnectionResetError("the mount hung up")
        received += piece
    return bytes(received)
