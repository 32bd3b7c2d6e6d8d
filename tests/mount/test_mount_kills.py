"""SIGKILL of the mount's process at random moments, under a writer and under pulls: what was fsynced is there, whole.

The writer notes outside what it has fsynced. Its saves by rename are either the old or the new text, never a half;
lines that it appended are there however many pulls gave the log a new file meanwhile.
"""

import hashlib
import json
import random
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from memfs.core.errors import MemfsError
from memfs.core.tree_requests import Replace

Sayer = Callable[["Any"], Any]
KILLS = 20
LONGEST_LIFE_S = 0.3

# Begins anew with each line on standard input, and says when the mount is gone.
WRITER = """
import hashlib, itertools, json, os, random, sys
root, notes, dice = sys.argv[1], open(sys.argv[2], "a"), random.Random(int(sys.argv[3]))
numbers = itertools.count(1)

def whole(number):
    body = (f"text {number} " * dice.randint(1, 3_000)).encode()
    return f"{number} {hashlib.sha256(body).hexdigest()}\\n".encode() + body

def put(name, content, flags):
    file = os.open(f"{root}/{name}", flags | os.O_CREAT | os.O_WRONLY)
    try:
        for start in range(0, len(content), 4_096):
            os.write(file, content[start:start + 4_096])
        os.fsync(file)
    finally:
        os.close(file)

def note(*what):
    notes.write(json.dumps(what) + "\\n")
    notes.flush()

def step(number):
    kind = dice.choice(["save", "append", "make"])
    if kind == "save":
        name = f"saved-{number % 5}.md"
        put(f"{name}.tmp", whole(number), os.O_TRUNC)
        os.rename(f"{root}/{name}.tmp", f"{root}/{name}")
    elif kind == "append":
        name = "log.md"
        put(name, f"line {number}\\n".encode(), os.O_APPEND)
    else:
        name = f"made-{number % 300}.md"
        note("begin", name, number)
        put(name, whole(number), os.O_TRUNC)
    note(kind, name, number)

for _ in sys.stdin:
    print(0, flush=True)
    try:
        for number in numbers:
            step(number)
    except OSError as error:
        print(error.errno, flush=True)
"""


class Pulling:
    """Pulls one after another until the mount is gone: files of their own, and the log that the writer appends to."""

    def __init__(self, mounted: Any, seed: int) -> None:
        self._mounted, self._dice = mounted, random.Random(seed)
        self.done = 0

    def run(self) -> None:
        with suppress(OSError, ValueError, MemfsError):
            while True:
                if self.done % 4:
                    body = f"pulled {self.done} ".encode() * self._dice.randint(1, 3_000)
                    self._mounted.pull(f"/pulled/{self.done % 7}.md", whole(self.done, body), force=True)
                else:
                    self._pull_log()
                self.done += 1

    def _pull_log(self) -> None:
        """Give the log another file with one line more, as a merge does; what is appended meanwhile is carried over."""
        before = self._mounted.identity("/log.md")
        path = self._mounted.store.tree / "log.md"
        content = path.read_bytes() if before else b""
        if before != self._mounted.identity("/log.md"):
            return
        staged = f"log-{self.done}"
        (self._mounted.store.staging / staged).write_bytes(content + f"pulled {self.done}\n".encode())
        self._mounted.ask(Replace(store_id="memstore_notes", path="/log.md", staged=staged, expect=before, force=True))


def whole(number: int, body: bytes) -> bytes:
    return f"{number} {hashlib.sha256(body).hexdigest()}\n".encode() + body


def version(path: Path) -> int:
    """Return the number of a text that is whole."""
    head, _, body = path.read_bytes().partition(b"\n")
    number, digest = head.split()
    assert hashlib.sha256(body).hexdigest() == digest.decode(), f"{path.name} is half a text"
    return int(number)


def noted(notes: Path) -> tuple[dict[str, int], list[int], set[str]]:
    """Return the last number that each file was fsynced with, the lines of the log, and the files begun since."""
    files: dict[str, int] = {}
    lines, begun = [], set()
    for line in notes.read_text().splitlines():
        kind, name, number = json.loads(line)
        if kind == "append":
            lines.append(number)
        elif kind == "begin":
            begun.add(name)
        else:
            files[name] = number
            begun.discard(name)
    return files, lines, begun


def check(tree: Path, notes: Path) -> None:
    files, lines, begun = noted(notes)
    for name, number in files.items():
        if name not in begun:  # What was just written in place may be short.
            found = version(tree / name)
            assert found == number or (name.startswith("saved") and found > number), name
    for path in [*tree.glob("saved-*.md"), *tree.glob("pulled/*.md")]:
        assert version(path) >= 0
    logged = (tree / "log.md").read_text().splitlines() if lines else []
    kept = [int(line.split()[1]) for line in logged if line.startswith("line ")]
    assert set(lines) <= set(kept), "a line that was fsynced is missing"
    assert kept == sorted(set(kept))


@pytest.mark.timeout(240)
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 6))])
def test_what_was_fsynced_survives_kills_at_any_moment(
    prepared: Callable[..., Any], program: Callable[..., Any], said: Sayer, tmp_path: Path, seed: int
) -> None:
    mounted, dice, notes = prepared(), random.Random(seed), tmp_path / "notes"
    notes.touch()
    writer, pulls = program(WRITER, mounted.root, notes, seed), Pulling(mounted, seed)
    for _ in range(KILLS):
        mounted.start()
        assert mounted.is_ready, mounted.told()
        check(mounted.root, notes)
        writer.stdin.write("go\n")
        writer.stdin.flush()
        said(writer)
        thread = threading.Thread(target=pulls.run)
        thread.start()
        time.sleep(dice.uniform(0.0, LONGEST_LIFE_S))

        mounted.process.send_signal(signal.SIGKILL)

        mounted.ended()
        assert said(writer) > 0
        thread.join()
        check(mounted.store.tree, notes)
    mounted.start()
    check(mounted.root, notes)

    assert "Traceback" not in mounted.told()
    files, lines, _ = noted(notes)
    assert len(files) > KILLS
    assert len(lines) > KILLS
    assert pulls.done > KILLS
