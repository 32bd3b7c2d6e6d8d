"""What is compared: four ways to the same files on disk, each mounted for the run and taken down after it.

The files are the tree of one attached read_write store. The native side is that tree itself; memfs, bindfs and rclone
mount it. Every side writes in a work directory of its own below it, so that none sees another's changes.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from operations import WORK, lay_notes, lay_repository

from memfs.core.attachment import Access, Attachment
from memfs.state.attachments import attach
from memfs.state.layout import Layout

NATIVE, MEMFS, BINDFS, RCLONE = "native", "memfs", "bindfs", "rclone"
SIDES = (NATIVE, MEMFS, BINDFS, RCLONE)
STORE = Attachment(store_id="memstore_bench", name="Bench", slug="bench", access=Access.READ_WRITE)
MOUNTED_WITHIN_S = 20.0


class CannotRun(Exception):
    """A side could not be set up; the message says which and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A directory that shows the files."""

    name: str
    directory: Path
    process: subprocess.Popen[bytes] | None = None
    """The process that serves the mount."""

    @property
    def work(self) -> str:
        """The side's own work directory, relative to ``directory``."""
        return f"{WORK}-{self.name}"


def lay_tree(base: Path) -> Layout:
    """Make the state directory whose one store holds the notes, and a work directory and a repository for each side."""
    layout = Layout(base / "state")
    attach(layout, [STORE])
    tree = layout.store(STORE.store_id).tree
    lay_notes(tree)
    for name in SIDES:
        (tree / f"{WORK}-{name}").mkdir(mode=0o700)
        lay_repository(tree, f"{WORK}-{name}")
    return layout


@contextmanager
def native(layout: Layout) -> Iterator[Side]:
    """The tree itself."""
    yield Side(name=NATIVE, directory=layout.store(STORE.store_id).tree)


@contextmanager
def mounted(name: str, layout: Layout, base: Path) -> Iterator[Side]:
    """Mount the tree by the tool ``name`` and yield where its files appear.

    Raises:
        CannotRun: The tool is missing or did not mount.
    """
    point = base / name
    point.mkdir()
    command = _command(name, layout, base, point)
    if shutil.which(command[0]) is None:
        raise CannotRun(f"{command[0]} is not installed. Run: .ci/bench-tools")
    log = base / f"{name}.log"
    with log.open("wb") as output:
        # A session of its own: a Ctrl-C is ours to handle, in order.
        process = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
    try:
        _await_mount(point, process, log)
        yield Side(name=name, directory=point / STORE.slug if name == MEMFS else point, process=process)
    finally:
        _take_down(point, process)


def _command(name: str, layout: Layout, base: Path, point: Path) -> list[str]:
    tree = layout.store(STORE.store_id).tree
    if name == MEMFS:
        return [sys.executable, "-m", "memfs.cli", "mount", "--state", str(layout.root), str(point)]
    if name == BINDFS:
        return ["bindfs", "-f", str(tree), str(point)]
    cache = ["--config", os.devnull, "--cache-dir", str(base / "rclone-cache")]
    return ["rclone", "mount", "--vfs-cache-mode", "full", *cache, str(tree), str(point)]


def _await_mount(point: Path, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + MOUNTED_WITHIN_S
    while not is_mounted(point):
        if process.poll() is not None or time.monotonic() > deadline:
            raise CannotRun(f"{point.name} did not mount: {log.read_text(errors='replace').strip()[-500:]}")
        time.sleep(0.02)


def is_mounted(point: Path) -> bool:
    """Tell whether something is mounted at ``point``, without touching it."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return any(line.split(" ")[4] == str(point) for line in lines)


def _take_down(point: Path, process: subprocess.Popen[bytes]) -> None:
    """Ask the server to unmount and end; insist where it does not."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=10)
    if is_mounted(point):
        subprocess.run(["fusermount", "-u", "-z", str(point)], check=False, timeout=10)
    if process.poll() is None:
        process.kill()
        process.wait(timeout=10)
