"""A real mount: its process, its state directory, and what a worker would ask it."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from mount.watches import Watch

from memfs.core.attachment import Access, Attachment
from memfs.core.tree_requests import (
    Answer,
    Identity,
    Outcome,
    Ping,
    Remove,
    Replace,
    Request,
    decode_answer,
    encode_request,
)
from memfs.fuse import mountinfo, outside
from memfs.state.attachments import attach
from memfs.state.layout import Layout

SERVING = Path(__file__).with_name("serving.py")
STORE_ID, SLUG = "memstore_notes", "notes"
LIMIT_S = 20.0


class Mounted:
    """A process that serves one read_write store, ``notes``, at ``point``; not started yet."""

    def __init__(self, directory: Path, open_upcalls: str = "auto", point: Path | None = None) -> None:
        self.layout, self.open_upcalls = Layout(directory / "state"), open_upcalls
        self.point = point or directory / "point"
        self.point.mkdir(exist_ok=True)
        self.store = self.layout.store(STORE_ID)
        self.root = self.point / SLUG
        self.log = directory / "log"
        self.process: Any = None
        attach(
            self.layout,
            [Attachment(store_id=STORE_ID, name="Notes", slug=SLUG, access=Access.READ_WRITE)],
        )

    def start(self, **environ: str) -> "Mounted":
        """Start it (again), and return once it is ready or has ended."""
        if self.process is not None:
            self.ended()
            self._close()
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-I", SERVING, self.layout.root, self.point, self.open_upcalls],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd="/",
                env=os.environ | environ,
            )
        assert self.process.stdout is not None
        readable, _, _ = select.select([self.process.stdout], [], [], LIMIT_S)
        self.is_ready = bool(readable) and self.process.stdout.readline() == b"READY\n"
        return self

    def ended(self) -> int:
        """Return the exit code of the process, which must end by itself."""
        return self.process.wait(LIMIT_S)

    def told(self) -> str:
        """Return what it wrote to standard error."""
        return self.log.read_text()

    def is_mounted(self) -> bool:
        return mountinfo.at(self.point) is not None

    def clear(self) -> None:
        """Whatever happened, leave no mount and no process."""
        if self.is_mounted():
            outside.unmount(self.point, lazy=True)
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait(LIMIT_S)
        self._close()

    def ask(self, request: Request) -> Answer:
        """Ask over ``mount.sock``, as the worker does."""
        with closing(socket.socket(socket.AF_UNIX)) as caller, caller.makefile("rb") as reader:
            caller.settimeout(LIMIT_S)
            directory = os.open(self.layout.root, os.O_PATH)
            try:
                caller.connect(f"/proc/self/fd/{directory}/{self.layout.mount_socket.name}")
            finally:
                os.close(directory)
            caller.sendall(encode_request(request))
            return decode_answer(reader.readline())

    def upcalls(self) -> dict[str, int]:
        """Return how often the kernel asked for what; forgetting happens when the kernel likes and is left out."""
        counts: dict[str, int] = self.ask(Ping()).facts["upcalls"]
        return {name: count for name, count in counts.items() if count and not name.startswith("forget")}

    def pull(self, path: str, content: bytes, *, force: bool = False) -> Answer:
        """Put bytes at a store path as a pull does, again while it is busy (``force``: in spite of that)."""
        staged = f"staged-{time.monotonic_ns()}"
        (self.store.staging / staged).write_bytes(content)
        return self._until_applied(
            lambda: Replace(store_id=STORE_ID, path=path, staged=staged, expect=self.identity(path), force=force)
        )

    def pull_deletion(self, path: str, *, force: bool = False) -> Answer:
        """Remove a store path as a pull does."""

        def request() -> Remove:
            expect = self.identity(path)
            assert expect is not None
            trash = f"trash-{time.monotonic_ns()}"
            return Remove(store_id=STORE_ID, path=path, expect=expect, trash=trash, force=force)

        return self._until_applied(request)

    def identity(self, path: str) -> Identity | None:
        """Return what the worker would observe in the tree."""
        try:
            found = (self.store.tree / path[1:]).lstat()
        except FileNotFoundError:
            return None
        return Identity(found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)

    def _close(self) -> None:
        if self.process is not None and self.process.stdout is not None:
            self.process.stdout.close()

    def _until_applied(self, request: Callable[[], Request]) -> Answer:
        answer = Answer(outcome=Outcome.BUSY)

        def is_applied() -> bool:
            nonlocal answer
            answer = self.ask(request())
            assert not answer.error, answer.error
            return answer.outcome is Outcome.APPLIED

        until(is_applied)
        return answer


def until(holds: Callable[[], bool]) -> None:
    """Poll until it holds; it must within the limit."""
    deadline = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.005)


@pytest.fixture(name="until")
def _until() -> Callable[[Callable[[], bool]], None]:
    return until


@pytest.fixture
def prepared(tmp_path: Path) -> Iterator[Callable[..., Mounted]]:
    """Make mounts that are not started, each in a directory of its own; cleared at the end."""
    made: list[Mounted] = []

    def make(**options: Any) -> Mounted:
        directory = tmp_path / str(len(made))
        directory.mkdir()
        made.append(Mounted(directory, **options))
        return made[-1]

    yield make
    for one in made:
        if one.process is not None:
            one.clear()


@pytest.fixture
def mounted(prepared: Callable[..., Mounted]) -> Mounted:
    """A mount whose kernel opens by itself."""
    one = prepared().start()
    assert one.is_ready, one.told()
    return one


@pytest.fixture(params=["auto", "always"])
def mounted_either_way(prepared: Callable[..., Mounted], request: pytest.FixtureRequest) -> Mounted:
    """A mount in each of the two modes of opening."""
    one = prepared(open_upcalls=request.param).start()
    assert one.is_ready, one.told()
    return one


@pytest.fixture
def program() -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Start programs that use a mount: Python code with arguments, JSON lines on standard output; killed at the end."""
    started: list[subprocess.Popen[str]] = []

    def start(code: str, *arguments: object) -> "subprocess.Popen[str]":
        command = [sys.executable, "-I", "-c", code, *map(str, arguments)]
        started.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/"))
        return started[-1]

    yield start
    for one in started:
        one.kill()
        one.communicate(timeout=LIMIT_S)


@pytest.fixture
def said() -> Callable[["subprocess.Popen[str]"], Any]:
    """Read one JSON line of a program."""

    def read(process: "subprocess.Popen[str]") -> Any:
        assert process.stdout is not None
        return json.loads(process.stdout.readline())

    return read


@pytest.fixture
def watching() -> Iterator[Callable[..., Watch]]:
    """Watch directories; ended in the end."""
    watches: list[Watch] = []

    def watch(directory: Path, events: str = "close_write", *words: str) -> Watch:
        watches.append(Watch(directory, events, *words))
        return watches[-1]

    yield watch
    for one in watches:
        one.end()
