"""Any request, however odd, gets one answer, an errno where it cannot be done, and leaves no descriptor behind.

Names are those that a kernel may send: not empty, no slash, neither ``.`` nor ``..``.
"""

import ctypes
import errno
import os
import random
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fs.callbacks import Kernel
from fs.compared import LIMITS, STORES
from fs.worlds import World, prepare

from memfs.core.names import Names
from memfs.core.tree_requests import Answer, Request
from memfs.fuse import structures as lib
from memfs.fuse.announcing import Announcer
from memfs.fuse.operations import Operations
from memfs.fuse.options import OpenUpcalls
from memfs.vfs.filesystem import FileSystem
from memfs.vfs.values import ROOT, Ownership

CALLS = 5_000
SEEDS = [*range(3), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(100, 160))]
NAMES = [
    *[b"a", b"b.md", b"d", b"e"] * 4, *[b"c~", b".git", b"x.tmp"] * 2,
    b"notes", b"manual", b"\xff", b"\x01", "e\u0301".encode(), "\u2028".encode(), b"\xed\xa0\x80", b"%s%n", b" ",
    b"n" * 17, b"n" * 255, b"n" * 256, b"n" * 1024, b".anthropic-memory-store", b"-", b"*", b"\\",
]  # fmt: skip
STRANGERS = [0, 2, 99_999, 1 << 31, 1 << 63, (1 << 64) - 1]
OFFSETS = [0, 0, 0, 1, 63, 64, 65, 4096, 1 << 31, 1 << 62, (1 << 63) - 1, -1, -(1 << 63)]
SIZES = [0, 1, 10, 64, 4096, 131_072]
BYTES = [b"", b"x", b"text", "é".encode(), b"\xc3", b"\xff", b"\0", b"z" * 65, b"y" * 5_000]


class Served(World):
    """Only what the worker asks; the kernel's side is `Kernel`."""

    def __init__(self, directory: Path) -> None:
        super().__init__(prepare(directory / "state", STORES))
        self.told: list[object] = []
        self.filesystem = FileSystem(
            self.layout,
            limits=replace(LIMITS, memories=30),
            names=Names(),
            ownership=Ownership(uid=os.geteuid(), gid=os.getegid(), umask=0o022),
            clock_ns=time.monotonic_ns,
            invalidate=self.told.append,
        )

    def ask(self, request: Request) -> Answer:
        return self.filesystem.apply(request)

    def close(self) -> None:
        self.filesystem.close()


class Anything:
    """Random requests, the same for a seed."""

    def __init__(self, kernel: Kernel, world: Served, seed: int) -> None:
        self.kernel, self.world, self.random = kernel, world, random.Random(seed)
        kernel.call("lookup", ROOT, b"notes")
        (self.home,) = kernel.lookups
        self.kinds = [
            *[self.entry, self.make, self.content, self.write] * 3,
            *[self.rename, self.setattr, self.listing, self.pull, self.forget, self.odd],
        ]

    def go(self) -> None:
        self.kernel.is_gone = self.random.random() < 0.05
        self.random.choice(self.kinds)()

    def node(self) -> int:
        known = [self.home] if self.random.getrandbits(2) == 0 else [*self.kernel.lookups, ROOT]
        return self.random.choice(known if self.random.random() < 0.93 else STRANGERS)

    def name(self) -> bytes:
        return self.random.choice(NAMES)

    def info(self) -> Any:
        flags = self.random.choice([os.O_RDWR, os.O_WRONLY | os.O_APPEND, self.random.getrandbits(31)])
        return ctypes.pointer(lib.FileInfo(flags=flags, fh=self.random.choice([0, 1, self.node()])))

    def entry(self) -> None:
        self.kernel.call(
            self.random.choice(["lookup", "lookup", "lookup", "unlink", "rmdir", "rmdir"]), self.node(), self.name()
        )

    def make(self) -> None:
        mode, node, name = self.random.getrandbits(16), self.node(), self.name()
        self.random.choice(
            [
                lambda: self.kernel.call("mkdir", node, name, mode),
                lambda: self.kernel.call("create", node, name, mode, self.info()),
                *[lambda: self.kernel.call("create", node, name, 0o644, self.info())] * 4,
                lambda: self.kernel.call("mknod", node, name, mode, 0),
                lambda: self.kernel.call("symlink", b"target", node, name),
                lambda: self.kernel.call("link", self.node(), node, name),
            ]
        )()

    def content(self) -> None:
        node, info, flag = self.node(), self.info(), self.random.getrandbits(1)
        self.random.choice(
            [
                lambda: self.kernel.call("open", node, info),
                lambda: self.kernel.call("opendir", node, info),
                lambda: self.kernel.call("release", node, info),
                lambda: self.kernel.call("fsync", node, flag, info),
                lambda: self.kernel.call("fsyncdir", node, flag, info),
                lambda: self.kernel.call("getattr", node, None),
                lambda: self.kernel.call("statfs", node),
                lambda: self.kernel.call("read", node, self.random.choice(SIZES), self.random.choice(OFFSETS), info),
            ]
        )()

    def write(self) -> None:
        content = self.random.choice(BYTES)
        buffer = ctypes.create_string_buffer(content, max(1, len(content)))
        where = self.random.choice(OFFSETS)
        self.kernel.call("write", self.node(), ctypes.addressof(buffer), len(content), where, self.info())

    def rename(self) -> None:
        self.kernel.call("rename", self.node(), self.name(), self.node(), self.name())

    def setattr(self) -> None:
        number = self.random.getrandbits
        attr = lib.Stat(st_mode=number(32), st_size=self.random.choice(OFFSETS), st_uid=number(32), st_gid=number(32))
        for spec in (attr.st_atimespec, attr.st_mtimespec):
            spec.tv_sec = self.random.choice([0, 1, 1_700_000_000, -1, (1 << 63) - 1, -(1 << 63)])
            spec.tv_nsec = self.random.choice([0, 1, 999_999_999])
        to_set = number(9) if number(2) else 1 << self.random.randrange(6)
        self.kernel.call("setattr", self.node(), ctypes.pointer(attr), to_set, self.random.choice([None, self.info()]))

    def listing(self) -> None:
        size, where = self.random.choice([*SIZES, 1 << 30]), self.random.choice([*OFFSETS, 2, 3, 4, 5])
        self.kernel.call("readdir", self.node(), size, where, self.info())

    def pull(self) -> None:
        path = "/".join(["notes", *(self.random.choice(["a", "b.md", "d", "e", "c~"]) for _ in range(2))])
        found = self.world.observe(path) if self.world.tree(path).is_file() else None
        kind = self.random.randrange(3)
        if found is None or kind == 0:
            self.world.replace(path, b"pulled", found, force=found is not None)
        elif kind == 1:
            self.world.remove(path, prune=("/" + path.split("/")[1],), mark=f"{self.random.getrandbits(60)}-")
        else:
            self.world.move(path, self.random.choice(["a", "d/e", "f/g"]))

    def forget(self) -> None:
        known = [node for node in self.kernel.lookups if node != self.home]
        if known and self.random.getrandbits(1):
            node = self.random.choice(known)
            self.kernel.forget(node, self.random.randint(1, self.kernel.lookups[node]))
            return
        some = self.random.sample(known, min(len(known), 3))
        self.kernel.forget_some({node: self.kernel.lookups[node] for node in some})

    def odd(self) -> None:
        node = self.random.choice(STRANGERS[2:])
        self.kernel.call("forget", node, self.random.getrandbits(63))


