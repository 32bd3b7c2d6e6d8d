"""How soon a mount is ready, and what memory it takes, with full stores already in the tree.

Ready is when `memfs mount` says so: its checks are done and the mount has answered through the kernel. Memory is the
resident size of its process, before and after every file was looked up, so that the kernel knows all of them.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from owner import Owner
from report import memory_kib, verdict
from sides import MEMFS, Side, is_mounted

from memfs.core.attachment import Access, Attachment
from memfs.core.tree_requests import Ping
from memfs.state.attachments import attach
from memfs.state.layout import Layout

STORES, FILES = 8, 10_000
READY_S = 1.5
RESIDENT_KIB, KIB_PER_FILE = 60 * 1024, 1.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", default="/var/tmp", help="where the files are laid (%(default)s)")
    parser.add_argument("--runs", type=int, default=7, help="how often it is started (%(default)s)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memfs-bench-", dir=options.dir) as base:
        layout, point = _lay(Path(base)), Path(base, "point")
        point.mkdir()
        took_s = []
        for _ in range(options.runs):
            with _started(layout, point) as (side, ready_s):
                took_s.append(ready_s)
                fresh_kib = memory_kib(side)["VmRSS"]
        with _started(layout, point) as (side, _):
            known = sum(len([entry.stat() for entry in os.scandir(store)]) for store in point.iterdir())
            owner = Owner(layout)
            nodes = owner.ask(Ping()).facts["nodes"]
            owner.close()
            full_kib = memory_kib(side)["VmRSS"]
    middle = statistics.median(took_s)
    allowed_kib = RESIDENT_KIB + KIB_PER_FILE * known
    print(
        f"{verdict(middle < READY_S)}  ready with {STORES} stores of {FILES:,} files"
        f" after {middle:.2f} s (median of {len(took_s)}, {max(took_s):.2f} at most); target: under {READY_S:g}\n"
        f"{verdict(full_kib < allowed_kib)}  {fresh_kib / 1024:.0f} MiB resident then, {full_kib / 1024:.0f} once the"
        f" kernel knows {nodes:,} entries: {(full_kib - fresh_kib) / known:.2f} KiB each;"
        f" target: under {RESIDENT_KIB // 1024} MiB and {KIB_PER_FILE:g} KiB each"
    )
    return 0


def _lay(base: Path) -> Layout:
    layout = Layout(base / "state")
    stores = [
        Attachment(store_id=f"memstore_{number}", name=f"Store {number}", slug=f"s{number}", access=Access.READ_WRITE)
        for number in range(STORES)
    ]
    attach(layout, stores)
    for store in stores:
        tree = layout.store(store.store_id).tree
        for number in range(FILES):
            (tree / f"note-{number:05}.md").write_bytes(b"x")
    return layout


@contextmanager
def _started(layout: Layout, point: Path) -> Iterator[tuple[Side, float]]:
    """Start a mount; yield it with the seconds until it was ready, and end it."""
    command = [sys.executable, "-m", "memfs.cli", "mount", "--state", str(layout.root), str(point)]
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
    if process.stdout is None or not process.stdout.readline() or not is_mounted(point):
        raise SystemExit("bench: the mount did not get ready")
    ready_s = time.perf_counter() - began
    try:
        yield Side(name=MEMFS, directory=point, process=process), ready_s
    finally:
        process.terminate()
        process.wait(timeout=20)


if __name__ == "__main__":
    sys.exit(main())
