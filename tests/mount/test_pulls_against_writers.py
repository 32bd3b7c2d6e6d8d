"""Programs write and read files in every way they have while the same files are pulled as fast as they can be.

Never are two versions mixed on disk or in a reader's hands, every appended line is there, and what was refused is kept
in trash. The programs say what they were told; it is compared with what is there.
"""

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memfs.core.tree_requests import Outcome, Replace

Sayer = Callable[[Any], Any]
RECORDS, RECORD = 64, 64

PROGRAMS = r"""
import errno, json, mmap, os, random, sys
kind, root, stop, seed = sys.argv[1:]
dice, refused, done, wrong = random.Random(seed), [], 0, 0

def going():
    return not os.path.exists(stop)

def is_one_version(content):
    # Of a file that is only pulled: the same line over and over, the last one perhaps cut short.
    lines = content.split(b"\n")
    return len(set(lines[:-1])) <= 1 and lines[0].startswith(lines[-1])

def base_of(content):
    # Of a file that is edited in place: each record says from which pulled version it comes.
    return {content[at:at + 8] for at in range(0, len(content), 64)}

def tell_refused(error, token):
    global wrong
    if error.errno in (errno.ESTALE, errno.EIO):
        refused.append(token)
    else:
        wrong += 1

def opened(path, mode):
    while True:
        try:
            return open(path, mode, buffering=0)
        except OSError as error:
            # A pull came between look-up and open, and another one at the second attempt of the kernel.
            if error.errno != errno.ESTALE:
                raise

def rewrite(path, number):
    global done
    token = f"{kind}-{number:08d}"
    line = (token + "\n").encode()
    with opened(path, "wb") as file:
        for _ in range(dice.randint(1, 6)):
            try:
                file.write(line * dice.randint(1, 200))
            except OSError as error:
                tell_refused(error, token)
                return
    done += 1

def append(file, number):
    global done
    os.write(file, f"line {number}\n".encode())
    done += 1

def edit(path, number):
    global done, wrong
    with opened(path, "r+b") as file:
        content = file.read()
        bases = base_of(content)
        wrong += len(bases) != 1
        for step in range(dice.randint(1, 3)):
            token = f"{kind}-{number:06d}-{step}"
            record = bases.copy().pop() + f" {token}".encode().ljust(55) + b"\n"
            file.seek(64 * dice.randrange(64))
            try:
                file.write(record)
            except OSError as error:
                tell_refused(error, token)
                return
            done += 1

def map_and_edit(path, number):
    global done, wrong
    with opened(path, "r+b") as file, mmap.mmap(file.fileno(), 4096) as page:
        bases = base_of(page[:])
        wrong += len(bases) != 1
        token = f"{kind}-{number:08d}"
        at = 64 * dice.randrange(64)
        page[at:at + 64] = bases.copy().pop() + f" {token}".encode().ljust(55) + b"\n"
        try:
            page.flush()
        except OSError as error:
            tell_refused(error, token)
            return
        done += 1

def read_in_pieces(paths):
    global done, wrong
    for path, is_whole in paths:
        file, pieces = os.open(path, os.O_RDONLY), []
        while piece := os.read(file, 1500):
            pieces.append(piece)
        os.close(file)
        content = b"".join(pieces)
        wrong += not is_whole(content)
        done += 1

def map_and_read(path):
    global done, wrong
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 4096, prot=mmap.PROT_READ) as page:
        for _ in range(5):
            wrong += len(base_of(page[:])) != 1
    done += 1

log = os.open(f"{root}/log.md", os.O_WRONLY | os.O_APPEND) if kind == "append" else None
print(0, flush=True)
number = 0
while going():
    number += 1
    if kind == "rewrite":
        rewrite(f"{root}/whole.md", number)
    elif kind == "append":
        if number > 400:
            break
        append(log, number)
    elif kind == "edit":
        edit(f"{root}/records.md", number)
    elif kind == "map":
        map_and_edit(f"{root}/mapped.md", number)
    elif kind == "pieces":
        one_base = lambda content: len(base_of(content)) == 1
        read_in_pieces([(f"{root}/plain.md", is_one_version), (f"{root}/records.md", one_base)])
    else:
        map_and_read(f"{root}/records.md")
if log is not None:
    os.close(log)
print(json.dumps([done, wrong, refused]), flush=True)
"""


