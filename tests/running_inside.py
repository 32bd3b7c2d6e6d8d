"""`memfs run` as a user runs it: root, or an ordinary user made for the purpose (`ordinary`)."""

import os
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from commands import MEMFS, Memfs, Printed, RunningServer

if TYPE_CHECKING:
    from collections.abc import Iterator

ORDINARY = Path(__file__).with_name("ordinary.py")
UID = 47_110
TIMEOUT_S = 100
USERS = ["ordinary", "root"] if os.geteuid() == 0 else ["ordinary"]


@dataclass(frozen=True, slots=True)
class Inside:
    """What runs commands inside: a user with a home and one store, ``notes``."""

    memfs: Memfs
    home: Path
    user: str
    store: str

    @property
    def state(self) -> Path:
        return self.home / "state/memfs/default"

    def words(
        self, *command: str | Path, options: tuple[str | Path, ...] = (), stores: tuple[str, ...] = ()
    ) -> list[str]:
        named = [word for store in stores or (self.store,) for word in ("--store", store)]
        words = [str(word) for word in (MEMFS, "run", *named, *options, "--", *command)]
        return words if self.user == "root" else [sys.executable, str(ORDINARY), str(UID), *words]

    def run(
        self,
        *command: str | Path,
        options: tuple[str | Path, ...] = (),
        stores: tuple[str, ...] = (),
        cwd: Path | None = None,
        **settings: str,
    ) -> Printed:
        """Run a command inside to its end."""
        return self.do(self.words(*command, options=options, stores=stores), cwd, **settings)

    def do(self, words: list[str], cwd: Path | None = None, **settings: str) -> Printed:
        """Run these words to their end, as `run` does."""
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={**self.memfs.environ, **settings},
            cwd=cwd or self.home,
            timeout=TIMEOUT_S,
            check=False,
        )
        out, err = (text.decode(errors="replace") for text in (done.stdout, done.stderr))
        return Printed(code=done.returncode, out=out, err=err, raw=done.stdout)

    @contextmanager
    def running(
        self, *command: str | Path, options: tuple[str | Path, ...] = (), **settings: str
    ) -> "Iterator[subprocess.Popen[str]]":
        """Run a command inside while the block runs; whatever happens, it has ended then."""
        process = subprocess.Popen(
            self.words(*command, options=options),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**self.memfs.environ, **settings},
            cwd=self.home,
        )
        with process:
            try:
                yield process
            finally:
                process.terminate()

    def remote(self, path: str) -> str:
        """Return what the store has at a store path."""
        return self.memfs.run("memories", "get", self.store, path).out


def inside(server: RunningServer, directory: Path, user: str) -> Inside:
    """Return a user with an empty home in ``directory`` and a store of its own."""
    home = directory / "home"
    home.mkdir()
    if user == "ordinary" and os.geteuid() == 0:
        os.chown(home, UID, UID)
    memfs = Memfs.at_home(home, MEMFS_BASE_URL=server.url, MEMFS_API_KEY=server.key)
    store = f"Notes {directory.parent.name} {directory.name}"
    made = memfs.run("stores", "create", store)
    assert made.code == 0, made.err
    return Inside(memfs, home, user, store)
