"""Turns of a runner: what it asks of the remote when, and what it does when the remote is away."""

import asyncio
from dataclasses import replace

import pytest
from fakes import FakeClock, Fault, FlakyRemote, MemoryRemote
from hosts import Far, Host, MakeHost

from memfs.core.attachment import Access
from memfs.core.errors import AuthenticationFailed, MemfsError, PermissionRefused, RateLimited, RemoteUnavailable
from memfs.state.summary import summaries
from worker.cycle import Decided
from worker.gate import STOPPED_BASE_S

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("no_change_feed")]


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


async def test_a_first_download_fetches_nothing_twice(host: Host, far: Far, flaky: FlakyRemote) -> None:
    for number in range(45):
        await far.write(f"d{number % 3}/{number}.md", f"{number}\n")

    await turns(host)

    assert 45 == len(host.tree())
    assert 0 == flaky.calls["retrieve_memory"]
    assert 4 == flaky.calls["list_memories"]


async def test_an_idle_poll_is_one_request(host: Host, far: Far, flaky: FlakyRemote, clock: FakeClock) -> None:
    for number in range(150):
        await far.write(f"{number}.md", f"{number}\n")
        clock.advance(0.01)
    await turns(host)
    clock.advance(2.0)
    await turns(host, 1)  # whatever came while the listing ran

    for _ in range(3):
        flaky.calls.clear()
        clock.advance(61.0)
        await turns(host, 1)
    flaky.calls.clear()
    clock.advance(2.0)
    await turns(host, 1)

    assert {"list_versions": 1} == dict(flaky.calls)


async def test_a_remote_edit_costs_one_request_more(host: Host, far: Far, flaky: FlakyRemote, clock: FakeClock) -> None:
    await far.write("note.md", "one\n")
    await turns(host)
    await far.write("note.md", "two\n")
    clock.advance(2.0)
    flaky.calls.clear()
    await turns(host, 1)

    assert {"note.md": "two\n"} == host.tree()
    assert {"list_versions": 1, "retrieve_memory": 1} == dict(flaky.calls)


async def test_what_the_worker_wrote_itself_is_not_fetched(host: Host, flaky: FlakyRemote, clock: FakeClock) -> None:
    await turns(host)
    for content in ("one\n", "two\n"):
        host.write("note.md", content)
        host.runner._scan_due = 0.0
        await turns(host, 1)
    clock.advance(2.0)
    flaky.calls.clear()
    await turns(host, 1)

    assert {"list_versions": 1} == dict(flaky.calls)


async def test_the_feed_brings_every_kind_of_change(host: Host, far: Far, clock: FakeClock) -> None:
    for name in ("edited.md", "moved.md", "deleted.md", "replaced.md"):
        await far.write(name, "before\n")
    await turns(host)

    await far.write("edited.md", "after\n")
    await far.move("moved.md", "d/moved.md")
    await far.remove("deleted.md")
    await far.remove("replaced.md")
    await far.write("replaced.md", "after\n")
    await far.write("made.md", "after\n")
    await far.write("gone-again.md", "never seen\n")
    await far.remove("gone-again.md")
    clock.advance(2.0)
    await turns(host, 1)

    expected = {"edited.md": "after\n", "d/moved.md": "before\n", "replaced.md": "after\n", "made.md": "after\n"}
    assert expected == host.tree() == await far.contents()


async def test_a_listing_finds_what_the_feed_did_not_tell(
    host: Host, far: Far, flaky: FlakyRemote, clock: FakeClock
) -> None:
    await far.write("edited.md", "before\n")
    await far.write("deleted.md", "before\n")
    await turns(host)
    await far.write("edited.md", "after\n")
    await far.remove("deleted.md")
    host.runner._poll_due = clock.monotonic() + 1e9

    clock.advance(301.0)
    flaky.calls.clear()
    await turns(host)

    assert {"edited.md": "after\n"} == host.tree()
    assert 1 == flaky.calls["list_memories"]


async def test_a_settled_edit_goes_out_and_an_unsettled_one_waits(host: Host, far: Far, clock: FakeClock) -> None:
    await turns(host)
    host.write("note.md", "text\n")
    host.runner.changed(b"note.md")

    await turns(host, 1)
    assert {} == await far.contents()
    clock.advance(0.3)
    await turns(host, 1)

    assert {"note.md": "text\n"} == await far.contents()


@pytest.mark.expect_log("does not sync for now")
async def test_local_edits_are_pending_while_the_remote_is_away_and_go_out_afterwards(
    host: Host, far: Far, flaky: FlakyRemote, clock: FakeClock
) -> None:
    await turns(host)
    away = RemoteUnavailable("nobody answers")
    flaky.faults = [Fault(call, away, times=1000) for call in ("create_memory", "list_versions", "list_memories")]
    host.write("note.md", "text\n")
    host.runner._scan_due = 0.0
    clock.advance(2.0)
    await turns(host)

    (summary,) = summaries(host.layout)
    assert ("/note.md",) == summary.pending_paths
    assert ("remote_unavailable", "nobody answers") == summary.sync_error

    flaky.faults = []
    clock.advance(30.0)
    await turns(host)

    (summary,) = summaries(host.layout)
    assert {"note.md": "text\n"} == await far.contents()
    assert () == summary.pending_paths
    assert summary.sync_error is None


