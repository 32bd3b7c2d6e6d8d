"""A PostgreSQL cluster of the tests' own: private directory, private port, gone with the process that started it.

Run as root it belongs to an unprivileged user, since PostgreSQL refuses root.
"""

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

PLACES = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/lib/postgresql*/bin", "/usr/local/pgsql/bin")
READY_S = 60.0
SETTINGS = {"max_connections": "200", "listen_addresses": "127.0.0.1", "log_min_messages": "fatal"}
UNSAFE = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
"""Faster; a database that a test kills must not have them."""
SWEEP = 'cat >/dev/null; for n in 1 2 3 4 5 6 7 8 9; do rm -rf "$1" 2>/dev/null && exit; sleep 1; done'
"""Waits until nobody holds its input any more, however that one ended, and removes a directory."""


class Cluster:
    """A running cluster."""

    def __init__(self, port: int, begin: "Callable[[], subprocess.Popen[bytes]]") -> None:
        self.port = port
        self._begin = begin
        self.start()

    def start(self) -> None:
        """Start it, at the same port each time, and wait until it answers."""
        self.process = self._begin()
        deadline = time.monotonic() + READY_S
        while True:
            try:
                psycopg.connect(self._url("postgres"), connect_timeout=2).close()
            except psycopg.OperationalError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)  # nothing tells when it listens
            else:
                return

    def new_database(self) -> str:
        """Make an empty database and return its URL."""
        name = f"memfs_{secrets.token_hex(6)}"
        with psycopg.connect(self._url("postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')  # type: ignore[arg-type]  # (a name of our own making)
        return self._url(name)

    def _url(self, name: str) -> str:
        return f"postgresql://memfs@127.0.0.1:{self.port}/{name}"


@contextmanager
def cluster(*, is_durable: bool = False) -> Iterator[Cluster]:
    """Run a cluster until the block ends; with ``is_durable`` it survives its own kill."""
    # Where its user may go: what pytest makes belongs to whoever runs the tests.
    directory = Path(tempfile.mkdtemp(prefix="memfs-postgres-", dir="/tmp"))
    sweeping = subprocess.Popen(["sh", "-c", SWEEP, "sweep", directory], stdin=subprocess.PIPE, start_new_session=True)
    try:
        user = unprivileged()
        os.chown(directory, user.pw_uid, user.pw_gid)
        initdb = [program("initdb"), "-D", directory / "data", "-U", "memfs", "--auth=trust", "-N", "--locale=C.UTF-8"]
        subprocess.run(initdb, check=True, stdout=subprocess.DEVNULL, **as_user(user))
        running = start(directory, user, is_durable=is_durable)
        try:
            yield running
        finally:
            stop(running, signal.SIGQUIT)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        sweeping.communicate()


def start(directory: Path, user: pwd.struct_passwd, *, is_durable: bool) -> Cluster:
    """Start the cluster in a directory and wait until it answers."""
    port = free_port()
    settings = (
        SETTINGS | ({} if is_durable else UNSAFE) | {"port": str(port), "unix_socket_directories": str(directory)}
    )
    command: list[str | Path] = [program("postgres"), "-D", directory / "data"]
    for name, value in settings.items():
        command += ["-c", f"{name}={value}"]
    # It ends with whoever started it, however that one ends.
    guarded = ["setpriv", "--pdeathsig", "INT", *command]
    return Cluster(port, lambda: subprocess.Popen(guarded, stderr=subprocess.DEVNULL, **as_user(user)))


def stop(running: Cluster, how: signal.Signals = signal.SIGINT) -> None:
    """End the cluster, connections or not; SIGQUIT leaves its data as a crash does."""
    if running.process.poll() is None:
        running.process.send_signal(how)
    running.process.wait(READY_S)


def unprivileged() -> pwd.struct_passwd:
    """Return the user that the cluster belongs to."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid())
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    message = "neither a user postgres nor nobody"
    raise LookupError(message)


def as_user(user: pwd.struct_passwd) -> dict[str, Any]:
    """Return what makes a subprocess run as a user."""
    if os.geteuid() != 0:
        return {}
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": [], "cwd": "/"}


def program(name: str) -> Path:
    """Return the newest PostgreSQL's program."""
    found = [place / name for pattern in PLACES for place in Path("/").glob(pattern[1:]) if (place / name).exists()]
    if found:
        return max(found, key=lambda path: [int(part) for part in path.parent.parent.name.split("-") if part.isdigit()])
    on_path = shutil.which(name)
    assert on_path, f"{name} of PostgreSQL is missing: run .ci/test-tools"
    return Path(on_path)


def free_port() -> int:
    """Return a port on which nothing listens now."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])
