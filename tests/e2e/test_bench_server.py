"""`make bench-server` still measures all that it promises; how fast anything is, no test says."""

import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).parents[2] / "bench" / "server.py"
SMALLEST = (
    "--rounds",
    "1",
    "--budget",
    "0.05",
    "--memories",
    "3",
    "--clients",
    "2",
    "--sizes",
    "3,150",
    "--wakes",
    "1",
)


def test_a_smallest_run_of_the_server_bench_prints_every_figure(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, BENCH, "--dir", tmp_path, *SMALLEST], capture_output=True, text=True, timeout=100, check=False
    )
    rows = [line.split() for line in done.stdout.splitlines()]

    assert (0, "") == (done.returncode, done.stderr if done.returncode else "")
    for operation in ("retrieve", "update", "create", "list"):
        assert ["bare", "SQLite", "PostgreSQL"] == [row[1] for row in rows if row[:1] == [operation]]
    for engine in ("SQLite", "PostgreSQL"):
        assert 2 == sum(row[:2] == [engine, "listing"] for row in rows)
        assert 2 == sum(row[:3] == [engine, "a", "waiter"] for row in rows)
