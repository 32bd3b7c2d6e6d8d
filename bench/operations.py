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
DROP_CACHES = Path("/proc/sys/vm/drop_caches")
_ENDLESS = 1_000_000_000
_GIT = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
_IDENTITY = ("-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "gc.auto=0")

Act = Callable[[int], object]
"""Does the operation for the given time, counted from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One line of the table."""

    name: str
    prepare: Callable[[str], Act]
    """Takes the side's own work directory (relative); returns what is timed."""
    limit: int = _ENDLESS
    """How often it can be done after it was prepared once."""
    each: int = 1
    """How many operations doing it once counts for."""
    before: Callable[[], None] | None = None
    """What comes before each time, and is not timed."""

    def run(self, work: str, budget_s: float) -> float:
        """Return operations per second over about ``budget_s`` seconds."""
        act = self.prepare(work)
        if self.before is None:
            return self.each * _rate(act, budget_s, self.limit)
        done, took_s = 0, 0.0
        while took_s < budget_s and done < self.limit:
            self.before()
            began = time.perf_counter()
            act(done)
            took_s += time.perf_counter() - began
            done += 1
        return self.each * done / took_s


def lay_notes(tree: Path) -> None:
    """Write the files that every side shows: 1,000 notes of 2 KiB in one directory."""
    notes = tree / NOTES
    notes.mkdir(mode=0o700)
    for number in range(FILES):
        note = notes / f"note-{number:04}.md"
        note.write_bytes(SMALL)
        note.chmod(0o600)


def lay_repository(tree: Path, work: str) -> None:
    """Make a git repository of 1,000 files, all of them committed, beside the work directory."""
    repository = tree / f"{work}-repository"
    for number in range(FILES):
        file = repository / f"topic-{number % 20}" / f"file-{number}.md"
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.write_bytes(SMALL + b"%d\n" % number)
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "notes"]):
        subprocess.run(["git", *_IDENTITY, *command], cwd=repository, check=True, env=_GIT)


def warm() -> str:
    """Read every note once, so that caches are warm on every side; return the digest of all that was read."""
    digest = hashlib.sha256()
    for name in sorted(os.listdir(NOTES)):
        digest.update(name.encode() + Path(NOTES, name).read_bytes())
    return digest.hexdigest()


def can_drop_caches() -> bool:
    """Tell whether this user may have the kernel forget what it has cached."""
    return os.access(DROP_CACHES, os.W_OK)


def _drop_caches() -> None:
    """Have the kernel forget names and attributes, and with them the cached bytes of FUSE file systems."""
    DROP_CACHES.write_text("2")


def _rate(act: Act, budget_s: float, limit: int) -> float:
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


def _open_read_close(_work: str) -> Act:
    paths = _paths()
    return lambda i: _read(paths[i % FILES])


def _stat(_work: str) -> Act:
    paths = _paths()
    return lambda i: os.stat(paths[i % FILES])


def _grep(_work: str) -> Act:
    command = ["grep", "-r", "-l", "no such text", NOTES]
    return lambda _: subprocess.run(command, check=False, stdout=subprocess.DEVNULL)


def _git_status(work: str) -> Act:
    command = ["git", "status", "--porcelain"]
    repository = f"{work}-repository"
    # Once with the index written, for a side that shows other inodes; then nobody writes.
    subprocess.run(command, cwd=repository, check=True, env=_GIT)
    env = {**_GIT, "GIT_OPTIONAL_LOCKS": "0"}
    return lambda _: subprocess.run(command, cwd=repository, check=True, env=env)


def _listing(_work: str) -> Act:
    return lambda _: os.listdir(NOTES)


def _listing_with_stat(_work: str) -> Act:
    def act(_: int) -> None:
        with os.scandir(NOTES) as entries:
            for entry in entries:
                entry.stat(follow_symlinks=False)

    return act


def _create(work: str) -> Act:
    _empty(work)
    return lambda i: _write(f"{work}/new-{i}", SMALL, os.O_CREAT | os.O_EXCL)


def _overwrite(work: str) -> Act:
    path = _fresh(work, 1)[0]
    return lambda _: _write(path, SMALL, os.O_TRUNC)


def _append(work: str) -> Act:
    paths = _fresh(work, 20)
    return lambda i: _write(paths[i % 20], LINE, os.O_APPEND)


def _rename(work: str) -> Act:
    names = [(path, path + ".moved") for path in _fresh(work, 50)]

    def act(i: int) -> None:
        old, new = names[i % 50]
        os.rename(*((old, new) if (i // 50) % 2 == 0 else (new, old)))

    return act


def _replace(work: str) -> Act:
    """The atomic save of every editor: a new file, renamed onto the old one."""
    path = _fresh(work, 1)[0]

    def act(_: int) -> None:
        _write(path + ".new", SMALL, os.O_CREAT | os.O_TRUNC)
        os.rename(path + ".new", path)

    return act


def _unlink(work: str) -> Act:
    paths = _fresh(work, 500)
    return lambda i: os.unlink(paths[i])


def _each(one: Callable[[str], object]) -> Callable[[str], Act]:
    """Return how to do ``one`` to every note."""

    def prepare(_work: str) -> Act:
        paths = _paths()

        def act(_: int) -> None:
            for path in paths:
                one(path)

        return act

    return prepare


READ = Operation(name="open+read+close, 2 KiB", prepare=_open_read_close)
STAT = Operation(name="stat", prepare=_stat)
GREP = Operation(name="grep -r, files", prepare=_grep, each=FILES)
GIT = Operation(name="git status of 1,000 files", prepare=_git_status)
LISTING = Operation(name="listing of 1,000 entries", prepare=_listing)
CREATE = Operation(name="create+write+close, 2 KiB", prepare=_create, limit=500)
OVERWRITE = Operation(name="overwrite, 2 KiB", prepare=_overwrite)
# 20 files stay below a memory's 100 KiB for 20,000 lines.
APPEND = Operation(name="append, 100 bytes", prepare=_append, limit=19_000)
RENAME = Operation(name="rename", prepare=_rename)
UNLINK = Operation(name="unlink", prepare=_unlink, limit=500)
DROPPED_STAT = Operation(name="stat, caches dropped", prepare=_each(os.stat), each=FILES, before=_drop_caches)
DROPPED_READ = Operation(name="first read, caches dropped", prepare=_each(_read), each=FILES, before=_drop_caches)
OPERATIONS = (
    READ,
    STAT,
    GREP,
    GIT,
    LISTING,
    Operation(name="listing with a stat of each", prepare=_listing_with_stat),
    CREATE,
    OVERWRITE,
    APPEND,
    RENAME,
    Operation(name="write new, rename over", prepare=_replace),
    UNLINK,
    DROPPED_STAT,
    DROPPED_READ,
)
