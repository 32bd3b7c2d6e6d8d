"""The mount as the worker asks it: requests over its socket, one line each way."""

import socket

from memfs.core.tree_requests import Answer, Request, decode_answer, encode_request
from memfs.health import short_address
from memfs.state.layout import Layout


class Owner:
    """A connection to the mount of a state directory."""

    def __init__(self, layout: Layout) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with short_address(layout.mount_socket) as address:
            self._socket.connect(address)
        self._answers = self._socket.makefile("rb")

    def ask(self, request: Request) -> Answer:
        self._socket.sendall(encode_request(request))
        return decode_answer(self._answers.readline())

    def close(self) -> None:
        self._answers.close()
        self._socket.close()
