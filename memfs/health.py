"""What a process tells whoever supervises it: systemd's notification protocol, spoken by every long-running command.

``memfs up`` supervises its children by the same protocol (`memfs.cli.children`), so that nothing is parsed from output.
Protocol: sd_notify(3): one datagram of ``NAME=value`` lines to the socket that $NOTIFY_SOCKET names.
"""

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path


def notify(*, ready: bool = False, status: str = "", environ: Mapping[str, str] | None = None) -> None:
    """Tell the supervisor that the process serves (``ready``), or in a line what it is doing (``status``).

    Does nothing where nobody supervises, or where the supervisor is gone.
    """
    address = (os.environ if environ is None else environ).get("NOTIFY_SOCKET", "")
    if not address:
        return
    lines = [*(["READY=1"] if ready else []), *([f"STATUS={status}"] if status else [])]
    message = "\n".join(lines).encode()
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        if address.startswith("@"):
            sender.sendto(message, "\0" + address[1:])
            return
        with short_address(Path(address)) as short:
            sender.sendto(message, short)


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
