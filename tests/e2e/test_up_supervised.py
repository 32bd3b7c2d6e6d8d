"""`memfs up` under a supervisor of its own: it passes on what its worker tells."""

import socket
from pathlib import Path

from commands import Memfs
from running_up import eventually, running_up


def test_the_supervisor_hears_what_the_worker_does(memfs: Memfs, tmp_path: Path) -> None:
    name = f"supervised {tmp_path.name}"
    assert 0 == memfs.run("stores", "create", name).code
    heard: list[bytes] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as listener:
        listener.bind(str(tmp_path / "n"))

        def has_heard(line: str) -> bool:
            try:
                while True:
                    heard.extend(listener.recv(4_096).splitlines())
            except BlockingIOError:
                return line.encode() in heard

        supervised = Memfs({**memfs.environ, "NOTIFY_SOCKET": str(tmp_path / "n")})
        with running_up(supervised, tmp_path, "--store", name) as up:
            eventually(lambda: has_heard(f"STATUS={up.mount}: synced"))
            assert b"READY=1" in heard
            up.stop()
        has_heard("")

    assert b"STOPPING=1" in heard