@pytest.mark.parametrize("open_upcalls", list(OpenUpcalls))
@pytest.mark.parametrize("seed", SEEDS)
def test_any_request_is_answered_once_and_leaves_nothing(
    seed: int, open_upcalls: OpenUpcalls, quick: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = Served(quick)
    outside = everything_but_trees(world)
    before = descriptors()
    kernel = Kernel(Operations(world.filesystem, open_upcalls, Announcer()), monkeypatch)
    anything = Anything(kernel, world, seed)

    for _ in range(CALLS):
        anything.go()

    assert {number for number in kernel.errnos if not errno.errorcode.get(number or errno.EIO)} == set()
    assert errno.EIO not in kernel.errnos
    assert {"lookup", "create", "mkdir", "setattr", "write", "read", "readdir"} <= kernel.answered.keys()
    kernel.is_gone = False
    kernel.forget_all()
    assert len(world.filesystem._mounted.table) == 1 + len(STORES)
    assert descriptors() == before
    assert everything_but_trees(world) == outside
    world.close()


@pytest.mark.parametrize("name", [b"", b".", b"..", b"a/b", b"/", b"../notes"])
def test_what_is_no_name_goes_no_further(name: bytes, quick: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = Served(quick)
    kernel = Kernel(Operations(world.filesystem, OpenUpcalls.AUTO, Announcer()), monkeypatch)
    kernel.call("lookup", ROOT, b"notes")
    (home,) = kernel.lookups
    kernel.call("create", home, b"a.md", 0o644, ctypes.pointer(lib.FileInfo(flags=os.O_WRONLY)))
    before = sorted(path.name for path in world.tree("notes").rglob("*"))
    info = ctypes.pointer(lib.FileInfo(flags=os.O_WRONLY | os.O_CREAT))

    answers = [
        kernel.call("lookup", home, name),
        kernel.call("unlink", home, name),
        kernel.call("rmdir", home, name),
        kernel.call("mkdir", home, name, 0o755),
        kernel.call("create", home, name, 0o644, info),
        kernel.call("mknod", home, name, 0o644, 0),
        kernel.call("symlink", b"target", home, name),
        kernel.call("link", home, home, name),
        kernel.call("rename", home, b"a.md", home, name),
        kernel.call("rename", home, name, home, b"b.md"),
    ]

    assert [errno.EINVAL] * len(answers) == answers
    assert before == sorted(path.name for path in world.tree("notes").rglob("*"))
    world.close()


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208  (a listing's own descriptor counts once)


def everything_but_trees(world: World) -> set[str]:
    """Return the names in the state that no request of a kernel may change."""
    stores = [world.layout.store(one.store_id) for one in STORES]
    inside = [place for one in stores for place in (one.tree, one.trash, one.staging)]
    names = (path for path in world.layout.root.rglob("*") if not any(place in path.parents for place in inside))
    return {str(path) for path in names}
