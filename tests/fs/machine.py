"""Random calls on a world and on its model, with the worker's pulls in between: both must answer the same.

After each run the tree, what the mount shows and what is kept in trash are the model's, and nothing is left behind.
"""

import os
import time
from typing import Any

from fs import model_pulls
from fs.compared import BOUNDS, Compared, Handle, Reading, expected, shown
from fs.model import Directory, File, store_of, walk
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

GOOD = ["a", "b.md", "d", "e", "c~", ".git", "x.tmp", "sedAbCdEf", "fifteen-letters"]
NAMES = st.sampled_from([*GOOD, "a", "d", "seventeen-letters", "control\x01"])
PLACES = st.tuples(st.integers(0, 19), st.integers(0, 63), st.lists(NAMES, min_size=1, max_size=3))
TEXTS = st.lists(
    st.sampled_from([b"x", b"yy", b"\xc3\xa9", b"\xc3", b"\xa9", b"z" * 30, b"z" * 40, b"\xff"]), max_size=3
).map(b"".join)
GOOD_TEXTS = st.lists(st.sampled_from([b"x", b"yy", b"\xc3\xa9", b"z" * 30]), max_size=2).map(b"".join)
OFFSETS = st.sampled_from([0, 0, 1, 3, 10, 60, 64, 5000])
SIZES = st.sampled_from([0, 1, 3, 10, 60, 64, 65, 5000])
FILE_MODES = st.sampled_from([0o644, 0o600, 0o755, 0o640, 0o777])
DIRECTORY_MODES = st.sampled_from([0o755, 0o700, 0o750])
TIMES = st.sampled_from([0, 1_555_555_555_666_777_888, 1])
NUMBERS = st.integers(0, 7)
ACCESS = st.sampled_from([os.O_RDONLY, os.O_WRONLY, os.O_RDWR])
EXTRAS = st.sets(st.sampled_from([os.O_CREAT, os.O_EXCL, os.O_TRUNC, os.O_APPEND]))


