"""The socket that a server listens on, or why it cannot."""

import errno
import socket

from memfs.core.errors import AlreadyHeld, UsageError

BACKLOG = 512
_LAST_PORT = 65_535


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes a free one.

    Raises:
        AlreadyHeld: Another program listens there.
        UsageError: The address cannot be listened on.
    """
    where = f"{host}:{port}"
    if not 0 <= port <= _LAST_PORT:
        raise UsageError(f"{where} names no port", remedy="Choose another --listen HOST:PORT")
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        listening = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise AlreadyHeld(
                f"another program listens on {where}", remedy="Stop it, or choose another --listen HOST:PORT"
            ) from None
        raise UsageError(
            f"cannot listen on {where} ({error.strerror})", remedy="Choose another --listen HOST:PORT"
        ) from None
    except UnicodeError:
        raise UsageError(f"{host!r} is no host", remedy="Choose another --listen HOST:PORT") from None
    # Connections inherit it; without it an answer in two parts waits 40 ms for the client's acknowledgement.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening
