"""The mount hears of whatever the worker records: about paths, and about how the store stands."""

import asyncio

import pytest
from fakes import FakeClock, Fault, FlakyRemote, MemoryRemote
from hosts import Far, Host, MakeHost

from memfs.core.errors import RemoteUnavailable
from memfs.core.tree_requests import Changed
from memfs.state.summary import summaries
from worker.standing import SYNCED_S

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("no_change_feed")]


@pytest.fixture
def flaky(remote: MemoryRemote) -> FlakyRemote:
    return FlakyRemote(remote)


@pytest.fixture
def host(make_host: MakeHost, flaky: FlakyRemote) -> Host:
    return make_host(remote=flaky)


@pytest.fixture
def told(host: Host) -> list[Changed]:
    found: list[Changed] = []
    host.replica.tell = found.append
    return found


def paths(told: list[Changed]) -> set[str]:
    return {path for one in told for path in one.paths}


async def turns(host: Host, count: int = 3) -> None:
    for _ in range(count):
        await host.runner._guarded_turn()
        if host.runner._listing._task is not None:
            await asyncio.wait([host.runner._listing._task])


async def test_each_step_of_a_memory_is_told(host: Host, told: list[Changed], far: Far) -> None:
    host.write("a.md", "text")
    await host.sync()
    assert {"/a.md"} == paths(told)
    assert {far.store_id} == {one.store_id for one in told}

    told.clear()
    host.write("a.md", "newer")
    await host.sync()
    assert {"/a.md"} == paths(told)

    told.clear()
    (host.store.tree / "a.md").unlink()
    await host.sync()
    assert {"/a.md"} == paths(told)


async def test_what_is_refused_is_told_though_nothing_can_be_done(host: Host, told: list[Changed]) -> None:
    await turns(host)
    told.clear()

    host.write("bad.md", b"\xff")
    host.runner.want_everything()
    await turns(host)

    assert {"/bad.md"} == paths(told)


async def test_both_ends_of_a_conflict_are_told_and_both_of_its_end(host: Host, told: list[Changed], far: Far) -> None:
    host.write("a.md", "ours")
    await far.write("a.md", "theirs")
    await host.sync()
    [copy] = [name for name in host.tree() if ".conflict-" in name]
    assert {"/a.md", f"/{copy}"} <= paths(told)

    told.clear()
    (host.store.tree / copy).unlink()
    await host.sync()

    assert {"/a.md", f"/{copy}"} <= paths(told)


@pytest.mark.expect_log("does not sync for now")
async def test_a_remote_that_goes_and_comes_back_is_told(
    host: Host, told: list[Changed], flaky: FlakyRemote, clock: FakeClock
) -> None:
    await turns(host)
    told.clear()
    flaky.faults = [Fault("list_memories", RemoteUnavailable("nobody answers"), times=100)]
    clock.advance(1000)
    await turns(host)
    assert told
    assert ("remote_unavailable",) == tuple(one.sync_error[0] for one in summaries(host.layout) if one.sync_error)

    told.clear()
    host.write("a.md", "text")
    host.runner.want_everything()
    host.runner._standing._gate.failed(RemoteUnavailable("still nobody"))
    await turns(host)
    assert {"/a.md"} == paths(told)

    flaky.faults = []
    told.clear()
    clock.advance(1000)
    await turns(host)
    assert told
    assert [None] == [one.sync_error for one in summaries(host.layout)]


async def test_the_moment_of_the_last_sync_is_told_now_and_then(
    host: Host, told: list[Changed], clock: FakeClock
) -> None:
    await turns(host)
    told.clear()
    await turns(host)
    assert [] == told

    clock.advance(SYNCED_S + 1)
    await turns(host)

    assert {()} == {one.paths for one in told}
