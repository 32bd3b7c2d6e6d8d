"""How soon a pull is visible: from the answer `applied` to a program that reads the new bytes through the mount.

What is measured is what a reader sees who had everything cached: the file was read just before, so the kernel holds its
name, attributes and bytes, and the mount has to make it forget them. The other half removes a file and waits until it
is gone. One line per half, in milliseconds; exit code 0 says that it ran.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from owner import Owner
from sides import MEMFS, STORE, CannotRun, lay_tree, mounted

from memfs.core.tree_requests import Answer, Outcome, Remove, Replace
from memfs.state.layout import Layout
from memfs.tree.atomic import stage
from memfs.tree.local import LocalTree

GIVE_UP_S = 5.0


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
                removals = [_remove(owner, layout, side.directory, number) for number in range(options.pulls)]
                owner.close()
    except CannotRun as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    for name, waited in (("a pulled edit is visible", edits), ("a pulled removal is visible", removals)):
        print(
            f"{name:28} after {statistics.median(waited):6.2f} ms (median of {len(waited)}), "
            f"{max(waited):6.2f} ms at most; target 100 ms: {'met' if max(waited) < 100 else 'MISSED'}"
        )
    return 0


def _edit(owner: Owner, layout: Layout, directory: Path, number: int) -> float:
    store, path = layout.store(STORE.store_id), "/pulled.md"
    content = f"version {number}\n".encode()
    file = directory / "pulled.md"
    if file.exists():
        file.read_bytes()
    stage(store.staging, "next", content)
    with LocalTree(store.tree) as tree:
        expect = tree.identity(path)
    _applied(owner.ask(Replace(store_id=STORE.store_id, path=path, staged="next", expect=expect)))
    return _milliseconds_until(lambda: file.read_bytes() == content)


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
