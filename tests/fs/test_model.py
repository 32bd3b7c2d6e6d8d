"""All operations, in any order, with the worker's pulls in between, are what the reference model says.

Hypothesis looks for a short sequence that fails, and shrinks it; a seeded walk goes far, and meets every limit.
"""

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from fs.compared import LIMITS, STORES, Source
from fs.machine import Machine
from fs.walk import Walk
from fs.worlds import InProcess, ThroughMount, World, until
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from memfs.core.tree_requests import Ping, Refresh

STEPS = 50
WALK_STEPS = 400
SEEDS = [range(10), pytest.param(range(1_000, 1_200), marks=[pytest.mark.long, pytest.mark.timeout(900)])]
FEW_DESCRIPTORS = 8
"""Just more than the longest path here needs, so that they are closed and opened again all the time."""
DROP_CACHES = Path("/proc/sys/vm/drop_caches")


def walk(source: Source, check_left: Callable[[World], None], seeds: range) -> None:
    """Walk as `fs.walk` does."""
    for seed in seeds:
        machine = Machine(source, check_left)
        machine.failed = True
        try:
            one = Walk(machine, seed)
            for _ in range(WALK_STEPS):
                one.go()
            machine.failed = False
        finally:
            machine.teardown()


def run(source: Source, check_left: Callable[[World], None]) -> None:
    """Have hypothesis try, and shrink what fails."""
    # Without the phase that explains: it traces every line, and takes longer than a test may.
    phases = [Phase.reuse, Phase.generate, Phase.shrink]
    chosen = settings(stateful_step_count=STEPS, suppress_health_check=list(HealthCheck), phases=phases)
    try:
        run_state_machine_as_test(lambda: Machine(source, check_left), settings=chosen)
    except BaseException:
        source.close()
        raise


class Made:
    """Makes a world in a directory of its own each time."""

    def __init__(self, directory: Path) -> None:
        self._directory, self._numbers = directory, itertools.count()

    def in_process(self, *, asks_to_open: bool) -> World:
        world = InProcess(self._new(), STORES, limits=LIMITS, asks_to_open=asks_to_open)
        world.kernel.filesystem._mounted.descriptors._capacity = FEW_DESCRIPTORS
        return world

    def through_mount(self, open_upcalls: str) -> World:
        return ThroughMount(self._new(), STORES, limits=LIMITS, open_upcalls=open_upcalls)

    def _new(self) -> Path:
        made = self._directory / str(next(self._numbers))
        made.mkdir()
        return made


def check_left(world: World) -> None:
    """Check that nothing is left of a run in this process once the kernel forgot everything."""
    assert isinstance(world, InProcess)
    world.kernel.drop_caches()
    assert {} == dict(world.kernel.lookups)
    assert 1 + len(STORES) == len(world.kernel.filesystem._mounted.table)
    assert set() == world.kernel.filesystem._mounted.descriptors._recent.keys()


@contextmanager
def leaves_nothing(source: Source) -> Iterator[None]:
    """Check that a mount has what it had at the start, once the kernel forgot everything."""
    try:
        mount = source.world()
        assert isinstance(mount, ThroughMount)
        before = mount.descriptors
        yield
        assert mount is source.world()
        forget_everything(mount)
        until(lambda: mount.descriptors == before)
        assert "Traceback" not in mount.log
        assert "WARNING" not in mount.log
    finally:
        source.close()


@pytest.mark.parametrize("asks_to_open", [False, True], ids=["kernel-opens", "asks-to-open"])
def test_any_calls_in_process_are_what_the_model_says(asks_to_open: bool, quick: Path) -> None:
    run(Source(partial(Made(quick).in_process, asks_to_open=asks_to_open), again=False), check_left)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("open_upcalls", ["auto", "always"])
def test_any_calls_through_a_mount_are_what_the_model_says(open_upcalls: str, quick: Path) -> None:
    source = Source(partial(Made(quick).through_mount, open_upcalls), again=True)
    with leaves_nothing(source):
        run(source, lambda _world: None)


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("asks_to_open", [False, True], ids=["kernel-opens", "asks-to-open"])
def test_a_long_walk_in_process_is_what_the_model_says(asks_to_open: bool, seeds: range, quick: Path) -> None:
    source = Source(partial(Made(quick).in_process, asks_to_open=asks_to_open), again=False)
    walk(source, check_left, seeds)


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("open_upcalls", ["auto", "always"])
def test_a_long_walk_through_a_mount_is_what_the_model_says(open_upcalls: str, seeds: range, quick: Path) -> None:
    source = Source(partial(Made(quick).through_mount, open_upcalls), again=True)
    with leaves_nothing(source):
        walk(source, lambda _world: None, seeds)


def forget_everything(mount: World) -> None:
    """Have the kernel give back every entry that it knows; the mount's table is empty then."""
    mount.ask(Refresh())  # The entries' caches go also where nobody may drop the whole machine's.
    if os.access(DROP_CACHES, os.W_OK):
        DROP_CACHES.write_text("2")
    until(lambda: mount.ask(Ping()).facts["nodes"] == 1 + len(STORES))
