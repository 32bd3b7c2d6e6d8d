"""A state directory with stores of every kind, and two ways to look at it: in-process, and through a real mount."""

import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path

from fs.files import Files
from fs.kernel import Kernel
from fs.through_mount import MountFiles

from memfs.core.attachment import Access, Attachment
from memfs.core.limits import Limits
from memfs.core.names import Names
from memfs.core.tree_requests import (
    Answer,
    Identity,
    Move,
    Outcome,
    Remove,
    Replace,
    Request,
    decode_answer,
    encode_request,
)
from memfs.fuse import mountinfo, outside
from memfs.state.attachments import attach
from memfs.state.layout import Layout
from memfs.tree.atomic import stage
from memfs.vfs.filesystem import FileSystem
from memfs.vfs.values import Ownership

DEFAULTS = Limits()
BARRIER = "other/barrier.md"
SERVING = Path(__file__).parents[1] / "mount/serving.py"
LIMIT_S = 20.0
LONGEST_S = 90.0
"""After this a mount that serves tests is killed: whoever waits for it gets an error instead of hanging."""


def attachment(slug: str, access: Access = Access.READ_WRITE, *, archived: bool = False) -> Attachment:
    return Attachment(store_id=f"memstore_{slug}", name=slug, slug=slug, access=access, archived=archived)


STORES = [
    attachment("notes"),
    attachment("other"),
    attachment("manual", Access.READ_ONLY),
    attachment("old", archived=True),
    attachment("full"),
]


def prepare(state: Path, stores: Sequence[Attachment] = STORES) -> Layout:
    """Make a state directory: ``manual`` and ``old`` have a file and a directory, ``full`` as many as it may hold."""
    layout = Layout(state)
    attach(layout, stores)
    for one in stores:
        tree = layout.store(one.store_id).tree
        if one.slug in {"manual", "old"}:
            (tree / "d").mkdir()
            (tree / "d/deep.md").write_text("deep\n")
            (tree / "guide.md").write_text("guide\n")
        if one.slug == "full":
            for number in range(Limits().memories):
                os.close(os.open(tree / f"{number:05d}.md", os.O_CREAT | os.O_WRONLY, 0o644))
    return layout


class World(ABC):
    """A state directory that is served."""

    files: Files

    def __init__(self, layout: Layout) -> None:
        self.layout = layout

    def settle(self) -> None:  # noqa: B027  (nothing to wait for where the kernel is told at once)
        """Return once the kernel was told everything that the mount had to tell it until now."""

    @abstractmethod
    def ask(self, request: Request) -> Answer:
        """Ask as the worker does."""

    @abstractmethod
    def close(self) -> None: ...

    @contextmanager
    def watched(self) -> Iterator[None]:
        """See that nobody waits for this world without end."""
        yield

    def tree(self, path: str) -> Path:
        """Return where ``slug/a/b.md`` is on disk."""
        slug, _, rest = path.partition("/")
        return self.layout.store(f"memstore_{slug}").tree / rest

    def trash(self, path: str) -> dict[str, bytes]:
        """Return what is kept of the store's files whose name in trash ends like ``path``'s last name."""
        slug, _, rest = path.partition("/")
        kept = self.layout.store(f"memstore_{slug}").trash.iterdir()
        return {one.name: one.read_bytes() for one in kept if one.name.endswith(rest.rpartition("/")[2])}

    def observe(self, path: str) -> Identity | None:
        """Return what the worker would see of a file."""
        try:
            found = self.tree(path).lstat()
        except FileNotFoundError:
            return None
        return Identity(found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)

    def stage(self, path: str, content: bytes) -> str:
        slug = path.partition("/")[0]
        name = f"staged-{time.monotonic_ns()}"
        stage(self.layout.store(f"memstore_{slug}").staging, name, content)
        return name

    def replace(self, path: str, content: bytes, expect: Identity | None, *, force: bool = False) -> Answer:
        """Ask once for ``content`` at ``path``."""
        slug, _, rest = path.partition("/")
        return self.ask(
            Replace(
                store_id=f"memstore_{slug}",
                path=f"/{rest}",
                staged=self.stage(path, content),
                expect=expect,
                force=force,
            )
        )

    def pull(self, path: str, content: bytes) -> Answer:
        """Put ``content`` at ``path`` whatever is there, and however lately it was written."""
        answer = self.replace(path, content, self.observe(path), force=self.observe(path) is not None)
        assert (Outcome.APPLIED, "") == (answer.outcome, answer.error)
        return answer

    def pull_quietly(self, path: str, content: bytes) -> Answer:
        """Put ``content`` at ``path`` as soon as it is quiet."""
        return self._until_applied(lambda: self.replace(path, content, self.observe(path)))

    def remove(self, path: str, prune: tuple[str, ...] = (), *, mark: str = "") -> Answer:
        """Remove a file, however lately it was written; ``mark`` keeps names in trash apart."""
        slug, _, rest = path.partition("/")
        expect = self.observe(path)
        assert expect is not None
        kept = f"removed-{mark}{rest.rpartition('/')[2]}"
        return self.ask(
            Remove(store_id=f"memstore_{slug}", path=f"/{rest}", expect=expect, trash=kept, prune=prune, force=True)
        )

    def move(self, path: str, target: str, prune: tuple[str, ...] = ()) -> Answer:
        slug, _, rest = path.partition("/")
        expect = self.observe(path)
        assert expect is not None
        return self.ask(
            Move(store_id=f"memstore_{slug}", path=f"/{rest}", target=f"/{target}", expect=expect, prune=prune)
        )

    def _until_applied(self, ask: Callable[[], Answer]) -> Answer:
        answers: list[Answer] = []

        def is_applied() -> bool:
            answers.append(ask())
            assert answers[-1].error == ""
            return answers[-1].outcome is Outcome.APPLIED

        until(is_applied)
        return answers[-1]


