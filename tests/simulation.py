"""A seeded simulation: hosts of one store, random programs, faults, crashes and halts, and what must hold all the time.

After every look of a worker, each byte sequence that rested in its tree is still in a tree, in trash or in the remote's
history; whoever displaces bytes and keeps none of them is told at once (`Lost`). In the end all sides are equal.
"""

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from fakes import FakeClock, Fault, FlakyRemote
from hosts import Far, Host

from memfs.core.errors import RateLimited, RemoteUnavailable
from memfs.core.tree_requests import Answer, Request
from worker.resuming import accept, restore

NAMES = ["a", "b", "a/b", "a/c", "c/d", "c", "b/x/y"]
CALLS = ["create_memory", "update_memory", "delete_memory", "retrieve_memory", "list_memories", "list_versions"]
HEALING_ROUNDS = 10


class Killed(BaseException):
    """What ends a worker in the middle of an action."""


class Lost(AssertionError):
    """Bytes that rested in a tree are nowhere any more."""


class Program:
    """Does what programs do to files; what the file system refuses is not done."""

    def __init__(self, pick: random.Random) -> None:
        self._pick = pick
        self._written = 0
        self._acts: list[Callable[[Host], None]] = [
            self._write, self._write, self._append, self._append, self._edit_a_line, self._save, self._remove,
            self._move, self._move_directory, self._remove_directory, self._flip,
        ]  # fmt: skip

    def act(self, host: Host) -> None:
        try:
            self._pick.choice(self._acts)(host)
        except OSError:
            for left in host.store.tree.glob(".tmp-*"):
                left.unlink()

    def line(self) -> str:
        self._written += 1
        return f"line {self._written}\n"

    def _content(self) -> str:
        return "".join(self.line() for _ in range(self._pick.randrange(1, 5)))

    def _write(self, host: Host) -> None:
        host.write(self._pick.choice(NAMES), self._content())

    def _append(self, host: Host) -> None:
        with self._one_of(host, Path.is_file).open("a") as file:
            file.write(self.line())

    def _edit_a_line(self, host: Host) -> None:
        path = self._one_of(host, Path.is_file)
        lines = path.read_text().splitlines(keepends=True)
        lines[self._pick.randrange(len(lines))] = self.line()
        path.write_text("".join(lines))

    def _save(self, host: Host) -> None:
        name = self._pick.choice(NAMES)
        (host.store.tree / name).parent.mkdir(parents=True, exist_ok=True)
        host.save_atomically(name, self._content())

    def _remove(self, host: Host) -> None:
        self._one_of(host, Path.is_file).unlink()

    def _move(self, host: Host) -> None:
        source = self._one_of(host, Path.is_file)
        host.move(str(source.relative_to(host.store.tree)), self._pick.choice(NAMES))

    def _move_directory(self, host: Host) -> None:
        self._one_of(host, Path.is_dir).rename(host.store.tree / self._pick.choice(["a", "b", "c", "e"]))

    def _remove_directory(self, host: Host) -> None:
        self._one_of(host, Path.is_dir).rmdir()

    def _flip(self, host: Host) -> None:
        """Make a directory of a file, with its text in it."""
        path = self._one_of(host, Path.is_file)
        text = path.read_bytes()
        path.unlink()
        path.mkdir()
        (path / "inside").write_bytes(text)

    def _one_of(self, host: Host, is_kind: Callable[[Path], bool]) -> Path:
        found = sorted(one for one in host.store.tree.rglob("*") if is_kind(one))
        if not found:
            raise FileNotFoundError
        return self._pick.choice(found)


class Mortal:
    """Stands before a host's owner: at some request the worker dies, before or after it is done."""

    def __init__(self, host: Host, pick: random.Random) -> None:
        self._host, self._after = host, pick.randrange(4)
        self._is_done_first = pick.random() < 0.5

    def ask(self, request: Request) -> Answer:
        self._after -= 1
        if self._after >= 0:
            return self._host.owner.ask(request)
        if self._is_done_first:
            self._host.owner.ask(request)
        raise Killed


