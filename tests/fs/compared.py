"""A world and its model side by side: both are asked, both must answer the same, and nothing may be left at the end.

The calls themselves are in `machine`.
"""

import errno
import os
import stat
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from fs import model_pulls
from fs.files import OpenFile
from fs.model import Bounds, Directory, File, Model, Refused, is_local, walk
from fs.worlds import World, attachment
from hypothesis.stateful import RuleBasedStateMachine, initialize

from memfs.core.attachment import Access
from memfs.core.limits import Limits
from memfs.core.tree_requests import Answer, Outcome

LIMITS = Limits(memory_bytes=64, memories=5, path_bytes=40, segments=4, segment_bytes=16)
BOUNDS = Bounds(**asdict(LIMITS))
STORES = [attachment("notes"), attachment("other"), attachment("manual", Access.READ_ONLY)]


@dataclass(eq=False)
class Handle:
    """One open file on both sides."""

    real: OpenFile
    node: File | Directory
    flags: int

    @property
    def writes(self) -> bool:
        return self.flags & os.O_ACCMODE != os.O_RDONLY

    @property
    def appends(self) -> bool:
        return bool(self.flags & os.O_APPEND)


@dataclass(eq=False)
class Reading:
    """A directory that is being listed, and what was in it when that began."""

    names: Generator[bytes, None, None]
    directory: Directory
    before: dict[str, int]
    seen: list[str]


class Source:
    """Gives each run a world that is as new, and takes it back."""

    def __init__(self, make: Callable[[], World], *, again: bool) -> None:
        self._make, self._again = make, again
        self._world: World | None = None

    def world(self) -> World:
        if self._world is None:
            self._world = self._make()
        return self._world

    def give_back(self, *, is_clean: bool) -> None:
        if self._world is not None and not (is_clean and self._again):
            self.close()

    def close(self) -> None:
        if self._world is not None:
            self._world.close()
            self._world = None


class Compared(RuleBasedStateMachine):
    """What every call needs, and what must be true at the end."""

    def __init__(self, source: Source, check_left: Callable[[World], None] = lambda _world: None) -> None:
        super().__init__()
        self.source, self.check_left = source, check_left
        self.world: World = source.world()
        self.files = self.world.files
        self.handles: list[Handle] = []
        self.readings: list[Reading] = []
        self.is_settled, self.failed = True, False
        self.model = Model(["notes", "other", "manual"], {"manual"}, BOUNDS)

    @initialize()
    def begin(self) -> None:
        for path in ("manual/guide.md", "manual/d/deep.md"):  # as `worlds.prepare` makes them
            model_pulls.put(self.model, path, self.world.tree(path).read_bytes())
        for _, node in self.below("manual"):
            node.mode &= ~0o222
        for path in ("notes/d", "notes/d/e"):
            self.agree(partial(self.files.mkdir, path), partial(self.model.mkdir, path, 0o755))
        for path in ("notes/a", "notes/d/b.md", "notes/d/e/x.tmp"):
            made = self.agree(
                partial(self.files.open, path, os.O_CREAT | os.O_WRONLY),
                partial(self.model.open, path, os.O_CREAT | os.O_WRONLY, 0o644),
                compare=False,
            )
            made[0].close()
        self.is_settled = False

    def go_on(self, reading: Reading, count: int) -> None:
        """Take some names; at the end, each untouched one was seen once."""
        is_gone = not reading.directory.is_linked
        try:
            for _ in range(count):
                reading.seen.append(os.fsdecode(next(reading.names)))
        except StopIteration:
            self.readings.remove(reading)
        except OSError:
            assert is_gone
            self.readings.remove(reading)
        if is_gone or reading in self.readings:
            return
        now = reading.directory
        untouched = {name for name, count in reading.before.items() if now.touched[name] == count}
        assert sorted(untouched) == sorted(name for name in reading.seen if name in untouched)

    def agree(self, real: Callable[[], Any], model: Callable[[], Any], *, compare: bool = True) -> Any:
        """Do it on both sides; return both results, or None where both refused."""
        was_failed, self.failed = self.failed, True
        refused, wanted = by_model(model)
        refusal, found = by_world(real)
        if refusal is None:
            assert refused == set(), f"done, though it is {refused}"
            assert not compare or wanted == found, f"{wanted} is {found}"
        else:
            self.is_settled = False
            assert refusal in refused, f"{refused} is {refusal}"
        self.failed = was_failed
        return None if refused else (found, wanted)

    def settle(self) -> None:
        if not self.is_settled:
            self.world.settle()
            self.is_settled = True

    def room(self, store: str) -> int:
        """Return what fits into a store; through a real mount one file of ``other`` is what `settle` pulls."""
        return max(
            0, self.model.room(store) - (store == "other" and self.world.observe("other/barrier.md") is not None)
        )

    def path(self, place: Any, prefer: type[File] | type[Directory] | None = None) -> str:
        """Return a path: mostly of what is preferred and there, or (None) a new name in a directory that is there."""
        kind, index, names = place
        files, directories = (self.model.paths(each, "notes") for each in (File, Directory))
        there = files if prefer is File or (prefer is None and kind % 2) else directories[1:]
        if kind < (8 if prefer is None else 0):
            return f"{directories[index % len(directories)]}/{names[0]}"
        if kind < 16 and there:
            return there[index % len(there)]
        if kind < 18:
            return "/".join(["notes", *names])
        return ["manual/guide.md", "manual/d", "manual/d/deep.md", "manual/new", "other/new"][index % 5]

    def found(self, path: str) -> File | Directory | None:
        with suppress(Refused):
            return self.model.find(path)
        return None

    def some(self, *, writes: bool | None = None) -> list[Handle]:
        return [
            one
            for one in self.handles
            if isinstance(one.node, File)
            and (writes is None or (one.writes if writes else one.flags & os.O_ACCMODE != os.O_WRONLY))
        ]

    def one(self, number: int, *, writes: bool | None = None) -> tuple[Handle, File]:
        some = self.some(writes=writes)
        handle = some[number % len(some)]
        assert isinstance(handle.node, File)
        return handle, handle.node

    def a_file(self, number: int) -> str:
        files = self.memories()
        return files[number % len(files)]

    def memories(self) -> list[str]:
        """Return the files that the worker would change."""
        return [path for path in self.model.paths(File, "notes") if not is_local(path)]

    def answered(self, answer: Answer, *, is_applied: bool) -> None:
        was_failed, self.failed, self.is_settled = self.failed, True, False
        assert answer.error == "", answer.error
        assert (Outcome.APPLIED if is_applied else Outcome.CHANGED) == answer.outcome
        self.settle()
        self.failed = was_failed

    def teardown(self) -> None:
        try:
            if not self.failed:
                self.failed = True
                self.check_all()
                self.failed = False
        finally:
            for reading in self.readings:
                reading.names.close()
            for handle in self.handles:
                handle.real.close()
            self.end()

    def check_all(self) -> None:
        """Compare all that is there with the model."""
        self.settle()
        for slug in ("notes", "manual"):
            wanted = {path: node.content if isinstance(node, File) else None for path, node in self.below(slug)}
            assert wanted == on_disk(self.world, slug)
            assert wanted == dict(as_shown(self.world, slug))
        for slug, file in self.model.kept:
            assert file.content in kept(self.world, slug)
        for handle in self.handles:
            for offset, late in handle.node.late if isinstance(handle.node, File) else ():
                assert any(holds(one, late, offset, handle.node.content) for one in kept(self.world, "notes"))

    def below(self, slug: str) -> list[tuple[str, File | Directory]]:
        return list(walk(self.model.root.names[slug], slug))[1:]

    def end(self) -> None:
        try:
            if not self.failed:
                self.failed = True
                for path, node in sorted(
                    [*self.below("notes"), *self.below("other")], key=lambda one: -one[0].count("/")
                ):
                    (self.files.unlink if isinstance(node, File) else self.files.rmdir)(path)
                self.check_left(self.world)
                self.failed = False
        finally:
            self.source.give_back(is_clean=not self.failed)


