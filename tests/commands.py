"""The installed commands, run as a user runs them: each in a process of its own, at home in an empty directory."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

MEMFS = Path(sys.executable).with_name("memfs")
STOP_TIMEOUT_S = 20
RUN_TIMEOUT_S = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningServer:
    """A `memfs serve` in a process of its own."""

    url: str
    key_file: Path

    @property
    def key(self) -> str:
        return self.key_file.read_text(encoding="ascii").strip()


@contextmanager
def serving(data: Path) -> Iterator[RunningServer]:
    """Run a server on a free port until the block ends."""
    words = [MEMFS, "serve", "--listen", "127.0.0.1:0", "--data", data]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    try:
        ready = process.stdout.readline()
        assert ready.startswith("serving memory stores at http://"), ready
        yield RunningServer(url=ready.split()[4], key_file=data / "api-key")
    finally:
        process.terminate()
        process.wait(STOP_TIMEOUT_S)
        process.stdout.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """What a command left: its exit code and what it printed."""

    code: int
    out: str
    err: str
    raw: bytes


@dataclass(frozen=True, slots=True)
class Memfs:
    """The command ``memfs`` with an environment."""

    environ: Mapping[str, str]

    @classmethod
    def at_home(cls, home: Path, **settings: str) -> "Memfs":
        """Return the command with a home of its own and these settings in its environment."""
        own = {"HOME": str(home), "XDG_DATA_HOME": str(home / "share"), "XDG_STATE_HOME": str(home / "state")}
        return cls({**os.environ, **own, **settings})

    def run(self, *words: str | bytes | Path, stdin: bytes = b"", **settings: str) -> Printed:
        """Run it to its end, whatever the exit code."""
        done = subprocess.run(
            [MEMFS, *words],
            input=stdin,
            capture_output=True,
            env={**self.environ, **settings},
            timeout=RUN_TIMEOUT_S,
            check=False,
        )
        out, err = (text.decode(errors="replace") for text in (done.stdout, done.stderr))
        return Printed(code=done.returncode, out=out, err=err, raw=done.stdout)
