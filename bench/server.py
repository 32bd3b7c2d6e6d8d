"""The store server beside a bare FastAPI endpoint, on SQLite and on PostgreSQL, in one run (docs/BENCHMARKS.md).

The bare side is a plain function that returns a constant answer of the same size, in a process of its own with the same
uvicorn. Rounds of the sides are interleaved, in an order that turns with each round; the first round is thrown away.
Exit code 0 says that it ran, not that the targets are met.
"""

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from feed import filled, listing_s, page_ms, wakes_ms
from load import OPERATIONS, Failed, Measured, Place, Wire, clients, page
from report import machine
from served import bare, memfs, stocked

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from postgres import cluster  # the tests' own cluster, with fsync on

from memfs.server.store.opening import FILE, open_database

BARE, SQLITE, POSTGRESQL = "bare", "SQLite", "PostgreSQL"
TARGETS = {"retrieve": 0.5, "update": 0.25}
"""Of the bare side's requests per second, on SQLite."""
LISTING_S, WAKE_MS = 2.0, 50.0
LISTED = 10_000
Rounds = dict[str, list[Measured]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """What an engine's servers stand on."""

    data: Path
    database: str | None


def main() -> int:
    options = _options()
    try:
        with tempfile.TemporaryDirectory(prefix="memfs-bench-", dir=options.dir) as base, ExitStack() as stack:
            for line in _report(Path(base), options, stack):
                print(line, flush=True)
    except Failed as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", default="/var/tmp", help="where data are laid: on a disk (%(default)s)")
    parser.add_argument("--engines", default=f"{SQLITE},{POSTGRESQL}", help="which to measure (%(default)s)")
    parser.add_argument("--clients", type=int, default=4, help="client processes, a connection each (%(default)s)")
    parser.add_argument("--rounds", type=int, default=7, help="counted rounds of each operation (%(default)s)")
    parser.add_argument("--budget", type=float, default=1.0, metavar="SECONDS", help="length of a round (%(default)s)")
    parser.add_argument("--memories", type=int, default=1_000, help="that are read in turn (%(default)s)")
    parser.add_argument("--sizes", default=f"100,{LISTED},100000", help="memories of the stores listed (%(default)s)")
    parser.add_argument("--wakes", type=int, default=50, help="changes that are waited for (%(default)s)")
    parser.add_argument("--only", default="", metavar="TEXT", help="only operations with TEXT in the name")
    return parser.parse_args()


def _report(base: Path, options: argparse.Namespace, stack: ExitStack) -> Iterator[str]:
    about = machine(base) | {"clients": options.clients, "rounds": options.rounds, "budget_s": options.budget}
    yield ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in about.items())
    bases = {engine: _base(engine, base, stack) for engine in options.engines.split(",")}
    places = {
        engine: stocked(stack.enter_context(memfs(one.data, one.database)), options.memories, options.clients)
        for engine, one in bases.items()
    }
    yield from _throughput(places, options)
    for engine, one in bases.items():
        yield from _listings(engine, one, places[engine], options)
    for engine, one in bases.items():
        yield from _wakes(engine, one, places[engine], options)


def _base(engine: str, base: Path, stack: ExitStack) -> Base:
    database = stack.enter_context(cluster(is_durable=True)).new_database() if engine == POSTGRESQL else None
    return Base(data=base / engine, database=database)


def _throughput(places: dict[str, Place], options: argparse.Namespace) -> Iterator[str]:
    sizes = _answer_sizes(next(iter(places.values())))
    yield ""
    yield _row("operation", ["side", "requests/s", "p50 ms", "p99 ms", "of bare", "least", "most", "target"])
    with bare(sizes) as plain, clients(options.clients) as run:
        sides = {BARE: plain} | places
        for operation in OPERATIONS:
            if options.only in operation:
                yield from _rows(operation, _rounds(operation, sides, run, options))