class Calls(Compared):
    """What programs do; every rule asks both sides."""

    @rule(place=PLACES, access=ACCESS, extras=EXTRAS, mode=FILE_MODES)
    def open(self, place: Any, access: int, extras: set[int], mode: int) -> None:
        path, flags = self.path(place), access | sum(extras)
        if flags & os.O_EXCL and not flags & os.O_CREAT:
            flags &= ~os.O_EXCL
        if store_of(path) == "manual" and self.found(path):
            flags &= ~os.O_ACCMODE  # Root is refused here, or at its first write: shown elsewhere.
        opened = self.agree(
            lambda: self.files.open(path, flags, mode), lambda: self.model.open(path, flags, mode), compare=False
        )
        if opened is not None:
            self.handles.append(Handle(opened[0], opened[1], flags))

    @rule(place=PLACES, content=TEXTS, more=st.sampled_from([0, os.O_APPEND, os.O_TRUNC, os.O_EXCL]))
    def save(self, place: Any, content: bytes, more: int) -> None:
        path, flags = self.path(place), os.O_RDWR | os.O_CREAT | more
        if store_of(path) == "manual" and self.found(path):
            return
        opened = self.agree(
            lambda: self.files.open(path, flags), lambda: self.model.open(path, flags, 0o644), compare=False
        )
        if opened is not None:
            self.handles.append(Handle(opened[0], opened[1], flags))
            self.write(-1, content, 0)

    @precondition(lambda self: len(self.handles) > 2)
    @rule(number=NUMBERS)
    def close(self, number: int) -> None:
        handle = self.handles.pop(number % len(self.handles))
        handle.real.close()

    @precondition(lambda self: self.some(writes=True))
    @rule(number=NUMBERS, content=TEXTS, offset=OFFSETS)
    def write(self, number: int, content: bytes, offset: int) -> None:
        handle, file = self.one(number, writes=True)
        self.is_settled = False
        self.agree(
            lambda: handle.real.write(content, offset),
            lambda: self.model.write(file, content, offset, append=handle.appends),
        )

    @precondition(lambda self: self.some(writes=True))
    @rule(number=NUMBERS, size=SIZES)
    def ftruncate(self, number: int, size: int) -> None:
        handle, file = self.one(number, writes=True)
        self.agree(lambda: handle.real.truncate(size), lambda: self.model.truncate_file(file, size))

    @precondition(lambda self: self.some(writes=False))
    @rule(number=NUMBERS, offset=OFFSETS, size=SIZES)
    def read(self, number: int, offset: int, size: int) -> None:
        handle, file = self.one(number, writes=False)
        self.settle()
        self.agree(lambda: shown(handle.real.stat(), file), lambda: expected(file))
        self.agree(lambda: handle.real.read(size, offset), lambda: file.content[offset : offset + size])

    @precondition(lambda self: self.some())
    @rule(number=NUMBERS)
    def fsync(self, number: int) -> None:
        handle, file = self.one(number)
        self.agree(handle.real.sync, lambda: self.model.fsync(file))

    @rule(place=PLACES)
    def stat(self, place: Any) -> None:
        path = self.path(place, File if place[1] % 2 else Directory)
        self.settle()
        node = self.found(path)
        self.agree(lambda: shown(self.files.stat(path), node), lambda: expected(self.model.find(path)))
        store = store_of(path)
        self.agree(lambda: self.files.statfs(store).files_free, lambda: self.room(store))

    @precondition(lambda self: self.some(writes=True))
    @rule(number=NUMBERS, mode=FILE_MODES, mtime_ns=TIMES)
    def set_attributes(self, number: int, mode: int, mtime_ns: int) -> None:
        """Through an open file; of one that a pull superseded, the current one has them too."""
        handle, file = self.one(number, writes=True)
        self.is_settled = False
        self.agree(lambda: handle.real.set_mode(mode), lambda: None)
        self.agree(lambda: handle.real.set_times(0, mtime_ns), lambda: None)
        for each in {file, file.current()}:
            each.mode, each.mtime_ns = mode, mtime_ns

    @rule(place=PLACES, size=SIZES)
    def truncate(self, place: Any, size: int) -> None:
        path = self.path(place, File)
        self.agree(lambda: self.files.truncate(path, size), lambda: self.model.truncate(path, size))

    @rule(place=PLACES, mode=DIRECTORY_MODES)
    def mkdir(self, place: Any, mode: int) -> None:
        path = self.path(place)
        self.agree(lambda: self.files.mkdir(path, mode), lambda: self.model.mkdir(path, mode))

    @rule(place=PLACES)
    def unlink(self, place: Any) -> None:
        path = self.path(place, File)
        self.agree(lambda: self.files.unlink(path), lambda: self.model.unlink(path))

    @rule(place=PLACES)
    def rmdir(self, place: Any) -> None:
        path = self.path(place, Directory)
        self.agree(lambda: self.files.rmdir(path), lambda: self.model.rmdir(path))

    @rule(place=PLACES, other=PLACES, number=NUMBERS)
    def rename(self, place: Any, other: Any, number: int) -> None:
        old, new = self.path(place, File if number % 2 else Directory), self.path(other)
        if old == new and store_of(old) == "manual":
            return  # Nothing happens, or is refused: both are right.
        self.agree(lambda: self.files.rename(old, new), lambda: self.model.rename(old, new))
        self.is_settled = False

    @rule(place=PLACES, file_mode=FILE_MODES, directory_mode=DIRECTORY_MODES)
    def chmod(self, place: Any, file_mode: int, directory_mode: int) -> None:
        path = self.path(place, File if place[1] % 2 else Directory)
        mode = directory_mode if isinstance(self.found(path), Directory) else file_mode
        self.agree(lambda: self.files.chmod(path, mode), lambda: self.model.chmod(path, mode))

    @rule(place=PLACES, mtime_ns=TIMES)
    def utime(self, place: Any, mtime_ns: int) -> None:
        path = self.path(place, File if place[1] % 2 else Directory)
        self.agree(lambda: self.files.utime(path, 0, mtime_ns), lambda: self.model.utime(path, mtime_ns))

    @rule(place=PLACES, count=st.integers(1, 4))
    def begin_to_list(self, place: Any, count: int) -> None:
        path = self.path(place, Directory)
        node = self.found(path)
        if not isinstance(node, Directory):
            return
        self.settle()
        reading = Reading(self.files.iterate(path), node, {name: node.touched[name] for name in node.names}, [])
        self.readings.append(reading)
        self.go_on(reading, count)

    @precondition(lambda self: self.readings)
    @rule(number=NUMBERS, count=st.integers(1, 9))
    def list_on(self, number: int, count: int) -> None:
        self.go_on(self.readings[number % len(self.readings)], count)


