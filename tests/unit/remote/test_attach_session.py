"""A session's stores become attachments as the session has them, or one line says why not."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from fakes import Fault, FlakyRemote, MemoryRemote

from memfs.api.sessions import RemoteSession
from memfs.core.attachment import Access, Attachment
from memfs.core.errors import InvalidRequest, NotFound, PermissionRefused, RemoteUnavailable, SessionEnded
from memfs.remote.attach import resolve_session
from memfs.remote.retrying import Retrying

pytestmark = pytest.mark.anyio


def session(*resources: Mapping[str, Any], **fields: Any) -> RemoteSession:
    return RemoteSession.model_validate({"id": "sesn_1", "resources": list(resources), **fields})


async def with_store(*, name: str = "Team Notes") -> tuple[MemoryRemote, dict[str, Any]]:
    """Return a remote, and the resource of a store on it."""
    remote = MemoryRemote()
    store = await remote.create_store(name)
    return remote, {"type": "memory_store", "memory_store_id": store.id, "mount_path": "/mnt/memory/team-notes"}


async def test_stores_access_instructions_and_names_are_the_sessions() -> None:
    remote, resource = await with_store(name="Renamed since")
    as_it_was = {"name": "Team Notes", "description": "shared", "instructions": "Look.", "access": "read_only"}
    remote.sessions["sesn_1"] = session(resource | as_it_was)

    assert [
        Attachment(
            store_id=resource["memory_store_id"], name="Team Notes", slug="team-notes", access=Access.READ_ONLY,
            description="shared", instructions="Look.",
        )
    ] == await resolve_session(remote, "sesn_1")  # fmt: skip


async def test_what_a_session_leaves_out_has_its_default() -> None:
    remote, resource = await with_store()
    remote.sessions["sesn_1"] = session(resource | {"access": None, "instructions": None, "name": None})

    (found,) = await resolve_session(remote, "sesn_1")

    assert (Access.READ_WRITE, "", "team-notes") == (found.access, found.instructions, found.name)


@pytest.mark.parametrize(
    ("mount_path", "slug", "is_said"),
    [
        ("/mnt/memory/notes-2", "notes-2", False),
        ("/mnt/memory/Notes_2/", "notes-2", True),
        ("/workspace/deep/notes", "notes", True),
        ("/mnt/memory/../../etc", "etc", True),
        ("/mnt/memory/..", "01", True),
        (None, "user-notes", False),
    ],
)
async def test_the_directory_is_the_last_segment_of_the_mount_path(
    mount_path: str | None, slug: str, *, is_said: bool
) -> None:
    remote, resource = await with_store()
    remote.sessions["sesn_1"] = session(resource | {"mount_path": mount_path, "name": "User Notes"})
    said: list[str] = []

    (found,) = await resolve_session(remote, "sesn_1", said.append)

    assert slug == found.slug or found.slug.startswith(slug)
    assert [is_said] == [bool(said)]
    assert not is_said or str(mount_path) in said[0]


async def test_two_stores_never_share_a_directory() -> None:
    remote, resource = await with_store()
    other = {"memory_store_id": (await remote.create_store("b")).id, "mount_path": "/elsewhere/team-notes"}
    remote.sessions["sesn_1"] = session(resource, resource | other)

    assert ["team-notes", "team-notes-2"] == [one.slug for one in await resolve_session(remote, "sesn_1")]


async def test_an_archived_store_of_a_session_is_read_only() -> None:
    remote, resource = await with_store()
    await remote.archive_store(resource["memory_store_id"])
    remote.sessions["sesn_1"] = session(resource)

    (found,) = await resolve_session(remote, "sesn_1")

    assert not found.is_writable


async def test_a_token_that_may_not_look_at_the_store_itself_attaches_it_nevertheless() -> None:
    remote, resource = await with_store()
    remote.sessions["sesn_1"] = session(resource)
    flaky = FlakyRemote(remote, [Fault(call="retrieve_store", error=PermissionRefused("not for sessions"))])

    (found,) = await resolve_session(flaky, "sesn_1")

    assert found.is_writable


def over(**fields: Any) -> Callable[[Mapping[str, Any]], RemoteSession]:
    return lambda resource: session(resource, **fields)


@pytest.mark.parametrize(
    ("made", "error", "words"),
    [
        (over(archived_at=datetime(2026, 11, 30, tzinfo=UTC)), SessionEnded, "was archived"),
        (over(status="terminated"), SessionEnded, "is terminated"),
        (lambda _: session({"type": "file"}), NotFound, "has no memory store"),
        (lambda resource: session(resource, resource), InvalidRequest, "has a store twice"),
    ],
    ids=["archived", "terminated", "no-store", "twice"],
)
async def test_a_session_that_cannot_be_attached_is_refused(
    made: Callable[[Mapping[str, Any]], RemoteSession], error: type[Exception], words: str
) -> None:
    remote, resource = await with_store()
    remote.sessions["sesn_1"] = made(resource)

    with pytest.raises(error, match=f"sesn_1 {words}"):
        await resolve_session(remote, "sesn_1")


async def test_a_check_that_refuses_ends_every_call_but_the_question_for_the_session() -> None:
    remote, resource = await with_store()
    remote.sessions["sesn_1"] = session(resource)

    def refuse() -> None:
        raise SessionEnded("it is over")

    calls = FlakyRemote(remote)
    retrying = Retrying(calls, check=refuse)

    assert "sesn_1" == (await retrying.retrieve_session("sesn_1")).id
    with pytest.raises(SessionEnded):
        await retrying.create_memory(resource["memory_store_id"], "/a.md", "text")
    with pytest.raises(SessionEnded):
        [one async for one in retrying.list_memories(resource["memory_store_id"])]
    assert {"retrieve_session": 1} == dict(calls.calls)


async def test_a_check_that_refuses_meanwhile_ends_the_attempts() -> None:
    remote, resource = await with_store()
    over_now: list[bool] = []

    def check() -> None:
        if over_now:
            raise SessionEnded("it is over")

    async def sleep(_seconds: float) -> None:
        over_now.append(True)

    fault = Fault(call="retrieve_store", error=RemoteUnavailable("away"), times=9)
    retrying = Retrying(FlakyRemote(remote, [fault]), check=check, sleep=sleep)

    with pytest.raises(SessionEnded):
        await retrying.retrieve_store(resource["memory_store_id"])
