"""What `memfs run` and its sandbox tell each other, over one socket: each message is one packet of JSON.

Inwards: ``begin``, ``signal``. Outwards: ``made``, ``began``, ``refused``, ``stopped``, ``ended``. A closed socket
means that the other end is gone: everything inside ends then.
"""

import json
import socket
from typing import Any

_PACKET_BYTES = 65_536


def pair() -> tuple[socket.socket, socket.socket]:
    """Return the two ends."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def send(end: socket.socket, kind: str, **facts: int | str) -> None:
    """Send one message.

    Raises:
        OSError: The other end is gone.
    """
    end.send(json.dumps({"kind": kind, **facts}).encode(), socket.MSG_NOSIGNAL)


def receive(end: socket.socket) -> dict[str, Any]:
    """Wait for a message; one of the kind ``gone`` where the other end is."""
    try:
        packet = end.recv(_PACKET_BYTES)
    except ConnectionError:
        packet = b""
    told: dict[str, Any] = json.loads(packet) if packet else {"kind": "gone"}
    return told
