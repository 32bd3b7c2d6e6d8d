"""What a worker survives: answers nobody expects, a disk that refuses, a database in other hands."""

import asyncio
import errno
import sqlite3
from contextlib import closing, suppress
from typing import NoReturn

import pytest
from fakes import FakeClock, Fault, FlakyRemote, MemoryRemote
from hosts import Far, Host, MakeHost

from memfs.core.errors import Conflicted, InvalidRequest, MemfsError, RemoteUnavailable, StateUnavailable
from memfs.state.summary import summaries
from worker.execute import AT_ONCE
from worker.gate import STOPPED_S

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("no_change_feed")]

NO_SPACE = OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture
def flaky(remote: MemoryRemote) -> FlakyRemote:
    return FlakyRemote(remote)


@pytest.fixture
def host(make_host: MakeHost, flaky: FlakyRemote) -> Host:
    return make_host(remote=flaky)


async def turns(host: Host, count: int = 3) -> None:
    """Let the runner take turns, with a listing that it began ended before the next."""
    for _ in range(count):
        await host.runner._guarded_turn()
        if host.runner._listing._task is not None:
            await asyncio.wait([host.runner._listing._task])


async def later_turns(host: Host, clock: FakeClock) -> None:
    """Let everything that waits come due."""
    for _ in range(4):
        clock.advance(STOPPED_S + 1)
        await turns(host)


@pytest.mark.expect_log("does not sync for now")
@pytest.mark.parametrize("call", ["list_memories", "list_versions"])
@pytest.mark.parametrize("error", [InvalidRequest("nobody expects this"), Conflicted("nor this")])
async def test_an_answer_that_nobody_expects_does_not_end_the_worker(
    error: MemfsError, call: str, host: Host, far: Far, flaky: FlakyRemote, clock: FakeClock
) -> None:
    await far.write("first.md", "first\n")
    await turns(host)
    flaky.faults = [Fault(call, error)]
    await far.write("theirs.md", "theirs\n")
    host.write("mine.md", "mine\n")
    host.runner.want_everything()
    await turns(host)

    assert [(error.code, str(error))] == [one.sync_error for one in summaries(host.layout)]

    await later_turns(host, clock)
    assert {"first.md": "first\n", "theirs.md": "theirs\n", "mine.md": "mine\n"} == host.tree()
    assert host.tree() == await far.contents()
    assert [None] == [one.sync_error for one in summaries(host.layout)]


@pytest.mark.parametrize("call", ["create_memory", "update_memory", "delete_memory"])
async def test_a_refused_change_that_nobody_expects_is_a_problem_of_its_path(
    call: str, host: Host, far: Far, flaky: FlakyRemote
) -> None:
    host.write("edited.md", "base\n")
    host.write("removed.md", "base\n")
    await host.sync()
    host.write("edited.md", "edited\n")
    host.write("new.md", "new\n")
    host.remove("removed.md")
    flaky.faults = [Fault(call, Conflicted("nobody expects this"))]

    left = await host.sync(wait_s=60.0)

    assert [] == left
    assert {"edited.md": "edited\n", "new.md": "new\n"} == host.tree() == await far.contents()
    assert {} == host.problems()


@pytest.mark.expect_log("does not sync for now")
async def test_a_full_disk_during_the_first_download_is_waited_for(
    host: Host, far: Far, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await far.write("theirs.md", "theirs\n")
    with monkeypatch.context() as full:
        full.setattr(host.replica.contents, "put", refuse)
        await turns(host)
        await turns(host)
    (summary,) = summaries(host.layout)

    assert summary.sync_error is None or "state_unavailable" == summary.sync_error[0]
    assert host.runner.has_synced.is_set()
    await later_turns(host, clock)
    assert {"theirs.md": "theirs\n"} == host.tree()
    assert [None] == [one.sync_error for one in summaries(host.layout)]


@pytest.mark.expect_log("does not sync for now")
async def test_a_tree_that_cannot_be_read_for_now_is_looked_at_again(
    host: Host, far: Far, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await turns(host)
    host.write("note.md", "text\n")
    host.runner.changed(b"note.md")
    clock.advance(1.0)
    with monkeypatch.context() as exhausted:
        exhausted.setattr(host.replica.tree, "read", refuse)
        await turns(host)
    assert {} == await far.contents()

    await later_turns(host, clock)
    assert {"note.md": "text\n"} == await far.contents()


@pytest.mark.expect_log("does not sync for now")
async def test_a_database_in_other_hands_is_waited_for(host: Host, far: Far, clock: FakeClock) -> None:
    await turns(host)
    host.replica.state._connection.execute("PRAGMA busy_timeout = 1")
    with closing(sqlite3.connect(host.store.database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        host.write("note.md", "text\n")
        host.runner.changed(b"note.md")
        clock.advance(1.0)
        await turns(host)
        other.execute("ROLLBACK")

    await later_turns(host, clock)
    assert {"note.md": "text\n"} == await far.contents()
    assert ["/note.md"] == list(host.replica.state.baseline.paths)


@pytest.mark.expect_log("does not sync for now")
async def test_a_drain_waits_for_a_database_in_other_hands(host: Host, far: Far, clock: FakeClock) -> None:
    await turns(host)
    host.write("note.md", "text\n")
    host.replica.state._connection.execute("PRAGMA busy_timeout = 1")
    other = sqlite3.connect(host.store.database, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    async def sleep(seconds: float) -> None:
        if other.in_transaction:
            other.execute("ROLLBACK")
        await clock.sleep(seconds)

    host.runner._sleep = sleep
    with closing(other):
        await host.runner.drain(20.0)

    assert {"note.md": "text\n"} == await far.contents()
    assert [] == host.runner.unsynced()


async def test_once_tells_that_the_disk_refuses(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    host.write("note.md", "text\n")
    monkeypatch.setattr(host.replica.tree, "read", refuse)

    with pytest.raises(StateUnavailable, match="Notes cannot be used for now: No space left"):
        await host.sync()


async def test_a_write_that_was_lost_by_the_database_is_known_to_be_lost(host: Host) -> None:
    """What is known in memory never runs ahead of the database, else the next worker would start from less."""
    host.write("note.md", "one\n")
    await host.sync()
    state = host.replica.state
    row = state.baseline.get(next(iter(state.baseline.paths)))
    assert row is not None

    with suppress(LookupError), state.transaction():
        state.baseline.drop(row.path)
        raise LookupError

    assert row == state.baseline.get(row.path)


@pytest.mark.expect_log("does not sync for now")
async def test_one_path_that_fails_holds_up_no_others(make_host: MakeHost, far: Far, remote: MemoryRemote) -> None:
    """A gateway may refuse one content for ever: what comes after it in the order of paths goes out all the same."""

    class RefusesOne(FlakyRemote):
        async def create_memory(self, store_id: str, path: str, content: str) -> object:
            if path == "/000.md":
                raise RemoteUnavailable("the gateway does not like this one")
            return await remote.create_memory(store_id, path, content)

    host = make_host(remote=RefusesOne(remote))
    names = [f"{number:03}.md" for number in range(AT_ONCE + 10)]
    for name in names:
        host.write(name, f"{name}\n")
    await turns(host)

    assert set(names) - {"000.md"} == set(await far.contents())
    assert ["/000.md"] == host.runner.unsynced()


def refuse(*_: object) -> NoReturn:
    raise NO_SPACE
