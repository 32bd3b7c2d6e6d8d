"""What the end of a session does to the worker of its stores, and what its token may lack."""

import pytest
from fakes import FakeClock, Fault, FlakyRemote, MemoryRemote
from hosts import Far, Host, MakeHost

from memfs.api.sessions import RemoteSession
from memfs.core.errors import PermissionRefused, SessionEnded
from memfs.remote.retrying import Retrying
from memfs.state.summary import summaries
from worker.attaching import AttachedSession

pytestmark = pytest.mark.anyio


@pytest.fixture
def session() -> AttachedSession:
    return AttachedSession("sesn_1")


@pytest.fixture
def host(make_host: MakeHost, remote: MemoryRemote, session: AttachedSession, clock: FakeClock) -> Host:
    remote.sessions["sesn_1"] = RemoteSession(id="sesn_1", resources=[])
    return make_host(remote=Retrying(remote, check=session.check, sleep=clock.sleep))


@pytest.mark.expect_log("does not sync for now")
async def test_once_the_session_is_over_nothing_goes_either_way_and_nothing_is_lost(
    host: Host, far: Far, remote: MemoryRemote, session: AttachedSession
) -> None:
    """A key that still works is no reason to push: a drain does not, and neither does a restarted pause."""
    host.write("before.md", "pushed\n")
    assert [] == await host.sync()
    remote.sessions["sesn_1"] = RemoteSession(id="sesn_1", resources=[], status="terminated")
    assert await session.look(remote) is not None
    host.write("after.md", "kept\n")
    await far.remote.create_memory(far.store_id, "/remote.md", "not ours\n")

    with pytest.raises(SessionEnded):
        await host.sync()
    await host.runner.drain(5.0)

    assert {"after.md": "kept\n", "before.md": "pushed\n"} == host.tree()
    assert {"/before.md", "/remote.md"} == {one.path async for one in far.remote.list_memories(far.store_id)}
    (summary,) = summaries(host.layout)
    assert ("session_ended", ("/after.md",)) == (summary.state(is_watched=True), summary.pending_paths)


async def test_a_token_that_may_not_ask_about_the_store_does_not_stop_its_sync(
    make_host: MakeHost, remote: MemoryRemote
) -> None:
    refused = Fault(call="retrieve_store", error=PermissionRefused("memories alone"), times=9)
    host = make_host("b", remote=FlakyRemote(remote, [refused]))

    assert not await host.replica.far.is_archived()