def _answer_sizes(place: Place) -> dict[str, int]:
    wire = Wire(place)
    sizes = {}
    for name, target in (("retrieve", f"{place.memories}/{place.read[0]}"), ("list", page(place))):
        wire.send("GET", target)
        sizes[name] = len(wire.receive())
    wire.send("GET", f"{place.memories}/{place.read[0]}?view=basic")
    sizes["create"] = sizes["update"] = len(wire.receive())
    wire.close()
    return sizes


def _rounds(
    operation: str,
    sides: dict[str, Place],
    run: Callable[[str, Place, float], Measured],
    options: argparse.Namespace,
) -> Rounds:
    print(f"measuring {operation} …", file=sys.stderr)
    found: Rounds = {side: [] for side in sides}
    names = list(sides)
    for number in range(options.rounds + 1):
        turn = number % len(names)
        for side in [*names[turn:], *names[:turn]]:
            measured = run(operation, sides[side], options.budget)
            if operation == "update" and side != BARE:
                sides[side] = _known_again(sides[side])
            if number > 0:
                found[side].append(measured)
    return found


def _known_again(place: Place) -> Place:
    """Return the place with the digests that the round has left."""
    wire = Wire(place)
    now = tuple(
        (memory, wire.ask("GET", f"{place.memories}/{memory}?view=basic")["content_sha256"])
        for memory, _ in place.written
    )
    wire.close()
    return replace(place, written=now)


def _rows(operation: str, rounds: Rounds) -> Iterator[str]:
    for side, found in rounds.items():
        took_s = sorted(one for measured in found for one in measured.took_s)
        figures = [
            f"{statistics.median(one.rate for one in found):,.0f}",
            f"{took_s[len(took_s) // 2] * 1_000:.2f}",
            f"{took_s[len(took_s) * 99 // 100] * 1_000:.2f}",
        ]
        if side == BARE:
            figures.append("")
        else:
            ratios = sorted(ours.rate / bare.rate for ours, bare in zip(found, rounds[BARE], strict=True))
            figures += [f"{one:.2f}" for one in (statistics.median(ratios), ratios[0], ratios[-1])]
            target = TARGETS.get(operation) if side == SQLITE else None
            figures.append("" if target is None else _verdict(statistics.median(ratios) >= target, f"≥ {target:g}"))
        yield _row(operation, [side, *figures])


def _listings(engine: str, base: Base, place: Place, options: argparse.Namespace) -> Iterator[str]:
    yield ""
    database = open_database(base.database or base.data / FILE)
    for size in (int(word) for word in options.sizes.split(",")):
        print(f"listing {size} memories on {engine} …", file=sys.stderr)
        store = filled(place, database, size)
        whole_s, middle = listing_s(store)
        one_ms = page_ms(store, middle, 4 * options.wakes)
        verdict = _verdict(whole_s < LISTING_S, f"< {LISTING_S:g} s") if size == LISTED else ""
        yield f"{engine:<11} listing of {size:>7,}: {whole_s:7.3f} s {verdict:>15}; a page of 100 {one_ms:6.2f} ms"
    database.close()


def _wakes(engine: str, base: Base, place: Place, options: argparse.Namespace) -> Iterator[str]:
    print(f"waking on {engine} …", file=sys.stderr)
    with memfs(base.data.with_name(f"{engine}-2") if base.database else base.data, base.database) as second:
        key = (base.data / "api-key").read_text().strip()
        other = replace(second, key=key, memories=place.memories)
        for name, waiting in (("of the same process", place), ("of another process", other)):
            found = wakes_ms(place, waiting, options.wakes)
            middle, last = statistics.median(found), max(found)
            verdict = _verdict(middle <= WAKE_MS, f"≤ {WAKE_MS:g} ms")
            has_it = f"has it {middle:6.2f} ms after the answer, {last:6.2f} at most"
            yield f"{engine:<11} a waiter {name:<20} {has_it}; {verdict}"


def _row(name: str, cells: list[str]) -> str:
    return f"{name:<9}" + "".join(f"{cell:>12}" for cell in cells[:-1]) + f"  {cells[-1]:<12}".rstrip()


def _verdict(is_met: bool, target: str) -> str:
    return f"{target} {'met' if is_met else 'MISSED'}"


if __name__ == "__main__":
    sys.exit(main())
