"""The mount beside the native file system, bindfs and rclone, in one run over the same files (docs/BENCHMARKS.md).

Runs of the four sides are interleaved, in an order that turns with each run, so that a drift of the machine meets all
of them; the first run of each is thrown away. All sides and their program share one processor unless told otherwise:
they take turns anyhow, and whether the scheduler wakes a sleeping processor for each answer is luck that would be
measured with it. Exit code 0 says that it ran, not that the targets are met.
"""

import argparse
import json
import os
import signal
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import NoReturn

from operations import OPERATIONS, Operation, can_drop_caches, warm
from report import Measured, as_json, as_text, machine, memory_kib
from sides import MEMFS, SIDES, CannotRun, Side, lay_tree, mounted, native
from upcalls import per_operation

DIRECTORIES = ("/var/tmp", "/dev/shm")


def main() -> int:
    options = _options()
    signal.signal(signal.SIGTERM, _end)
    if not options.all_processors:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    try:
        for directory in options.dir or DIRECTORIES:
            with tempfile.TemporaryDirectory(prefix="memfs-bench-", dir=directory) as base:
                found = _compare(Path(base), options)
            print(json.dumps(as_json(found), indent=1) if options.json else as_text(found), end="\n\n", flush=True)
    except CannotRun as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--dir",
        action="append",
        help="where the files of all sides are laid, for a comparison of its own; may be repeated"
        f" ({' and '.join(DIRECTORIES)}: on a disk, and in memory)",
    )
    parser.add_argument("--runs", type=int, default=7, help="counted runs of each operation on each side (%(default)s)")
    parser.add_argument("--budget", type=float, default=0.2, metavar="SECONDS", help="length of a run (%(default)s)")
    parser.add_argument("--only", default="", metavar="TEXT", help="only the operations whose name contains TEXT")
    parser.add_argument("--all-processors", action="store_true", help="leave it to the scheduler where each side runs")
    parser.add_argument("--json", action="store_true", help="print everything measured as JSON")
    options = parser.parse_args()
    if not _chosen(options.only):
        parser.error(
            f"no operation's name contains {options.only!r}; there are: {'; '.join(o.name for o in OPERATIONS)}"
        )
    return options


def _chosen(text: str) -> list[Operation]:
    return [one for one in OPERATIONS if text in one.name and (one.before is None or can_drop_caches())]


def _end(_signal: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


def _compare(base: Path, options: argparse.Namespace) -> Measured:
    layout = lay_tree(base)
    processors = len(os.sched_getaffinity(0))
    about = machine(base) | {"processors_used": processors, "runs": options.runs, "budget_s": options.budget}
    chosen = _chosen(options.only)
    with ExitStack() as stack:
        sides = [stack.enter_context(native(layout))]
        sides += [stack.enter_context(mounted(name, layout, base)) for name in SIDES[1:]]
        _check_same_files(sides)
        rates = {one.name: _measure(one, sides, options.runs, options.budget) for one in chosen}
        served = next(side for side in sides if side.name == MEMFS)
        upcalls = {one.name: per_operation(one, served, layout) for one in chosen}
        memory = {side.name: memory_kib(side) for side in sides}
    return Measured(about=about, rates=rates, upcalls=upcalls, memory=memory)


def _measure(operation: Operation, sides: list[Side], runs: int, budget_s: float) -> dict[str, list[float]]:
    print(f"measuring {operation.name} …", file=sys.stderr)
    rates: dict[str, list[float]] = {side.name: [] for side in sides}
    for run in range(runs + 1):
        turn = run % len(sides)
        for side in [*sides[turn:], *sides[:turn]]:
            rate = _run(operation, side, budget_s)
            if run > 0:
                rates[side.name].append(rate)
    return rates


def _check_same_files(sides: list[Side]) -> None:
    shown = {}
    for side in sides:
        os.chdir(side.directory)
        shown[side.name] = warm()
        os.chdir("/")
    if len(set(shown.values())) > 1:
        raise CannotRun(f"the sides do not show the same files: {shown}")


def _run(operation: Operation, side: Side, budget_s: float) -> float:
    """Time one run from inside the side's directory, and leave it, so that it can be unmounted."""
    os.chdir(side.directory)
    try:
        return operation.run(side.work, budget_s)
    except OSError as error:
        raise CannotRun(f"{operation.name} failed on {side.name}: {error}") from error
    finally:
        os.chdir("/")


if __name__ == "__main__":
    sys.exit(main())
