"""The same calls as the state machine's in a seeded walk: longer than hypothesis goes, and evenly spread."""

import os
import random
from collections.abc import Callable
from typing import Any

from fs.machine import GOOD, Machine

NAMES = [*GOOD, "a", "d", "seventeen-letters", "control\x01"]
PIECES = [b"x", b"yy", "é".encode(), b"\xc3", b"\xa9", b"z" * 30, b"z" * 40]
OFFSETS = [0, 0, 0, 1, 3, 10, 60, 64, 5000]


class Walk:
    """Steps of one machine."""

    def __init__(self, machine: Machine, seed: int) -> None:
        self.machine, self.random = machine, random.Random(seed)
        machine.begin()
        step = self.step
        self.always = [
            *[step("save", content=self.text, more=self.of(0, os.O_APPEND, os.O_APPEND, os.O_TRUNC))] * 4,
            step("open", access=self.of(0, 1, 2), extras=self.extras, mode=self.of(0o644, 0o600)),
            step("stat"),
            step("mkdir", mode=self.of(0o755, 0o700)),
            step("truncate", size=self.of(*OFFSETS)),
            *[step("rename", other=self.place, number=self.number)] * 3,
            step("unlink"),
            step("rmdir"),
            step("chmod", file_mode=self.of(0o644, 0o600), directory_mode=self.of(0o755, 0o700)),
            step("utime", mtime_ns=self.of(0, 1_555_555_555_666_777_888)),
            step("begin_to_list", count=self.of(1, 2, 3)),
            self.bare("pull_new", names=self.names, content=self.good),
        ]
        self.with_handles = [
            *[self.bare("write", number=self.number, content=self.text, offset=self.of(*OFFSETS))] * 3,
            self.bare("ftruncate", number=self.number, size=self.of(*OFFSETS)),
            self.bare("set_attributes", number=self.number, mode=self.of(0o644, 0o600), mtime_ns=self.of(0, 1)),
            *[self.bare("read", number=self.number, size=self.of(*OFFSETS), offset=self.of(*OFFSETS))] * 3,
            self.bare("fsync", number=self.number),
        ]
        self.with_files = [
            *[self.bare("pull", number=self.number, content=self.good)] * 2,
            self.bare("pull_removal", number=self.number),
            self.bare("pull_move", number=self.number, names=self.names),
            self.bare("pull_of_what_changed", number=self.number, content=self.good),
        ]

    def go(self) -> None:
        machine, chosen = self.machine, self.random.random()
        if len(machine.handles) > 5:
            machine.close(self.number())
        if machine.readings and chosen < 0.1:
            machine.list_on(self.number(), self.random.randint(1, 5))
        elif chosen < 0.4 and machine.some(writes=True) and machine.some(writes=False):
            self.random.choice(self.with_handles)()
        elif chosen < 0.5 and machine.memories():
            self.random.choice(self.with_files)()
        elif chosen < 0.55 and machine.appending():
            machine.pull_under_an_appender(self.number(), self.good(), self.good())
        else:
            self.random.choice(self.always)()

    def step(self, name: str, **arguments: Callable[[], Any]) -> Callable[[], None]:
        return self.bare(name, place=self.place, **arguments)

    def bare(self, name: str, **arguments: Callable[[], Any]) -> Callable[[], None]:
        return lambda: getattr(self.machine, name)(**{each: draw() for each, draw in arguments.items()})

    def of(self, *values: int) -> Callable[[], int]:
        return lambda: self.random.choice(values)

    def place(self) -> tuple[int, int, list[str]]:
        names = self.random.choices(NAMES, k=self.random.randint(1, 3))
        return self.random.choice([*range(18)] * 4 + [18, 19]), self.random.randrange(64), names

    def names(self) -> list[str]:
        return self.random.choices(GOOD, k=self.random.randint(1, 3))

    def number(self) -> int:
        return self.random.randrange(64)

    def text(self) -> bytes:
        return (
            b"\xff"
            if self.random.random() < 0.05
            else b"".join(self.random.choices(PIECES, k=self.random.randint(0, 3)))
        )

    def good(self) -> bytes:
        return b"".join(self.random.choices([b"x", "é".encode(), b"z" * 30], k=self.random.randint(0, 2)))

    def extras(self) -> set[int]:
        return {flag for flag in (os.O_CREAT, os.O_EXCL, os.O_TRUNC, os.O_APPEND) if self.random.getrandbits(1)}