def by_model(call: Callable[[], Any]) -> tuple[set[str], Any]:
    """Return how it is refused, or what comes of it."""
    try:
        return set(), call()
    except Refused as refusal:
        return {errno.errorcode[number] for number in refusal.numbers}, None


def by_world(call: Callable[[], Any]) -> tuple[str | None, Any]:
    """Return how it is refused, or what comes of it."""
    try:
        return None, call()
    except OSError as error:
        return errno.errorcode[error.errno or 0], None


def expected(node: File | Directory) -> tuple[object, ...]:
    """Return what stat should show."""
    if isinstance(node, Directory):
        return ("directory", node.mode)
    return ("file", node.mode, len(node.content), node.mtime_ns)


def shown(found: Any, node: File | Directory | None) -> tuple[object, ...]:
    """Return what stat shows, as `expected` says it."""
    mode = stat.S_IMODE(found.mode)
    if stat.S_ISDIR(found.mode):
        return ("directory", mode)
    known = isinstance(node, File) and node.mtime_ns is not None
    return ("file", mode, found.size, found.mtime_ns if known else None)


def on_disk(world: World, slug: str) -> dict[str, bytes | None]:
    tree = world.tree(slug)
    return {f"{slug}/{one.relative_to(tree)}": one.read_bytes() if one.is_file() else None for one in tree.rglob("*")}


def as_shown(world: World, path: str) -> Iterator[tuple[str, bytes | None]]:
    for name in world.files.listdir(path):
        below = f"{path}/{name}"
        if stat.S_ISDIR(world.files.stat(below).mode):
            yield below, None
            yield from as_shown(world, below)
        else:
            yield below, world.files.read(below)


def holds(file: bytes, late: bytes, offset: int, displaced: bytes) -> bool:
    """Tell whether a file has what was refused; where that was what the displaced file said anyway, no matter."""
    places = range(offset, offset + len(late))
    return all(
        file[at : at + 1] == late[at - offset : at - offset + 1]
        or displaced[at : at + 1] == late[at - offset : at - offset + 1]
        for at in places
    )


def kept(world: World, slug: str) -> list[bytes]:
    return [one.read_bytes() for one in world.layout.store(f"memstore_{slug}").trash.iterdir()]
