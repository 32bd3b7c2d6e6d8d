"""What a process tells whoever supervises it: systemd's notification protocol, spoken by every long-running command.

``memfs up`` supervises its children by the same protocol (`memfs.cli.children`), so that nothing is parsed from output.
Protocol: sd_notify(3): one datagram of ``NAME=value`` lines to the socket that $NOTIFY_SOCKET names.
"""

import os
import socket
from collections.abc import Mapping


def notify(*, ready: bool = False, status: str = "", environ: Mapping[str, str] | None = None) -> None:
    """Tell the supervisor that the process serves (``ready``), or in a line what it is doing (``status``).

    Does nothing where nobody supervises, or where the supervisor is gone.
    """
    address = (os.environ if environ is None else environ).get("NOTIFY_SOCKET", "")
    if not address:
        return
    lines = [*(["READY=1"] if ready else []), *([f"STATUS={status}"] if status else [])]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        try:
            sender.sendto("\n".join(lines).encode(), "\0" + address[1:] if address.startswith("@") else address)
        except OSError:
            return
