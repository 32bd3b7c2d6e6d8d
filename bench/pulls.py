"""How soon a pull is visible: from the answer `applied` to a program that reads the new bytes through the mount.

What is measured is what a reader sees who had everything cached: the file was read just before, so the kernel holds its
name, attributes and bytes, and the mount has to make it forget them. It reads on and on; once it has read the new
bytes it goes on for a while and must never read the old ones again. One half does so on an idle mount, one while other
programs write and list there; a third removes a file and waits until it is gone. Where `inotifywait` is installed it
also tells when a program that watches hears of it. Milliseconds; exit code 0 says that it ran.
"""

import argparse
import os
import select
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from owner import Owner
from sides import MEMFS, STORE, CannotRun, lay_tree, mounted

from memfs.core.tree_requests import Answer, Outcome, Remove, Replace
from memfs.state.layout import Layout
from memfs.tree.atomic import stage
from memfs.tree.local import LocalTree

GIVE_UP_S = 5.0
TARGET_MS = 50.0
"""For 99 of 100 edits, from applied to read."""
READS_AFTER = 20
"""How often the bytes are read again, none of them stale."""
WRITERS = 2
# What the load does: save by rename, append, list and read, over and over, until it is ended.
LOAD = """
import os, sys
directory = sys.argv[1]
number = 0
while True:
    number += 1
    with open(f"{directory}/new", "w") as file:
        file.write(f"text {number}\\n" * 100)
    os.rename(f"{directory}/new", f"{directory}/saved-{number % 50}.md")
    with open(f"{directory}/log.md", "w" if number % 500 == 0 else "a") as file:
        file.write(f"line {number}\\n")
    for name in os.listdir(directory):
        with open(f"{directory}/{name}", "rb") as file:
            file.read()
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", default="/var/tmp", help="where the files are laid (%(default)s)")
    parser.add_argument("--pulls", type=int, default=200, help="how many edits, and as many removals (%(default)s)")
    options = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory(prefix="memfs-bench-", dir=options.dir) as base:
            layout = lay_tree(Path(base))
            with mounted(MEMFS, layout, Path(base)) as side:
                _await_socket(layout)
                owner = Owner(layout)
                edits = [_edit(owner, layout, side.directory, number) for number in range(options.pulls)]
                with _load(side.directory):
                    loaded = [_edit(owner, layout, side.directory, number) for number in range(options.pulls)]
                    heard = _heard(owner, layout, side.directory, options.pulls)
                removals = [_remove(owner, layout, side.directory, number) for number in range(options.pulls)]
                owner.close()
    except CannotRun as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    _print("a pulled edit is read", edits)
    _print("the same under load", loaded)
    _print("a watcher hears, under load", heard)
    _print("a pulled removal is seen", removals)
    print(f"no read after the first new one was stale: {2 * options.pulls * READS_AFTER:,} reads")
    return 0


def _print(name: str, waited: list[float]) -> None:
    if not waited:
        print(f"{name:28} not measured: inotifywait is not installed")
        return
    last = statistics.quantiles(waited, n=100)[98]
    print(
        f"{name:28} p50 {statistics.median(waited):6.2f} ms, p99 {last:6.2f} ms, {max(waited):6.2f} ms at most "
        f"(of {len(waited)}); target p99 {TARGET_MS:.0f} ms: {'met' if last <= TARGET_MS else 'MISSED'}"
    )


@contextmanager
def _load(directory: Path) -> Iterator[None]:
    """Have programs write, list and read beside what is measured."""
    programs = []
    for number in range(WRITERS):
        own = directory / f"load-{number}"
        own.mkdir(exist_ok=True)
        programs.append(subprocess.Popen([sys.executable, "-I", "-c", LOAD, own]))
    try:
        yield
        if any(one.poll() is not None for one in programs):
            raise CannotRun("a program of the load ended early")
    finally:
        for one in programs:
            one.kill()
            one.wait(timeout=10)


def _heard(owner: Owner, layout: Layout, directory: Path, pulls: int) -> list[float]:
    """Measure from applied to the event of a program that watches the directory, and what it reads then."""
    if shutil.which("inotifywait") is None:
        return []
    command = ["inotifywait", "-m", "-q", "-e", "close_write", "--format", "%f", str(directory)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as watcher:
        try:
            _await_watch(watcher.pid)
            return [_event(owner, layout, directory, watcher, number) for number in range(pulls)]
        finally:
            watcher.kill()


def _await_watch(pid: int) -> None:
    def is_watching() -> bool:
        told = Path(f"/proc/{pid}/fdinfo")
        return any("inotify wd" in one.read_text() for one in told.iterdir())

    _milliseconds_until(is_watching)


def _event(owner: Owner, layout: Layout, directory: Path, watcher: "subprocess.Popen[bytes]", number: int) -> float:
    content = f"heard {number}\n".encode()
    _pull(owner, layout, "/heard.md", content)
    began = time.perf_counter()
    output = watcher.stdout
    if output is None or not select.select([output], [], [], GIVE_UP_S)[0]:
        raise CannotRun("no event arrived")
    os.read(output.fileno(), 4_096)
    waited = (time.perf_counter() - began) * 1_000
    if (directory / "heard.md").read_bytes() != content:
        raise CannotRun("who heard of a pull read the bytes before it")
    return waited


def _pull(owner: Owner, layout: Layout, path: str, content: bytes) -> None:
    store = layout.store(STORE.store_id)
    stage(store.staging, "next", content)
    with LocalTree(store.tree) as tree:
        expect = tree.identity(path)
    _applied(owner.ask(Replace(store_id=STORE.store_id, path=path, staged="next", expect=expect)))


def _edit(owner: Owner, layout: Layout, directory: Path, number: int) -> float:
    content = f"version {number} of {time.time_ns()}\n".encode()
    file = directory / "pulled.md"
    if file.exists():
        file.read_bytes()
    _pull(owner, layout, "/pulled.md", content)
    waited = _milliseconds_until(lambda: _read(file) == content)
    if any(_read(file) != content for _ in range(READS_AFTER)):
        raise CannotRun("a read after the new bytes brought the old ones")
    return waited


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:  # Of the first pull: nobody was told yet.
        return b""


def _remove(owner: Owner, layout: Layout, directory: Path, number: int) -> float:
    store, path = layout.store(STORE.store_id), f"/removed-{number}.md"
    stage(store.staging, "next", b"soon gone\n")
    _applied(owner.ask(Replace(store_id=STORE.store_id, path=path, staged="next", expect=None)))
    file = directory / path[1:]
    _milliseconds_until(file.exists)
    file.read_bytes()
    with LocalTree(store.tree) as tree:
        expect = tree.identity(path)
    if expect is None:
        raise CannotRun(f"{path} is not in the tree")
    _applied(owner.ask(Remove(store_id=STORE.store_id, path=path, expect=expect, trash=f"bench-{number}")))
    return _milliseconds_until(lambda: not file.exists())


def _applied(answer: Answer) -> None:
    if answer.error or answer.outcome is not Outcome.APPLIED:
        raise CannotRun(f"a pull was answered {answer.error or answer.outcome}")


def _await_socket(layout: Layout) -> None:
    if _milliseconds_until(layout.mount_socket.exists) > GIVE_UP_S * 1_000:
        raise CannotRun("the mount opened no socket")


def _milliseconds_until(question: Callable[[], bool]) -> float:
    began = time.perf_counter()
    while not question():
        if time.perf_counter() - began > GIVE_UP_S:
            raise CannotRun(f"it did not happen within {GIVE_UP_S:.0f} s")
    return (time.perf_counter() - began) * 1_000


if __name__ == "__main__":
    sys.exit(main())
