"""A connection that loses answers: the server has done what it was asked, and the client never learns of it."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

import httpx

_RESET = struct.pack("ii", 1, 0)
"""Close by resetting: what a client sees when what stands between falls over."""


class Lossy:
    """Listens on `url` and passes on what is said, but for the answers that are to be lost."""

    def __init__(self, server_url: str) -> None:
        address = httpx.URL(server_url)
        self._server = (address.host, address.port or 0)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._to_lose = 0
        self._threads: list[threading.Thread] = []
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._run(self._listen)

    def lose(self, answers: int = 1) -> None:
        """Lose the next answers, each with its connection."""
        self._to_lose = answers

    @property
    def is_done(self) -> bool:
        """Whether every answer that was to be lost is lost."""
        return self._to_lose == 0

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for thread in self._threads:
            thread.join(20)
            assert not thread.is_alive()

    def _run(self, work: object, *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments)  # type: ignore[arg-type]  # any callable
        self._threads.append(thread)
        thread.start()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                self._run(self._serve, client)

    def _serve(self, client: socket.socket) -> None:
        with closing(client), closing(socket.create_connection(self._server, timeout=20)) as server:
            self._run(_pass_on, client, server)
            with suppress(OSError):
                while answer := server.recv(65_536):
                    if self._to_lose:
                        # It begins to answer once all is done.
                        self._to_lose -= 1
                        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                        break
                    client.sendall(answer)
            for one in (client, server):
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR if one is server else socket.SHUT_RD)


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while part := source.recv(65_536):
            target.sendall(part)
        target.shutdown(socket.SHUT_WR)


@contextmanager
def lossy(server_url: str) -> Iterator[Lossy]:
    """Stand between a client and the server at ``server_url`` until the block ends."""
    between = Lossy(server_url)
    with closing(between):
        yield between
