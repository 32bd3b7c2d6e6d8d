"""Which stores a worker takes while the remote is away, and when a session is over."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from fakes import Fault, FlakyRemote, MemoryRemote

from memfs.api.sessions import RemoteSession
from memfs.core.attachment import Access, Attachment, WantedStore
from memfs.core.errors import AuthenticationFailed, SessionEnded
from memfs.state.attachments import attach
from memfs.state.layout import Layout
from worker.attaching import AttachedSession, Attaching


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def attachment(name: str) -> Attachment:
    return Attachment(store_id=f"memstore_{name}", name=name, slug=name, access=Access.READ_WRITE)


def attaching(layout: Layout, *names: str, session_id: str = "") -> Attaching:
    session = AttachedSession(session_id) if session_id else None
    return Attaching(
        layout, MemoryRemote(), [WantedStore(store=one, access=Access.READ_ONLY) for one in names], session
    )


def test_stores_that_are_wanted_again_are_known_with_the_access_wanted_now(tmp_path: Path) -> None:
    attach(Layout(tmp_path), [attachment("a"), attachment("b")])

    found = attaching(Layout(tmp_path), "b", "c").known()

    assert [("b", Access.READ_ONLY)] == [(one.name, one.access) for one in found]


def test_a_sessions_stores_are_known_to_that_session_alone(tmp_path: Path) -> None:
    """While the remote is away, a session must not be shown the stores of the one before it."""
    layout = Layout(tmp_path)
    attaching(layout, session_id="sesn_1").record([attachment("a")])

    assert [attachment("a")] == attaching(layout, session_id="sesn_1").known()
    assert [] == attaching(layout, session_id="sesn_2").known()
    attaching(layout).record([attachment("a")])
    assert [] == attaching(layout, session_id="sesn_1").known()


@pytest.mark.anyio
async def test_a_session_that_is_over_is_told_once_and_refuses_every_call() -> None:
    remote, session = MemoryRemote(), AttachedSession("sesn_1")
    remote.sessions["sesn_1"] = RemoteSession(id="sesn_1", resources=[])
    assert await session.look(remote) is None
    session.check()

    over = {"id": "sesn_1", "resources": [], "archived_at": datetime(2026, 11, 30, tzinfo=UTC)}
    remote.sessions["sesn_1"] = RemoteSession.model_validate(over)
    first, second = await session.look(remote), await session.look(remote)

    assert first is not None
    assert "sesn_1 was archived" in first.message
    assert second is None
    with pytest.raises(SessionEnded, match="sesn_1 was archived"):
        session.check()


@pytest.mark.anyio
async def test_a_session_that_was_deleted_is_over_and_goes_on_should_it_come_back() -> None:
    remote, session = MemoryRemote(), AttachedSession("sesn_1")

    ended = await session.look(remote)

    assert ended is not None
    assert "sesn_1 is gone" in ended.message
    remote.sessions["sesn_1"] = RemoteSession(id="sesn_1", resources=[])
    assert await session.look(remote) is None
    session.check()


@pytest.mark.anyio
async def test_a_refused_credential_is_left_to_the_stores_own_calls() -> None:
    session = AttachedSession("sesn_1")
    flaky = FlakyRemote(MemoryRemote(), [Fault(call="retrieve_session", error=AuthenticationFailed("no"))])

    assert await session.look(flaky) is None
    session.check()