class Machine(Calls):
    """The same with the worker's pulls in between."""

    @precondition(lambda self: self.memories())
    @rule(number=NUMBERS, content=GOOD_TEXTS)
    def pull(self, number: int, content: bytes) -> None:
        path = self.a_file(number)
        answer = self.world.replace(path, content, self.world.observe(path), force=True)
        self.answered(answer, is_applied=model_pulls.replace(self.model, path, content))

    @rule(names=st.lists(st.sampled_from(GOOD), min_size=1, max_size=3), content=GOOD_TEXTS)
    def pull_new(self, names: list[str], content: bytes) -> None:
        path = "/".join(["notes", *names])
        answer = self.world.replace(path, content, None)
        self.answered(answer, is_applied=model_pulls.put(self.model, path, content))

    @precondition(lambda self: self.memories())
    @rule(number=NUMBERS)
    def pull_removal(self, number: int) -> None:
        path = self.a_file(number)
        prune = tuple("/" + one.partition("/")[2] for one in model_pulls.ancestors(path))
        answer = self.world.remove(path, prune, mark=f"{time.monotonic_ns()}-")
        self.answered(answer, is_applied=model_pulls.remove(self.model, path))

    @precondition(lambda self: self.memories())
    @rule(number=NUMBERS, names=st.lists(st.sampled_from(GOOD), min_size=1, max_size=3))
    def pull_move(self, number: int, names: list[str]) -> None:
        path = self.a_file(number)
        prune = tuple("/" + one.partition("/")[2] for one in model_pulls.ancestors(path))
        answer = self.world.move(path, "/".join(names), prune)
        self.answered(answer, is_applied=model_pulls.move(self.model, path, "/".join(["notes", *names])))

    @precondition(lambda self: self.memories())
    @rule(number=NUMBERS, content=GOOD_TEXTS)
    def pull_of_what_changed(self, number: int, content: bytes) -> None:
        """Expect another file than is there: nothing may happen."""
        path = self.a_file(number)
        found = self.world.observe(path)
        assert found is not None
        answer = self.world.replace(path, content, found._replace(size=found.size + 1), force=True)
        self.answered(answer, is_applied=False)

    @precondition(lambda self: self.appending())
    @rule(number=NUMBERS, added=GOOD_TEXTS, content=GOOD_TEXTS)
    def pull_under_an_appender(self, number: int, added: bytes, content: bytes) -> None:
        """What is appended between the worker's look and its pull follows the pulled bytes."""
        handle, path = (found := self.appending())[number % len(found)]
        assert isinstance(handle.node, File)
        expect, before = self.world.observe(path), handle.node.current()
        self.write_through(handle, added)
        appended = before.content[expect.size if expect else 0 :]
        answer = self.world.replace(path, content, expect, force=True)
        fits = not appended or len(content) + len(appended) <= BOUNDS.memory_bytes
        self.answered(answer, is_applied=fits and model_pulls.replace(self.model, path, content + appended))

    def write_through(self, handle: Handle, content: bytes) -> None:
        assert isinstance(handle.node, File)
        file = handle.node
        self.is_settled = False  # through a superseded descriptor: the kernel is told in a moment
        self.agree(lambda: handle.real.write(content, 0), lambda: self.model.write(file, content, 0, append=True))

    def appending(self) -> list[tuple[Handle, str]]:
        """Return who may append to a file that has a path, with that path."""
        named = {
            node: path
            for path, node in walk(self.model.root.names["notes"], "notes")
            if isinstance(node, File) and not node.is_local
        }
        return [
            (one, named[one.node.current()])
            for one in self.some(writes=True)
            if one.appends and isinstance(one.node, File) and one.node.current() in named
        ]
