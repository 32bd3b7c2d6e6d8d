"""What the worker tells while it works: the line for its supervisor, and how far a first download is."""

import logging
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes import FakeClock, Fault, FlakyRemote, MemoryRemote
from hosts import Far, Host, MakeHost

from memfs.core.errors import RemoteUnavailable
from worker.telling import LOG_S, Telling, not_synced, status

pytestmark = pytest.mark.anyio


@pytest.fixture
def remote(clock: FakeClock) -> MemoryRemote:
    return MemoryRemote(now=clock.now, full_page_size=2)


@pytest.fixture
def flaky(remote: MemoryRemote) -> FlakyRemote:
    return FlakyRemote(remote)


@pytest.fixture
def host(make_host: MakeHost, flaky: FlakyRemote) -> Host:
    return make_host(remote=flaky)


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "n"))
        listener.setblocking(False)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "n"))
        yield listener


class Seen:
    """What a bar was told."""

    def __init__(self) -> None:
        self.shown: list[tuple[int, int | None]] = []
        self.closed = 0

    def show(self, done: int, total: int | None) -> None:
        self.shown.append((done, total))

    def close(self) -> None:
        self.closed += 1


async def in_the_middle(host: Host, flaky: FlakyRemote, far: Far) -> None:
    """Leave a first download of three memories, one of them in a directory, before that directory."""
    for path in ("/0.md", "/1.md", "/deep/2.md"):
        await far.remote.create_memory(far.store_id, path, "text\n")
    flaky.faults = [Fault(call="list_memories", error=RemoteUnavailable("away"), skip=2)]
    with pytest.raises(RemoteUnavailable):
        await host.replica.far.download()


def tell(host: Host, telling: Telling) -> None:
    telling.tell([host.runner], host.clock.monotonic())


async def test_the_line_tells_the_download_then_what_is_pending_then_that_all_is_synced(
    host: Host, flaky: FlakyRemote, far: Far
) -> None:
    assert "looking at both sides" == status([host.runner])
    await in_the_middle(host, flaky, far)
    assert "downloading 2 memories, and more to come" == status([host.runner])
    await host.replica.far.download()
    assert "downloading 3 memories, 0 are here" == status([host.runner])
    await host.sync()
    host.runner.has_synced.set()
    assert "synced" == status([host.runner])
    host.write("a.md", "mine\n")
    await host.runner.scan()
    host.runner._standing._look()
    assert "1 pending" == status([host.runner])


@pytest.mark.expect_log("does not sync for now")
async def test_a_store_that_does_not_sync_is_named_with_why_and_with_what_it_owes(host: Host) -> None:
    await host.sync()
    host.write("a.md", "mine\n")
    await host.runner.scan()
    host.runner.failed(RemoteUnavailable("nobody answers"))

    assert "notes: nobody answers; 1 pending" == status([host.runner])


async def test_a_download_is_told_to_the_supervisor_and_shown_until_it_ends(
    host: Host, flaky: FlakyRemote, far: Far, told: socket.socket
) -> None:
    seen = Seen()
    telling = Telling(list, seen)

    await in_the_middle(host, flaky, far)
    tell(host, telling)
    tell(host, telling)
    await host.replica.far.download()
    tell(host, telling)
    await host.sync()
    host.runner.has_synced.set()
    tell(host, telling)

    assert [
        b"STATUS=downloading 2 memories, and more to come\nX_MEMFS_DOWNLOAD=0/",
        b"STATUS=downloading 3 memories, 0 are here\nX_MEMFS_DOWNLOAD=0/3",
        b"STATUS=synced\nX_MEMFS_DOWNLOAD=",
    ] == [told.recv(200) for _ in range(3)]
    with pytest.raises(BlockingIOError):
        told.recv(200)
    assert ([(0, None), (0, 3)], 1) == (seen.shown, seen.closed)


async def test_without_a_terminal_the_log_tells_of_a_download_now_and_then(
    host: Host, flaky: FlakyRemote, far: Far, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "worker.telling")
    telling = Telling(list, None)

    await in_the_middle(host, flaky, far)
    tell(host, telling)
    await host.replica.far.download()
    tell(host, telling)
    host.clock.advance(LOG_S)
    await far.remote.create_memory(far.store_id, "/3.md", "text\n")
    await host.replica.far.download()
    tell(host, telling)
    await host.sync()
    host.runner.has_synced.set()
    tell(host, telling)

    assert [
        "downloading 2 memories, and more to come",
        "downloading 4 memories, 0 are here",
        "downloaded; 4 memories are here",
    ] == [one.message for one in caplog.records if one.name == "worker.telling"]


def test_what_is_not_synced_is_named_up_to_ten() -> None:
    many = [f"notes/{number}.md" for number in range(12)]

    assert "0 paths are not synced" == not_synced([])
    assert "1 path is not synced: notes/0.md" == not_synced(many[:1])
    assert not_synced(many).endswith("notes/9.md and 2 more")
