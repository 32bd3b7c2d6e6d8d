"""What the figures say: medians, ratios, and which targets are met. Ratios travel between machines; ops/s do not."""

import os
import platform
import statistics
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from operations import (
    APPEND,
    CREATE,
    DROPPED_READ,
    DROPPED_STAT,
    GIT,
    GREP,
    LISTING,
    OVERWRITE,
    READ,
    RENAME,
    STAT,
    UNLINK,
)
from sides import BINDFS, MEMFS, NATIVE, RCLONE, SIDES, Side
from upcalls import told

Rates = Mapping[str, Mapping[str, list[float]]]
"""Operation → side → operations per second of each run."""
Upcalls = Mapping[str, Mapping[str, float]]
"""Operation → kind of upcall → how many of them one operation takes in memfs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one comparison found out."""

    about: Mapping[str, Any]
    """What the figures depend on."""
    rates: Rates
    upcalls: Upcalls
    memory: Mapping[str, Mapping[str, int]]
    """Side → KiB of the process that serves it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """At least ``ratio`` times the operations per second of another side."""

    operation: str
    against: str
    ratio: float


TARGETS = (
    Target(operation=STAT.name, against=NATIVE, ratio=0.7),
    Target(operation=READ.name, against=NATIVE, ratio=0.7),
    Target(operation=READ.name, against=BINDFS, ratio=5),
    Target(operation=READ.name, against=RCLONE, ratio=50),
    Target(operation=GREP.name, against=NATIVE, ratio=0.6),
    Target(operation=LISTING.name, against=NATIVE, ratio=0.9),
    Target(operation=GIT.name, against=NATIVE, ratio=0.7),
    Target(operation=CREATE.name, against=BINDFS, ratio=0.8),
    Target(operation=OVERWRITE.name, against=BINDFS, ratio=0.8),
    Target(operation=APPEND.name, against=BINDFS, ratio=0.8),
    Target(operation=RENAME.name, against=BINDFS, ratio=0.6),
    Target(operation=UNLINK.name, against=BINDFS, ratio=0.6),
    Target(operation=DROPPED_STAT.name, against=BINDFS, ratio=0.3),
    Target(operation=DROPPED_READ.name, against=BINDFS, ratio=0.3),
)


def median_ratio(rates: Rates, operation: str, against: str) -> float:
    """Return memfs's median rate over the other side's."""
    sides = rates[operation]
    return statistics.median(sides[MEMFS]) / statistics.median(sides[against])


def memory_kib(side: Side) -> dict[str, int]:
    """Return the resident memory of the process that serves a mount: now (VmRSS) and at most (VmHWM)."""
    if side.process is None:
        return {}
    lines = Path(f"/proc/{side.process.pid}/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    return {name: int(fields[name].split()[0]) for name in ("VmRSS", "VmHWM")}


def machine(directory: Path) -> dict[str, Any]:
    """Return what the figures depend on: cores, kernel, Python, load before the start, the file system below."""
    return {
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "python": f"{platform.python_version()} ({_build()})",
        "load": f"{os.getloadavg()[0]:.2f}",
        "file_system": _file_system(directory),
    }


def _build() -> str:
    """Return how the interpreter was built: one without these options takes a tenth longer in memfs."""
    options = sysconfig.get_config_var("CONFIG_ARGS") or ""
    return "optimised" if "--enable-optimizations" in options else "not optimised"


def _file_system(directory: Path) -> str:
    """Return the type of the innermost mount that holds the directory."""
    best, kind = "", "unknown"
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        left, _, right = line.partition(" - ")
        point = left.split(" ")[4]
        if f"{directory}/".startswith(point.rstrip("/") + "/") and len(point) >= len(best):
            best, kind = point, right.split(" ")[0]
    return kind


def as_json(found: Measured) -> dict[str, Any]:
    """Return everything measured, for a program."""
    return {
        **found.about,
        "unit": "operations per second",
        "results": {
            operation: {
                "runs": dict(sides),
                "median": {side: statistics.median(runs) for side, runs in sides.items()},
                "memfs_ratio": {side: median_ratio(found.rates, operation, side) for side in sides if side != MEMFS},
                "memfs_upcalls": dict(found.upcalls[operation]),
            }
            for operation, sides in found.rates.items()
        },
        "targets": [
            asdict(target) | {"measured": measured, "met": measured >= target.ratio}
            for target, measured in _measured_targets(found.rates)
        ],
        "memory_kib": dict(found.memory),
    }


def as_text(found: Measured) -> str:
    """Return the tables for a reader."""
    lines = [", ".join(f"{name.replace('_', ' ')} {value}" for name, value in found.about.items()), ""]
    lines += _table(found.rates)
    lines += ["", *_targets(found.rates), "", "Upcalls per operation in memfs:"]
    lines += [f"{operation:<28}{told(counts)}" for operation, counts in found.upcalls.items()]
    lines.append("")
    for side, figures in found.memory.items():
        if figures:
            lines.append(
                f"{side} process: {figures['VmRSS'] / 1024:.0f} MiB resident, {figures['VmHWM'] / 1024:.0f} peak"
            )
    return "\n".join(lines)


def _table(rates: Rates) -> Iterator[str]:
    others = [side for side in SIDES if side != MEMFS]
    headings = [*(f"{side}/s" for side in SIDES), *(f"memfs/{side}" for side in others)]
    yield _row("operation", headings)
    for operation, sides in rates.items():
        medians = [_figure(statistics.median(sides[side])) for side in SIDES]
        yield _row(operation, [*medians, *(_ratio(median_ratio(rates, operation, side)) for side in others)])


def _row(name: str, cells: list[str]) -> str:
    return f"{name:<28}" + "".join(f"{cell:>13}" for cell in cells)


def _targets(rates: Rates) -> Iterator[str]:
    for target, measured in _measured_targets(rates):
        sides = rates[target.operation]
        paired = sorted(ours / theirs for ours, theirs in zip(sides[MEMFS], sides[target.against], strict=True))
        spread = f"runs: {_ratio(paired[0])} to {_ratio(paired[-1])}"
        measure = f"{target.operation:<28}{_ratio(measured):>6} of {target.against:<7}"
        yield f"{verdict(measured >= target.ratio)}  {measure} target: {target.ratio:g} or more ({spread})"


def _measured_targets(rates: Rates) -> Iterator[tuple[Target, float]]:
    for target in TARGETS:
        if target.operation in rates:
            yield target, median_ratio(rates, target.operation, target.against)


def verdict(is_met: bool) -> str:
    """Return the word before a target, the same width either way."""
    return "met   " if is_met else "MISSED"


def _figure(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.1f}"


def _ratio(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"
