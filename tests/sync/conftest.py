"""One remote, a clock that stands still, and as many hosts as a test wants (`hosts`)."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes import FakeClock, MemoryRemote
from hosts import Far, Host, MakeHost

from memfs.core.attachment import Access, Attachment
from memfs.core.conflicts import ConflictPolicy
from memfs.core.limits import Limits
from memfs.remote.protocol import Remote
from memfs.state.layout import Layout


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def remote(clock: FakeClock) -> MemoryRemote:
    return MemoryRemote(now=clock.now)


@pytest.fixture
def no_change_feed(remote: MemoryRemote) -> None:
    """The remote has none, as the hosted API: the worker polls versions, and each listing is an answer."""
    remote.offers_changes = False


@pytest.fixture
async def far(remote: MemoryRemote) -> Far:
    return Far(remote, (await remote.create_store("Notes")).id)


@pytest.fixture
def make_host(tmp_path: Path, far: Far, clock: FakeClock) -> Iterator[MakeHost]:
    """Return a function that makes a host of the store; hosts are closed in the end."""
    hosts: list[Host] = []

    def make(
        name: str = "a",
        *,
        access: Access = Access.READ_WRITE,
        archived: bool = False,
        remote: Remote | None = None,
        limits: Limits | None = None,
        store_id: str = "",
        policy: ConflictPolicy = ConflictPolicy.MERGE,
    ) -> Host:
        attachment = Attachment(
            store_id=store_id or far.store_id, name="Notes", slug="notes", access=access, archived=archived
        )
        host = Host(Layout(tmp_path / name), attachment, remote or far.remote, clock, limits or Limits(), policy)
        hosts.append(host)
        return host

    yield make
    for host in hosts:
        host.close()


@pytest.fixture
def host(make_host: MakeHost) -> Host:
    return make_host()
