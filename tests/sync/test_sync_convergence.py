"""Three hosts, random programs, lost answers, crashes and halts, by seed: all converge, and nothing is lost.

The same check finds a worker that is broken on purpose.
"""

from collections.abc import Awaitable, Callable

import pytest
from fakes import FakeClock, FlakyRemote, MemoryRemote
from hosts import Far, MakeHost
from simulation import Lost, Simulation

from memfs.core.paths import StorePath
from memfs.core.reconcile import Action
from memfs.state.merges import Merging
from worker import braking, conflicting, cycle, replica
from worker.conflicting import Conflicting
from worker.outcomes import Outcome
from worker.replica import Replica

pytestmark = [pytest.mark.anyio, pytest.mark.expect_log("is halted, nothing is deleted")]

HOSTS = 3
STEPS = 30
LOG = "log.md"
SEEDS = [*range(20), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(100, 400))]
MakeSimulation = Callable[[int], Awaitable[Simulation]]


@pytest.fixture
def simulation(make_host: MakeHost, far: Far, remote: MemoryRemote, clock: FakeClock) -> MakeSimulation:
    async def make(seed: int) -> Simulation:
        flaky = [FlakyRemote(remote) for _ in range(HOSTS)]
        hosts = [make_host(f"{seed}-{index}", remote=one) for index, one in enumerate(flaky)]
        world = Simulation(seed, hosts, flaky, far, clock)
        await world.begin()
        return world

    return make


@pytest.mark.parametrize("seed", SEEDS)
async def test_all_hosts_converge_and_lose_nothing(
    seed: int, simulation: MakeSimulation, far: Far, monkeypatch: pytest.MonkeyPatch
) -> None:
    if seed % 2:
        # Halts keep small stores from most deletions: without brakes, more of them are made.
        monkeypatch.setattr(braking, "too_much", lambda *_: None)
    world = await simulation(seed)
    for _ in range(STEPS):
        await world.step()

    left = await world.heal()

    assert [[]] * HOSTS == left
    trees = [host.tree() for host in world.hosts]
    assert [await far.contents()] * HOSTS == trees


async def appended(world: Simulation, steps: int) -> list[str]:
    """Let every host append to one file while workers die and answers are lost; return all lines."""
    world.hosts[0].write(LOG, "first\n")
    for host in world.hosts:
        await host.sync()
    lines = ["first\n"]
    for _ in range(steps):
        index = world.pick.randrange(HOSTS)
        with (world.hosts[index].store.tree / LOG).open("a") as file:
            lines.append(world.program.line())
            file.write(lines[-1])
        if world.pick.random() < 0.6:
            await world.work(index)
    return lines


@pytest.mark.parametrize("seed", SEEDS)
async def test_appends_of_all_hosts_end_as_all_appends(seed: int, simulation: MakeSimulation, far: Far) -> None:
    world = await simulation(seed)
    lines = await appended(world, STEPS)

    left = await world.heal()

    assert [[]] * HOSTS == left
    contents = await far.contents()
    assert [LOG] == list(contents)
    assert sorted(lines) == sorted(contents[LOG].splitlines(keepends=True))
    assert [contents] * HOSTS == [host.tree() for host in world.hosts]


# ------------------------------------------------------------------------------- a worker that is broken on purpose


async def _without_a_copy(self: Conflicting, path: StorePath) -> Outcome:
    """Put the remote's bytes over two edits that do not merge, and keep nothing."""
    file, memory = self._replica.local.files[path], self._replica.remote.memories[path]
    content = await self._placing.content(path, memory)
    if content is not None:
        await self._placing.replace(path, file, memory.content_sha256, content, force=False)
    return Outcome(read_again=(path,))


def _not_recorded(replica: Replica, merging: Merging) -> bool:
    """Forget that a merge was put in place, as a worker does that records nothing before it asks."""
    is_placed = not (replica.layout.staging / merging.staged).exists()
    with replica.state.transaction():
        replica.state.merges.drop(merging.agreed.path)
    return is_placed


def _over_it(self: Replica, path: StorePath) -> Action:
    """Pull over local edits."""
    action = _action(self, path)
    return Action.PULL if action in {Action.MERGE, Action.CONFLICT} else action


_action = Replica.action


async def test_a_worker_that_keeps_no_copy_is_found(
    simulation: MakeSimulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Conflicting, "conflict", _without_a_copy)

    with pytest.raises(Lost):
        await _walk(simulation)


async def test_a_worker_that_pulls_over_edits_is_found(
    simulation: MakeSimulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Replica, "action", _over_it)

    with pytest.raises(Lost):
        await _walk(simulation)


async def test_a_worker_that_merges_twice_is_found(
    simulation: MakeSimulation, far: Far, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (conflicting, cycle, replica):
        monkeypatch.setattr(module, "settle_merge", _not_recorded)

    assert await _has_wrong_lines(simulation, far)


async def test_a_worker_that_takes_the_remotes_lines_only_is_found(
    simulation: MakeSimulation, far: Far, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conflicting, "merge", lambda _base, remote, _local, _limits: remote)

    assert await _has_wrong_lines(simulation, far)


async def _walk(simulation: MakeSimulation) -> None:
    for seed in range(30):
        world = await simulation(seed)
        for _ in range(STEPS):
            await world.step()


async def _has_wrong_lines(simulation: MakeSimulation, far: Far) -> bool:
    """Tell whether a run ends with a line too many or too few."""
    for seed in range(30):
        world = await simulation(seed)
        lines = await appended(world, STEPS)
        await world.heal()
        contents = await far.contents()
        if sorted(lines) != sorted(contents.pop(LOG).splitlines(keepends=True)) or contents:
            return True
        await far.remove(LOG)
    return False
