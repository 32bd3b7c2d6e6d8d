"""All operations, in any order, with the worker's pulls in between, are what the reference model says."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from fs.compared import LIMITS, STORES, Source
from fs.machine import Machine
from fs.worlds import InProcess, ThroughMount, World, until
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from memfs.core.tree_requests import Ping, Refresh

STEPS = 50
DROP_CACHES = Path("/proc/sys/vm/drop_caches")


def run(source: Source, check_left: Callable[[World], None]) -> None:
    # Without the phase that explains: it traces every line, and takes longer than a test may.
    phases = [Phase.reuse, Phase.generate, Phase.shrink]
    chosen = settings(stateful_step_count=STEPS, suppress_health_check=list(HealthCheck), phases=phases)
    run_state_machine_as_test(lambda: Machine(source, check_left), settings=chosen)


@pytest.mark.parametrize("asks_to_open", [False, True], ids=["kernel-opens", "asks-to-open"])
def test_any_calls_in_process_are_what_the_model_says(asks_to_open: bool, quick: Path) -> None:
    numbers = iter(range(1_000_000))

    def make() -> World:
        directory = quick / str(next(numbers))
        directory.mkdir()
        return InProcess(directory, STORES, limits=LIMITS, asks_to_open=asks_to_open)

    def check_left(world: World) -> None:
        assert isinstance(world, InProcess)
        world.kernel.drop_caches()
        assert {} == dict(world.kernel.lookups)
        assert 1 + len(STORES) == len(world.kernel.filesystem._mounted.table)
        assert set() == world.kernel.filesystem._mounted.descriptors._recent.keys()

    run(Source(make, again=False), check_left)


@pytest.mark.parametrize("open_upcalls", ["auto", "always"])
def test_any_calls_through_a_mount_are_what_the_model_says(open_upcalls: str, quick: Path) -> None:
    numbers = iter(range(1_000_000))

    def make() -> World:
        directory = quick / str(next(numbers))
        directory.mkdir()
        return ThroughMount(directory, STORES, limits=LIMITS, open_upcalls=open_upcalls)

    source = Source(make, again=True)
    try:
        mount = source.world()
        assert isinstance(mount, ThroughMount)
        before = len(mount.descriptors)
        run(source, lambda _world: None)
        forget_everything(mount)
        until(lambda: len(mount.descriptors) == before)
        assert "Traceback" not in mount.log
        assert "WARNING" not in mount.log
    finally:
        source.close()


def forget_everything(mount: World) -> None:
    """Have the kernel give back every entry that it knows; the mount's table is empty then."""
    mount.ask(Refresh())  # The entries' caches go also where nobody may drop the whole machine's.
    if os.access(DROP_CACHES, os.W_OK):
        DROP_CACHES.write_text("2")
    until(lambda: mount.ask(Ping()).facts["nodes"] == 1 + len(STORES))
