"""What a process tells whoever supervises it: systemd's notification protocol, spoken by every long-running command.

``memfs up`` supervises its children by the same protocol (`memfs.cli.children`), so that nothing is parsed from output.
Protocol: sd_notify(3): one datagram of ``NAME=value`` lines to the socket that $NOTIFY_SOCKET names.
"""

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

DOWNLOAD = "X_MEMFS_DOWNLOAD"
"""Of our own, by a name as sd_notify(3) wants it: ``HERE/TOTAL`` memories, ``HERE/`` where nobody knows of how many,
and nothing once all are here."""


def notify(
    *,
    ready: bool = False,
    stopping: bool = False,
    status: str = "",
    extend_timeout_s: float = 0.0,
    download: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> None:
    """Tell the supervisor that the process serves (``ready``), begins to end (``stopping``), or in a line what it does.

    Does nothing where nobody supervises, or where the supervisor is gone.

    Args:
        ready: It serves from now on.
        stopping: It begins to end.
        status: What it does, one line.
        extend_timeout_s: How long the step at hand may still take, seconds; 0 leaves it to the supervisor.
        download: How far a download is, for a supervisor of our own: see `DOWNLOAD`; None tells nothing of it.
        environ: Where $NOTIFY_SOCKET is; the process's own environment by default.
    """
    address = (os.environ if environ is None else environ).get("NOTIFY_SOCKET", "")
    if not address:
        return
    told = {
        "READY=1": ready,
        "STOPPING=1": stopping,
        f"EXTEND_TIMEOUT_USEC={extend_timeout_s * 1e6:.0f}": extend_timeout_s,
        f"STATUS={status}": status,
        f"{DOWNLOAD}={download}": download is not None,
    }
    message = "\n".join(line for line, is_told in told.items() if is_told).encode()
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        if address.startswith("@"):
            sender.sendto(message, "\0" + address[1:])
            return
        with short_address(Path(address)) as short:
            sender.sendto(message, short)


def read_download(value: str) -> tuple[int, int | None] | None:
    """Return how many memories are here, and of how many; the latter None where nobody knows, all None at the end."""
    here, _, total = value.partition("/")
    return (int(here), int(total) if total else None) if here else None


@contextmanager
def short_address(path: Path) -> Iterator[str]:
    """Give a name of the socket ``path`` that the kernel takes, however long its directory is called.

    A socket's address ends at 107 bytes (unix(7)); a directory's descriptor is a short name for it.
    """
    directory = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{directory}/{path.name}"
    finally:
        os.close(directory)
