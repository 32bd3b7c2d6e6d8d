"""The change feed: followed while nothing happens, its every change taken in, its gaps healed by a listing."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime

import pytest
from fakes import FakeClock, Fault, FlakyRemote, MemoryRemote
from hosts import Far, Host, MakeHost

from memfs.core.errors import RemoteUnavailable

pytestmark = pytest.mark.anyio

FEW = 2_000


class TickingClock(FakeClock):
    """The real one: here the runner runs by itself."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@pytest.fixture
def clock() -> FakeClock:
    return TickingClock()


@pytest.fixture
def flaky(remote: MemoryRemote) -> FlakyRemote:
    return FlakyRemote(remote)


@pytest.fixture
def host(make_host: MakeHost, flaky: FlakyRemote) -> Host:
    return make_host(remote=flaky)


@asynccontextmanager
async def running(host: Host) -> AsyncIterator[None]:
    """Have the runner take turns by itself until the end of the block."""
    task = asyncio.create_task(host.runner.run())
    await eventually(lambda: host.replica.far.has_feed and host.runner._following._work.is_there)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def eventually(question: Callable[[], bool]) -> None:
    for _ in range(FEW):
        if question():
            return
        await asyncio.sleep(0.005)
    pytest.fail("it did not happen")


def text(host: Host, name: str) -> str | None:
    path = host.store.tree / name
    return path.read_text() if path.exists() else None


async def test_changes_come_in_as_they_are_told_and_a_rename_is_one(host: Host, far: Far) -> None:
    kept = await far.remote.create_memory(far.store_id, "/old.md", "kept\n")
    async with running(host):
        await eventually(lambda: text(host, "old.md") == "kept\n")
        inode = (host.store.tree / "old.md").stat().st_ino
        await far.write("new.md", "new\n")
        await eventually(lambda: text(host, "new.md") == "new\n")
        await far.remote.update_memory(far.store_id, kept.id, path="/moved.md")
        await eventually(lambda: text(host, "moved.md") == "kept\n" and text(host, "old.md") is None)
        assert inode == (host.store.tree / "moved.md").stat().st_ino
        await far.remote.delete_memory(far.store_id, kept.id)
        await eventually(lambda: text(host, "moved.md") is None)


async def test_what_the_host_pushed_itself_is_not_fetched(host: Host, flaky: FlakyRemote) -> None:
    async with running(host):
        (host.store.tree / "a.md").write_text("mine\n")
        host.runner.changed(b"a.md")
        await eventually(lambda: flaky.calls["create_memory"] == 1)
        await eventually(lambda: flaky.calls["read_changes"] >= 3)

    assert 0 == flaky.calls["retrieve_memory"]


async def test_changes_that_are_not_kept_any_more_are_found_by_a_listing(
    host: Host, far: Far, remote: MemoryRemote, flaky: FlakyRemote
) -> None:
    async with running(host):
        pass
    listed = flaky.calls["list_memories"]
    await far.write("missed.md", "missed\n")
    remote.forget_changes(far.store_id)

    async with running(host):
        await eventually(lambda: text(host, "missed.md") == "missed\n")
        await far.write("after.md", "after\n")
        await eventually(lambda: text(host, "after.md") == "after\n")

    assert flaky.calls["list_memories"] > listed


@pytest.mark.expect_log("does not sync for now")
async def test_a_feed_that_fails_is_followed_again_where_it_stopped(host: Host, far: Far, flaky: FlakyRemote) -> None:
    async with running(host):
        flaky.faults = [Fault("read_changes", RemoteUnavailable("away"), times=1)]
        await far.write("a.md", "one\n")  # wakes the request that waits; the next one fails
        await far.write("b.md", "two\n")
        await eventually(lambda: (text(host, "a.md"), text(host, "b.md")) == ("one\n", "two\n"))
        await far.write("c.md", "three\n")
        await eventually(lambda: text(host, "c.md") == "three\n")


async def test_an_archived_store_is_told_by_the_feed(host: Host, far: Far, flaky: FlakyRemote) -> None:
    told: list[str] = []
    host.runner.on_archived = lambda: told.append("archived")
    async with running(host):
        await far.remote.archive_store(far.store_id)
        await eventually(lambda: told == ["archived"])

    assert 0 == flaky.calls["retrieve_store"]


async def test_a_server_that_answers_at_once_is_not_asked_without_a_pause(
    host: Host, flaky: FlakyRemote, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a server that is about to stop does with everyone who waits."""

    async def at_once(*_: object, **__: object) -> bool:
        flaky.calls["read_changes"] += 1
        await asyncio.sleep(0)
        return False

    async with running(host):
        pass
    asked = flaky.calls["read_changes"]
    monkeypatch.setattr(host.replica.far, "_read_changes", at_once)
    async with running(host):
        await asyncio.sleep(0.2)

    assert flaky.calls["read_changes"] - asked <= 3


async def test_what_a_redacted_version_held_is_forgotten_as_soon_as_the_feed_tells_it(host: Host, far: Far) -> None:
    await far.write("note.md", "secret\n")
    await far.write("kept.md", "kept\n")
    async with running(host):
        await eventually(lambda: text(host, "note.md") == "secret\n")
        redacted = (await far.memories())["/note.md"].memory_version_id
        # At once: the file is displaced only after the feed told that its text is to be forgotten.
        await far.remove("note.md")
        await far.remote.redact_version(far.store_id, redacted)

        await eventually(lambda: text(host, "note.md") is None)
        await eventually(lambda: host.trash() == [])
        await eventually(lambda: "secret\n" not in [one.read_text() for one in host.store.base.iterdir()])
