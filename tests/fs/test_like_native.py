"""Any sequence of ordinary calls ends as it does on a native directory: same bytes, same names, same refusals."""

import errno
import os
import random
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fs.files import Files, OpenFile
from fs.through_mount import MountFiles

STEPS = 400


class Twins:
    """The same calls on two directories."""

    def __init__(self, ours: tuple[Files, str], native: tuple[Files, str], seed: int) -> None:
        self.sides = (ours, native)
        self.random = random.Random(seed)
        self.open: list[tuple[OpenFile, OpenFile]] = []

    def path(self) -> str:
        """Return a path of so few names that they meet often."""
        return "/".join(self.random.choices("abc", k=self.random.choice([1, 1, 2, 2, 3])))

    def step(self) -> tuple[Any, Any]:
        """Do one call on both sides and return both outcomes."""
        one, other = self.path(), self.path()
        text = self.random.randbytes(3).hex().encode() * self.random.randint(0, 4)
        number = self.random.randint(0, 20)
        calls: list[Callable[[Files, str], object]] = [
            lambda files, home: files.write(f"{home}/{one}", text),
            lambda files, home: files.append(f"{home}/{one}", text),
            lambda files, home: files.rename(f"{home}/{one}", f"{home}/{other}"),
            lambda files, home: files.rename(f"{home}/{one}", f"{home}/{other}"),
            lambda files, home: files.unlink(f"{home}/{one}"),
            lambda files, home: files.mkdir(f"{home}/{one}"),
            lambda files, home: files.mkdir(f"{home}/{one}"),
            lambda files, home: files.rmdir(f"{home}/{one}"),
            lambda files, home: files.truncate(f"{home}/{one}", number),
            lambda files, home: files.read(f"{home}/{one}"),
            lambda files, home: files.listdir(f"{home}/{one}"),
            lambda files, home: kind_and_size(files, f"{home}/{one}"),
        ]
        choice = self.random.randrange(len(calls) + 4)
        if choice < len(calls):
            return self.both(calls[choice])
        if choice == len(calls) or not self.open:
            return self.open_both(one)
        pair = self.random.choice(self.open)
        if choice == len(calls) + 1:
            return outcome(lambda: pair[0].write(text, number)), outcome(lambda: pair[1].write(text, number))
        if choice == len(calls) + 2:
            return outcome(pair[0].read), outcome(pair[1].read)
        self.open.remove(pair)
        return outcome(pair[0].close), outcome(pair[1].close)

    def both(self, call: Callable[[Files, str], object]) -> tuple[Any, Any]:
        ours, native = self.sides
        return outcome(partial(call, *ours)), outcome(partial(call, *native))

    def open_both(self, path: str) -> tuple[Any, Any]:
        ours, native = self.both(lambda files, home: files.open(f"{home}/{path}", os.O_RDWR))
        if isinstance(ours, OpenFile) and isinstance(native, OpenFile):
            self.open.append((ours, native))
            return "opened", "opened"
        return ours, native

    def everything(self) -> list[dict[str, bytes]]:
        return [whole(files, home, "") for files, home in self.sides]


def outcome(call: Callable[[], object]) -> object:
    try:
        return call()
    except OSError as error:
        return errno.errorcode[error.errno or 0]


def kind_and_size(files: Files, path: str) -> tuple[int, int, int]:
    found = files.stat(path)
    is_file = stat.S_ISREG(found.mode)
    return stat.S_IFMT(found.mode), found.size if is_file else 0, found.nlink if is_file else 0


def whole(files: Files, home: str, below: str) -> dict[str, bytes]:
    """Return every path below a directory with its bytes."""
    found = {}
    for name in files.listdir(home + below):
        path = f"{below}/{name}"
        if stat.S_ISDIR(files.stat(home + path).mode):
            found[path + "/"] = b""
            found |= whole(files, home, path)
        else:
            found[path] = files.read(home + path)
    return found


@pytest.mark.parametrize("seed", [*range(5), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(100, 160))])
def test_any_calls_end_as_on_a_native_directory(seed: int, files: Files, home: str, tmp_path: Path) -> None:
    (tmp_path / "native").mkdir()
    twins = Twins((files, home), (MountFiles(tmp_path), "native"), seed)

    for _ in range(STEPS):
        ours, native = twins.step()
        assert ours == native

    for pair in twins.open:
        assert pair[0].read() == pair[1].read()
        pair[0].close()
        pair[1].close()
    ours, native = twins.everything()
    assert ours == native