class InProcess(World):
    """No kernel: the adapter of these tests plays it."""

    def __init__(
        self,
        directory: Path,
        stores: Sequence[Attachment] = STORES,
        *,
        limits: Limits = DEFAULTS,
        asks_to_open: bool = False,
    ) -> None:
        super().__init__(prepare(directory / "state", stores))
        self.kernel = Kernel(
            lambda invalidate: FileSystem(
                self.layout,
                limits=limits,
                names=Names(),
                ownership=Ownership(uid=os.geteuid(), gid=os.getegid(), umask=0o022),
                clock_ns=time.monotonic_ns,
                invalidate=invalidate,
            ),
            asks_to_open=asks_to_open,
        )
        self.files = self.kernel

    def ask(self, request: Request) -> Answer:
        return self.kernel.filesystem.apply(request)

    def settle(self) -> None:
        self.kernel.settle()

    def close(self) -> None:
        self.kernel.filesystem.close()


class ThroughMount(World):
    """A process serves the state at a mount point; nothing here is in that process."""

    def __init__(
        self,
        directory: Path,
        stores: Sequence[Attachment] = STORES,
        *,
        limits: Limits = DEFAULTS,
        open_upcalls: str = "auto",
    ) -> None:
        super().__init__(prepare(directory / "state", stores))
        self._point = directory / "point"
        self._point.mkdir()
        self._log = directory / "log"
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-I",
                    SERVING,
                    self.layout.root,
                    self._point,
                    open_upcalls,
                    *(f"{name}={figure}" for name, figure in asdict(limits).items()),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd="/",
            )
        assert self._process.stdout is not None
        readable, _, _ = select.select([self._process.stdout], [], [], LIMIT_S)
        is_ready = bool(readable) and self._process.stdout.readline() == b"READY\n"
        if not is_ready:
            self.close()
        assert is_ready, self._log.read_text()
        self.files = MountFiles(self._point)

    @contextmanager
    def watched(self) -> Iterator[None]:
        watchdog = threading.Timer(LONGEST_S, self._process.kill)
        watchdog.start()
        try:
            yield
        finally:
            watchdog.cancel()
            watchdog.join()

    def ask(self, request: Request) -> Answer:
        with closing(socket.socket(socket.AF_UNIX)) as caller, caller.makefile("rb") as reader:
            caller.settimeout(LIMIT_S)
            directory = os.open(self.layout.root, os.O_PATH)
            try:
                caller.connect(f"/proc/self/fd/{directory}/{self.layout.mount_socket.name}")
            finally:
                os.close(directory)
            caller.sendall(encode_request(request))
            return decode_answer(reader.readline())

    def settle(self) -> None:
        """Pull a file: notices arrive in the order of what they are about, so once it is seen all before it are."""
        self.pull(BARRIER, b"")
        told = self.observe(BARRIER)
        assert told is not None
        until(lambda: self.files.exists(BARRIER) and self.files.stat(BARRIER).inode == told.inode)

    @property
    def descriptors(self) -> int:
        """How many the process has open."""
        return len(list(Path(f"/proc/{self._process.pid}/fd").iterdir()))

    @property
    def log(self) -> str:
        """What the process wrote to standard error."""
        return self._log.read_text()

    def close(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if mountinfo.at(self._point) is not None:
            outside.unmount(self._point, lazy=True)
        if self._process.stdout is not None:
            self._process.stdout.close()


def until(holds: Callable[[], bool]) -> None:
    """Poll until it holds: what was told to the kernel arrives soon, not at once."""
    deadline = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.005)
