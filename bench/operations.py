"""What is timed: each operation is one closed loop in one thread, over the current directory of the side under test.

Names are relative, so that no side pays for a longer path than another. Preparing and cleaning up are not timed. A run
counts whole operations until its budget is used up; it returns operations per second.
"""

import hashlib
import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

FILES = 1_000
NOTES = "notes"
WORK = "work"
TEXT = b"The quick brown fox keeps notes about memory files.\n" * 40
SMALL, LINE = TEXT[:2048], TEXT[:100]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One line of the table."""

    name: str
    run: Callable[[str, float], float]
    """Takes the side's own work directory (relative) and the budget in seconds."""


def lay_notes(tree: Path) -> None:
    """Write the files that every side shows: 1,000 notes of 2 KiB in one directory."""
    notes = tree / NOTES
    notes.mkdir(mode=0o700)
    for number in range(FILES):
        note = notes / f"note-{number:04}.md"
        note.write_bytes(SMALL)
        note.chmod(0o600)


def warm() -> str:
    """Read every note once, so that caches are warm on every side; return the digest of all that was read."""
    digest = hashlib.sha256()
    for name in sorted(os.listdir(NOTES)):
        digest.update(name.encode() + Path(NOTES, name).read_bytes())
    return digest.hexdigest()


def _rate(act: Callable[[int], object], budget_s: float, limit: int = 1_000_000_000) -> float:
    done, start = 0, time.perf_counter()
    end = start + budget_s
    while True:
        act(done)
        done += 1
        now = time.perf_counter()
        if now >= end or done == limit:
            return done / (now - start)


def _paths() -> list[str]:
    return [f"{NOTES}/note-{number:04}.md" for number in range(FILES)]


def _read(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    while os.read(descriptor, 131_072):
        pass
    os.close(descriptor)


def _write(path: str, content: bytes, flags: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | flags, 0o600)
    os.write(descriptor, content)
    os.close(descriptor)


def _fresh(work: str, count: int) -> list[str]:
    """Leave exactly ``count`` new files of 2 KiB in the work directory."""
    _empty(work)
    paths = [f"{work}/file-{number}" for number in range(count)]
    for path in paths:
        _write(path, SMALL, os.O_CREAT)
    return paths


def _empty(work: str) -> None:
    for name in os.listdir(work):
        os.unlink(f"{work}/{name}")


def _open_read_close(_work: str, budget_s: float) -> float:
    paths = _paths()
    return _rate(lambda i: _read(paths[i % FILES]), budget_s)


def _stat(_work: str, budget_s: float) -> float:
    paths = _paths()
    return _rate(lambda i: os.stat(paths[i % FILES]), budget_s)


def _grep(_work: str, budget_s: float) -> float:
    command = ["grep", "-r", "-l", "no such text", NOTES]
    return FILES * _rate(lambda _: subprocess.run(command, check=False, stdout=subprocess.DEVNULL), budget_s)


def _listing(_work: str, budget_s: float) -> float:
    return _rate(lambda _: os.listdir(NOTES), budget_s)


def _listing_with_stat(_work: str, budget_s: float) -> float:
    def act(_: int) -> None:
        with os.scandir(NOTES) as entries:
            for entry in entries:
                entry.stat(follow_symlinks=False)

    return _rate(act, budget_s)


def _create(work: str, budget_s: float) -> float:
    _empty(work)
    return _rate(lambda i: _write(f"{work}/new-{i}", SMALL, os.O_CREAT | os.O_EXCL), budget_s, limit=500)


def _overwrite(work: str, budget_s: float) -> float:
    path = _fresh(work, 1)[0]
    return _rate(lambda _: _write(path, SMALL, os.O_TRUNC), budget_s)


def _append(work: str, budget_s: float) -> float:
    paths = _fresh(work, 20)
    # 20 files stay below a memory's 100 KiB for 20,000 lines.
    return _rate(lambda i: _write(paths[i % 20], LINE, os.O_APPEND), budget_s, limit=19_000)


def _rename(work: str, budget_s: float) -> float:
    names = [(path, path + ".moved") for path in _fresh(work, 50)]

    def act(i: int) -> None:
        old, new = names[i % 50]
        os.rename(*((old, new) if (i // 50) % 2 == 0 else (new, old)))

    return _rate(act, budget_s)


def _replace(work: str, budget_s: float) -> float:
    """The atomic save of every editor: a new file, renamed onto the old one."""
    path = _fresh(work, 1)[0]

    def act(_: int) -> None:
        _write(path + ".new", SMALL, os.O_CREAT | os.O_TRUNC)
        os.rename(path + ".new", path)

    return _rate(act, budget_s)


def _unlink(work: str, budget_s: float) -> float:
    paths = _fresh(work, 500)
    return _rate(lambda i: os.unlink(paths[i]), budget_s, limit=500)


READ = Operation(name="open+read+close, 2 KiB", run=_open_read_close)
STAT = Operation(name="stat", run=_stat)
GREP = Operation(name="grep -r, files", run=_grep)
LISTING = Operation(name="listing of 1,000 entries", run=_listing)
OPERATIONS = (
    READ,
    STAT,
    GREP,
    LISTING,
    Operation(name="listing with a stat of each", run=_listing_with_stat),
    Operation(name="create+write+close, 2 KiB", run=_create),
    Operation(name="overwrite, 2 KiB", run=_overwrite),
    Operation(name="append, 100 bytes", run=_append),
    Operation(name="rename", run=_rename),
    Operation(name="write new, rename over", run=_replace),
    Operation(name="unlink", run=_unlink),
)