@pytest.mark.expect_log("does not sync for now")
async def test_the_remote_is_left_alone_for_as_long_as_it_asks(
    host: Host, flaky: FlakyRemote, clock: FakeClock
) -> None:
    await turns(host)
    flaky.faults = [Fault("list_versions", RateLimited("slow down", retry_after_s=20.0))]
    clock.advance(2.0)
    await turns(host, 1)
    flaky.calls.clear()
    clock.advance(19.0)
    await turns(host)

    assert {} == dict(flaky.calls)


@pytest.mark.expect_log("does not sync for now")
@pytest.mark.parametrize("error", [AuthenticationFailed("not known"), PermissionRefused("not allowed")])
async def test_a_refused_credential_stops_the_store_and_is_said(
    error: MemfsError, host: Host, far: Far, flaky: FlakyRemote, clock: FakeClock
) -> None:
    flaky.faults = [Fault("list_memories", error)]
    host.write("note.md", "text\n")
    await turns(host)

    (summary,) = summaries(host.layout)
    assert (error.code, str(error)) == summary.sync_error
    assert ("/note.md",) == summary.pending_paths
    assert host.runner.has_synced.is_set()

    flaky.calls.clear()
    clock.advance(STOPPED_BASE_S - 1)
    await turns(host)
    assert {} == dict(flaky.calls)

    host.runner.want_everything()
    await turns(host)
    assert {"note.md": "text\n"} == await far.contents()


async def test_a_drain_sends_what_is_owed(host: Host, far: Far) -> None:
    await turns(host)
    host.write("note.md", "text\n")

    await host.runner.drain(20.0)

    assert {"note.md": "text\n"} == await far.contents()
    assert [] == host.runner.unsynced()


@pytest.mark.expect_log("does not sync for now")
async def test_a_drain_gives_up_in_time_and_names_the_rest(host: Host, flaky: FlakyRemote, clock: FakeClock) -> None:
    await turns(host)
    flaky.faults = [Fault("create_memory", RemoteUnavailable("nobody answers"), times=1000)]
    host.write("note.md", "text\n")
    began = clock.monotonic()

    await host.runner.drain(20.0)

    assert ["/note.md"] == host.runner.unsynced()
    assert 20.0 >= clock.monotonic() - began


async def test_a_store_attached_read_only_meanwhile_puts_back_what_deviates(
    host: Host, far: Far, clock: FakeClock
) -> None:
    await far.write("note.md", "theirs\n")
    await turns(host)
    host.write("note.md", "mine\n")

    host.runner.attach(replace(host.attachment, access=Access.READ_ONLY))
    clock.advance(1.0)
    await turns(host)

    assert {"note.md": "theirs\n"} == host.tree() == await far.contents()
    assert ["mine\n"] == host.trash()


@pytest.mark.expect_log("does not sync for now")
async def test_a_program_that_writes_on_and_on_costs_no_comparison_of_what_waits(
    host: Host, flaky: FlakyRemote, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each event wakes the worker; with thousands of paths that wait for the remote, comparing them all would burn."""
    await turns(host)
    flaky.faults = [Fault("create_memory", RateLimited("slow down", retry_after_s=60.0), times=1000)]
    host.write("waits.md", "text\n")
    host.runner.want_everything()
    await turns(host, 1)
    looks: list[int] = []
    look = host.runner._cycle.look

    def counted() -> Decided:
        looks.append(1)
        return look()

    monkeypatch.setattr(host.runner._cycle, "look", counted)
    await turns(host, 1)
    looks.clear()
    for _ in range(20):
        clock.advance(0.01)
        host.runner.changed(b"log.txt")
        await turns(host, 1)

    assert [] == looks


async def test_an_edit_made_behind_many_others_is_not_the_last_to_go(
    make_host: MakeHost, far: Far, remote: MemoryRemote, clock: FakeClock
) -> None:
    class Slow(FlakyRemote):
        async def create_memory(self, store_id: str, path: str, content: str) -> object:
            clock.advance(0.1)
            return await remote.create_memory(store_id, path, content)

    host = make_host(remote=Slow(remote))
    await turns(host)
    for number in range(300):
        host.write(f"{number:03}.md", f"{number}\n")
    host.runner.want_scan()
    clock.advance(1.0)
    await turns(host, 1)
    host.write("urgent.md", "urgent\n")
    host.runner.changed(b"urgent.md")
    await far.write("theirs.md", "theirs\n")
    clock.advance(2.0)
    await turns(host, 1)

    assert "urgent\n" == (await far.contents())["urgent.md"]
    assert "theirs\n" == host.tree()["theirs.md"]
    assert 300 > len(await far.contents())
    await turns(host, 20)
    assert host.tree() == await far.contents()


async def test_a_store_that_is_archived_is_noticed_though_nothing_is_written(
    host: Host, far: Far, clock: FakeClock
) -> None:
    noticed: list[bool] = []
    host.runner.on_archived = lambda: noticed.append(True)
    await far.write("note.md", "one\n")
    await turns(host)

    clock.advance(61.0)
    await turns(host, 1)
    assert noticed == []
    await far.remote.archive_store(far.store_id)
    clock.advance(61.0)
    await turns(host, 1)

    assert noticed == [True]


async def test_the_moment_of_the_last_sync_does_not_age_while_nothing_is_owed(
    host: Host, far: Far, clock: FakeClock
) -> None:
    await far.write("note.md", "one\n")
    await turns(host)
    (before,) = summaries(host.layout)

    clock.advance(600.0)
    await turns(host, 2)
    (after,) = summaries(host.layout)

    assert before.last_sync_at is not None
    assert after.last_sync_at is not None
    assert after.last_sync_at >= before.last_sync_at + 600.0
