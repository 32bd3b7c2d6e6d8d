"""Two hosts, random programs, lost answers and restarts, by seed: both converge, and nothing that rested is lost."""

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from fakes import FakeClock, Fault, FlakyRemote, MemoryRemote
from hosts import Far, Host, MakeHost

from memfs.core.errors import RemoteUnavailable
from worker.resuming import accept, restore

pytestmark = [pytest.mark.anyio, pytest.mark.expect_log("is halted, nothing is deleted")]

NAMES = ["a", "b", "a/b", "a/c", "c/d", "c", "b/x/y"]
CALLS = ["create_memory", "update_memory", "delete_memory", "retrieve_memory", "list_memories"]
STEPS = 25
HEALING_ROUNDS = 8


class Program:
    """Does what programs do to files; what the file system refuses is not done."""

    def __init__(self, pick: random.Random) -> None:
        self._pick = pick
        self._written = 0

    def act(self, host: Host) -> None:
        acts: list[Callable[[Host], None]] = [
            self._write, self._write, self._save, self._remove, self._move,
            self._move_directory, self._remove_directory,
        ]  # fmt: skip
        try:
            self._pick.choice(acts)(host)
        except OSError:
            for left in host.store.tree.glob(".tmp-*"):
                left.unlink()

    def _content(self) -> str:
        self._written += 1
        return f"content {self._written}\n"

    def _write(self, host: Host) -> None:
        host.write(self._pick.choice(NAMES), self._content())

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

    def _one_of(self, host: Host, is_kind: Callable[[Path], bool]) -> Path:
        found = sorted(one for one in host.store.tree.rglob("*") if is_kind(one))
        if not found:
            raise FileNotFoundError
        return self._pick.choice(found)


async def _everywhere(far: Far, hosts: list[Host]) -> set[str | None]:
    """Return every content that is in a tree, in a trash, or in the remote's history."""
    found: set[str | None] = {content for host in hosts for content in (*host.tree().values(), *host.trash())}
    async for version in far.remote.list_versions(far.store_id):
        found.add((await far.remote.retrieve_version(far.store_id, version.id)).content)
    return found


async def _decide(pick: random.Random, host: Host) -> None:
    """End a halt one way or the other, as a person does at some time."""
    if host.replica.state.braking.halt is None:
        return
    if pick.random() < 0.5:
        accept(host.replica)
    else:
        await restore(host.replica)


async def _trouble(pick: random.Random, host: Host, flaky: FlakyRemote) -> bool:
    """Sync under a fault or two; tell whether everything was on both sides."""
    if pick.random() < 0.4:
        away, is_lost = RemoteUnavailable("nobody answers"), pick.random() < 0.6
        flaky.faults = [Fault(pick.choice(CALLS), away, is_lost_answer=is_lost, skip=pick.randrange(3))]
    try:
        return [] == await host.sync(pick.choice([0.0, 3.0]))
    except RemoteUnavailable:
        return False


@pytest.mark.parametrize(
    "seed", [*range(20), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(100, 400))]
)
async def test_both_hosts_converge_and_lose_nothing(
    seed: int, make_host: MakeHost, far: Far, remote: MemoryRemote, clock: FakeClock
) -> None:
    pick = random.Random(seed)
    program = Program(pick)
    flaky = [FlakyRemote(remote), FlakyRemote(remote)]
    hosts = [make_host(f"host{index}", remote=one) for index, one in enumerate(flaky)]
    rested: set[str] = set()
    for _ in range(STEPS):
        index = pick.randrange(2)
        for _ in range(pick.randrange(1, 4)):
            program.act(hosts[index])
        if pick.random() < 0.7 and await _trouble(pick, hosts[index], flaky[index]):
            rested |= set(hosts[index].tree().values())
        if pick.random() < 0.2:
            hosts[index].restart()
        if pick.random() < 0.5:
            with suppress(RemoteUnavailable):
                await _decide(pick, hosts[index])
        clock.advance(pick.choice([0.0, 0.0, 0.0, 1.0, 5.0, 400.0]))

    for one in flaky:
        one.faults = []
    left = []
    for _ in range(HEALING_ROUNDS):
        for host in hosts:
            await _decide(pick, host)
        left = [await host.sync(130.0) for host in hosts]

    assert [[], []] == left
    assert hosts[0].tree() == hosts[1].tree() == await far.contents()
    assert set() == rested - await _everywhere(far, hosts)