def records(version: int) -> bytes:
    """Return a version of a file that programs edit in place: each record names it."""
    return (f"P{version:07d} pulled".encode().ljust(RECORD - 1) + b"\n") * RECORDS


def whole(version: int) -> bytes:
    """Return a version of a file that programs rewrite or only read: one line, many times."""
    return f"pulled-{version:08d}\n".encode() * (100 + version % 400)


class Pulling:
    """Pulls into the five files as a worker does that no longer waits for those who write."""

    def __init__(self, mounted: Any, seed: int) -> None:
        self._mounted, self._dice = mounted, random.Random(seed)
        self.version = 0
        self.applied = dict.fromkeys(("plain", "whole", "records", "mapped", "log"), 0)

    def lay(self) -> None:
        for name, content in (
            ("plain", whole(0)),
            ("whole", whole(0)),
            ("records", records(0)),
            ("mapped", records(0)),
            ("log", b""),
        ):
            self._mounted.pull(f"/{name}.md", content)

    def step(self) -> None:
        """Pull one file; the program may be in the middle of anything, and may have changed the file just now."""
        self.version += 1
        name = self._dice.choice(list(self.applied))
        path = f"/{name}.md"
        expect = self._mounted.identity(path)
        if name == "log":
            content = self._tree(name).read_bytes() + f"pulled {self.version}\n".encode()
            if expect != self._mounted.identity(path):
                return
        else:
            content = whole(self.version) if name in {"plain", "whole"} else records(self.version)
        staged = f"staged-{self.version}"
        (self._mounted.store.staging / staged).write_bytes(content)
        answer = self._mounted.ask(
            Replace(store_id="memstore_notes", path=path, staged=staged, expect=expect, force=name != "log")
        )
        assert answer.error == ""
        self.applied[name] += answer.outcome is Outcome.APPLIED

    def check_disk(self) -> None:
        """No file of the tree is of two versions."""
        lines = settled(self._tree("whole")).split(b"\n")
        assert len(set(lines[:-1])) <= 1
        for name in ("records", "mapped"):
            content = settled(self._tree(name))
            assert len({content[at : at + 8] for at in range(0, len(content), RECORD)}) == 1

    def _tree(self, name: str) -> Path:
        path: Path = self._mounted.store.tree / f"{name}.md"
        return path


def settled(path: Path) -> bytes:
    """Return what is in a file at one moment: reading is not atomic, so again where it was written meanwhile."""
    with path.open("rb", buffering=0) as file:
        while True:
            before = os.fstat(file.fileno())
            content = os.read(file.fileno(), 1 << 20)
            if before == os.fstat(file.fileno()):
                return content
            file.seek(0)


@pytest.mark.parametrize(
    ("seed", "pulls"), [(1, 600), *(pytest.param(seed, 6_000, marks=pytest.mark.long) for seed in range(2, 8))]
)
def test_programs_and_pulls_of_the_same_files_mix_nothing_and_lose_nothing(
    mounted_either_way: Any,
    program: Callable[..., Any],
    said: Sayer,
    tmp_path: Path,
    seed: int,
    pulls: int,
) -> None:
    mounted, stop = mounted_either_way, tmp_path / "stop"
    pulling = Pulling(mounted, seed)
    pulling.lay()
    kinds = ("rewrite", "append", "edit", "map", "pieces", "mapped reader")
    running = {kind: program(PROGRAMS, kind, mounted.root, stop, seed) for kind in kinds}
    for one in running.values():
        said(one)

    for _ in range(pulls):
        pulling.step()
        pulling.check_disk()
    stop.touch()
    told = {kind: said(one) for kind, one in running.items()}

    assert dict.fromkeys(kinds, 0) == {kind: wrong for kind, (_, wrong, _) in told.items()}
    assert all(done > 10 for done, _, _ in told.values())
    assert all(count > pulls // 40 for count in pulling.applied.values()), pulling.applied
    pulling.check_disk()
    log = (mounted.store.tree / "log.md").read_text().splitlines()
    lines = [f"line {number}" for number in range(1, told["append"][0] + 1)]
    assert lines == [line for line in log if line.startswith("line ")]
    kept = b"".join(one.read_bytes() for one in mounted.store.trash.iterdir())
    missing = [token for _, _, refused in told.values() for token in refused if token.encode() not in kept]
    assert [] == missing
    assert any(refused for _, _, refused in told.values())
    assert "Traceback" not in mounted.told()
