"""What `memfs run` and its sandbox tell each other, over one socket: each message is one packet of JSON.

Inwards: ``begin``, ``signal``. Outwards: ``made``, ``began``, ``refused``, ``stopped``, ``ended``. A closed socket
means that the other end is gone: everything inside ends then.
"""

import json
import select
import socket
import struct
from typing import Any

_PACKET_BYTES = 65_536
_CREDENTIALS = struct.Struct("3i")


def pair() -> tuple[socket.socket, socket.socket]:
    """Return the two ends."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    return ours, theirs


def send(end: socket.socket, kind: str, **facts: int | str) -> None:
    """Send one message.

    Raises:
        OSError: The other end is gone.
    """
    end.send(json.dumps({"kind": kind, **facts}).encode(), socket.MSG_NOSIGNAL)


def is_waiting(end: socket.socket) -> bool:
    """Tell whether `receive` would return at once."""
    return bool(select.select([end], [], [], 0)[0])


def receive(end: socket.socket) -> dict[str, Any]:
    """Wait for a message; one of the kind ``gone`` where the other end is. ``process`` is its sender, as seen here."""
    try:
        packet, ancillary, _, _ = end.recvmsg(_PACKET_BYTES, socket.CMSG_SPACE(_CREDENTIALS.size))
    except ConnectionError:
        packet, ancillary = b"", []
    told: dict[str, Any] = json.loads(packet) if packet else {"kind": "gone"}
    for _level, kind, content in ancillary:
        if kind == socket.SCM_CREDENTIALS:
            told["process"] = _CREDENTIALS.unpack(content)[0]
    return told
