"""Mount namespaces for tests: what is mounted, bound and shared inside is gone with the process that holds it.

Root can have a namespace where /dev/fuse and fuse.conf are as on a host with ordinary users; anybody else is such a
user, and needs none.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from memfs.fuse import mountinfo
from memfs.fuse.mountinfo import Mount

USER = 65_534
"""Nobody: fusermount mounts only for who has a name."""
IS_ROOT = os.geteuid() == 0
LIMIT_S = 30.0
MEMFS = [sys.executable, "-I", "-m", "memfs.cli"]
# The interpreter and the checkout may lie in a home that only root may pass through.
_AS_USER = [
    "setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups",
    "--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search",
]  # fmt: skip
_HOST_OF_USERS = """
set -e
mount -t tmpfs none "$1"
mknod -m 666 "$1/fuse" c 10 229
mount --bind "$1/fuse" /dev/fuse
echo "$2" > "$1/fuse.conf"
touch /etc/fuse.conf
mount --bind "$1/fuse.conf" /etc/fuse.conf
mount --bind "$3" /mnt
"""
_HOLD = "{}\necho held\nexec sleep 600"


class Enclosed:
    """A namespace, held by a process.

    Args:
        how: Words between ``unshare`` and the command; empty for no namespace at all.
        prepare: Shell lines that are run in it first, with ``words``.
        place: Where the test's directory is found in it.
    """

    def __init__(self, how: Sequence[str], prepare: str, words: Sequence[object], place: Path) -> None:
        self.place = place
        self._enter: list[str] = []
        self._started: list[subprocess.Popen[Any]] = []
        unshare = ["unshare", *how] if how else []
        command = [*unshare, "sh", "-c", _HOLD.format(prepare), "sh", *map(str, words)]
        self._holder: Any = subprocess.Popen(command, stdout=subprocess.PIPE)
        if self._holder.stdout.readline() != b"held\n":
            self.close()
            raise AssertionError("the namespace could not be made")
        if how:
            user = ["--user", "--preserve-credentials"] if "--user" in how else []
            self._enter = ["nsenter", f"--target={self._holder.pid}", "--mount", *user]

    def run(self, *words: object, user: bool = False) -> "subprocess.CompletedProcess[str]":
        """Run a command in it to its end; ``user``: as an ordinary user."""
        command = self._command(words, user=user)
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S)

    def start(self, *words: object, user: bool = False, log: Path) -> "subprocess.Popen[str]":
        """Start a command in it; killed at the end."""
        command = self._command(words, user=user)
        with log.open("ab") as told:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=told, text=True, cwd="/")
        self._started.append(process)
        return process

    def mounts(self, below: Path) -> list[Mount]:
        """Return what is mounted in it at or below a directory."""
        table = mountinfo.parse(Path(f"/proc/{self._holder.pid}/mountinfo").read_bytes())
        return [one for one in table if one.mount_point.is_relative_to(below)]

    def close(self) -> None:
        """Kill what runs in it."""
        for process in [*self._started, self._holder]:
            process.send_signal(signal.SIGKILL)
            process.communicate(timeout=LIMIT_S)

    def _command(self, words: Sequence[object], *, user: bool) -> list[str]:
        return [*self._enter, *(_AS_USER if user and IS_ROOT else []), *map(str, words)]


@contextmanager
def enclosed(how: Sequence[str], prepare: str = "", *words: object, place: Path) -> Iterator[Enclosed]:
    """Make a namespace for a block."""
    made = Enclosed(how, prepare, words, place)
    try:
        yield made
    finally:
        made.close()


@contextmanager
def host_of_users(directory: Path, *, fuse_conf: str = "") -> Iterator[Enclosed]:
    """A host where ordinary users may mount, with this line in fuse.conf; they find the directory at ``place``."""
    if not IS_ROOT:
        with enclosed([], place=directory) as made:
            yield made
        return
    settings = directory / "settings"
    settings.mkdir()
    # Pytest's own directories are private, so it is bound to one that is not.
    words, place = (settings, fuse_conf, directory), Path("/mnt")
    with enclosed(["--mount", "--propagation=private"], _HOST_OF_USERS, *words, place=place) as made:
        yield made