class Simulation:
    """Some hosts of one store and what happens to them, by a seed."""

    def __init__(self, seed: int, hosts: list[Host], flaky: list[FlakyRemote], far: Far, clock: FakeClock) -> None:
        self.pick = random.Random(seed)
        self.program = Program(self.pick)
        self.hosts, self._flaky, self._far, self._clock = hosts, flaky, far, clock
        self._history: dict[str, str | None] = {}
        self._began = ""

    async def begin(self) -> None:
        """Note where the change feed stands."""
        self._began = (await self._far.remote.read_changes(self._far.store_id, after=None)).next

    async def step(self) -> None:
        """Let one host's programs act, perhaps its worker too, and time pass."""
        index = self.pick.randrange(len(self.hosts))
        host = self.hosts[index]
        for _ in range(self.pick.randrange(1, 4)):
            self.program.act(host)
        if self.pick.random() < 0.7:
            await self.work(index)
        if self.pick.random() < 0.2:
            host.restart()
        if self.pick.random() < 0.5:
            with suppress(RemoteUnavailable):
                await self._decide(host)
        self._clock.advance(self.pick.choice([0.0, 0.0, 0.0, 1.0, 5.0, 400.0]))

    async def work(self, index: int) -> None:
        """Sync a host under a fault or two, or until its worker dies.

        Raises:
            Lost: It displaced bytes of which nothing is kept.
        """
        host, flaky = self.hosts[index], self._flaky[index]
        before = set(host.tree().values())
        if self.pick.random() < 0.4:
            flaky.faults = [self._fault()]
        if self.pick.random() < 0.25:
            host.replica.owner = Mortal(host, self.pick)
        try:
            await self._look(host)
        except RemoteUnavailable:
            pass
        except Killed:
            host.restart()
        host.replica.owner = host.owner
        lost = before - await self._everywhere()
        if lost:
            raise Lost(sorted(lost))

    async def heal(self) -> list[list[str]]:
        """Let everybody sync in peace until nothing comes any more; return what is not synced, by host."""
        for one in self._flaky:
            one.faults = []
        left: list[list[str]] = []
        for _ in range(HEALING_ROUNDS):
            for host in self.hosts:
                await self._decide(host)
            left = [await host.sync(130.0) for host in self.hosts]
        return left

    async def _decide(self, host: Host) -> None:
        """End a halt one way or the other, as a person does at some time."""
        if host.replica.state.braking.halt is None:
            return
        if self.pick.random() < 0.5:
            accept(host.replica)
        else:
            await restore(host.replica)

    async def _look(self, host: Host) -> None:
        """Sync after a listing, after a poll, or after what a feed tells twice, in any order, or not at all."""
        wait_s = self.pick.choice([0.0, 3.0])
        if not host.replica.far.has_feed or self.pick.random() < 0.5:
            await host.sync(wait_s)
            return
        await host.runner.scan()
        if self.pick.random() < 0.5:
            await host.replica.far.poll()
        else:
            told = (await self._far.remote.read_changes(self._far.store_id, after=self._began)).data
            await host.replica.far._take_changes(self.pick.choices(told, k=len(told)) if told else [])
        await host.runner.settle(wait_s)

    def _fault(self) -> Fault:
        away, slowly = RemoteUnavailable("nobody answers"), RateLimited("slowly", retry_after_s=1.0)
        error = self.pick.choice([away, away, slowly, Killed()])
        is_lost = self.pick.random() < 0.6
        return Fault(self.pick.choice(CALLS), error, is_lost_answer=is_lost, skip=self.pick.randrange(3))

    async def _everywhere(self) -> set[str]:
        """Return every content that is in a tree, in a trash, or in the remote's history."""
        async for version in self._far.remote.list_versions(self._far.store_id):
            if version.id not in self._history:
                found = await self._far.remote.retrieve_version(self._far.store_id, version.id)
                self._history[version.id] = found.content
        kept = {content for host in self.hosts for content in (*host.tree().values(), *host.trash())}
        return kept | {content for content in self._history.values() if content is not None}
