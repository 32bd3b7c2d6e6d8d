"""What every `Remote` that offers the change feed owes its callers."""

import asyncio

import pytest

from memfs.api.changes import MemoryChange
from memfs.core.digest import content_sha256
from memfs.core.errors import InvalidRequest, NotFound
from memfs.remote.protocol import Remote

pytestmark = pytest.mark.anyio
LONG_S = 30


async def cursor(remote: Remote, store_id: str) -> str:
    return (await remote.read_changes(store_id, after=None)).next


def told(change: MemoryChange) -> tuple[str, str | None, str | None, str | None, int | None]:
    return change.kind, change.memory_id, change.path, change.content_sha256, change.content_size_bytes


async def test_an_answer_announces_the_feed(remote: Remote, store_id: str) -> None:
    await remote.retrieve_store(store_id)

    assert remote.offers_changes


async def test_without_a_cursor_there_is_the_cursor_of_now(remote: Remote, store_id: str) -> None:
    await remote.create_memory(store_id, "/before.md", "before")

    page = await remote.read_changes(store_id, after=None)

    assert ([], False) == (page.data, page.has_more)
    assert ([], False) == (page.data, (await remote.read_changes(store_id, after=page.next)).has_more)


async def test_changes_come_in_order_and_say_what_a_follower_needs(remote: Remote, store_id: str) -> None:
    start = await cursor(remote, store_id)
    made = await remote.create_memory(store_id, "/a.md", "one")
    edited = await remote.update_memory(store_id, made.id, content="zwei ä")
    moved = await remote.update_memory(store_id, made.id, path="/b.md")
    await remote.delete_memory(store_id, made.id)

    page = await remote.read_changes(store_id, after=start)

    assert [
        ("created", made.id, "/a.md", content_sha256(b"one"), 3),
        ("modified", made.id, "/a.md", content_sha256("zwei ä".encode()), 7),
        ("modified", made.id, "/b.md", content_sha256("zwei ä".encode()), 7),
        ("deleted", made.id, "/b.md", None, None),
    ] == [told(change) for change in page.data]
    heads = [made.memory_version_id, edited.memory_version_id, moved.memory_version_id]
    assert heads == [change.memory_version_id for change in page.data[:3]]
    versions = [await remote.retrieve_version(store_id, change.memory_version_id or "") for change in page.data]
    assert [(one.created_at, one.created_by) for one in versions] == [
        (one.created_at, one.created_by) for one in page.data
    ]
    assert [] == (await remote.read_changes(store_id, after=page.next)).data


async def test_what_changes_the_store_itself_has_no_memory(remote: Remote, store_id: str) -> None:
    start = await cursor(remote, store_id)
    await remote.update_store(store_id, name="other")
    await remote.archive_store(store_id)
    await remote.archive_store(store_id)

    page = await remote.read_changes(store_id, after=start)

    nothing = (None, None, None, None)
    assert [("store_updated", *nothing), ("store_archived", *nothing)] == [told(change) for change in page.data]


async def test_what_changes_nothing_is_not_told(remote: Remote, store_id: str) -> None:
    made = await remote.create_memory(store_id, "/a.md", "one")
    start = await cursor(remote, store_id)

    await remote.update_memory(store_id, made.id, content="one", path="/a.md")
    await remote.update_store(store_id, name="contract")

    assert [] == (await remote.read_changes(store_id, after=start)).data


async def test_a_redaction_is_told_and_takes_back_what_was_told_before(remote: Remote, store_id: str) -> None:
    start = await cursor(remote, store_id)
    made = await remote.create_memory(store_id, "/secret.md", "secret")
    await remote.update_memory(store_id, made.id, content="public", path="/public.md")
    redacted = await remote.redact_version(store_id, made.memory_version_id)
    await remote.redact_version(store_id, made.memory_version_id)

    page = await remote.read_changes(store_id, after=start)

    assert [
        ("created", made.id, None, None, None),
        ("modified", made.id, "/public.md", content_sha256(b"public"), 6),
        ("redacted", made.id, None, None, None),
    ] == [told(change) for change in page.data]
    assert [made.memory_version_id] * 2 == [page.data[0].memory_version_id, page.data[2].memory_version_id]
    assert (redacted.redacted_at, redacted.redacted_by) == (page.data[2].created_at, page.data[2].created_by)


async def test_a_cursor_serves_as_often_as_it_is_asked_for(remote: Remote, store_id: str) -> None:
    start = await cursor(remote, store_id)
    await remote.create_memory(store_id, "/a.md", "one")
    first = await remote.read_changes(store_id, after=start)
    await remote.create_memory(store_id, "/b.md", "two")

    assert ["/a.md", "/b.md"] == [one.path for one in (await remote.read_changes(store_id, after=start)).data]
    assert ["/b.md"] == [one.path for one in (await remote.read_changes(store_id, after=first.next)).data]


async def test_a_wait_ends_with_the_change(remote: Remote, store_id: str) -> None:
    start = await cursor(remote, store_id)

    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(remote.read_changes(store_id, after=start, wait_s=LONG_S))
        await asyncio.sleep(0)  # let it ask first; either order must do
        tasks.create_task(remote.create_memory(store_id, "/a.md", "one"))

    assert ["/a.md"] == [change.path for change in waiting.result().data]


async def test_a_wait_without_a_change_ends_with_the_same_place(remote: Remote, store_id: str) -> None:
    start = await cursor(remote, store_id)

    page = await remote.read_changes(store_id, after=start, wait_s=0.05)
    await remote.create_memory(store_id, "/a.md", "one")

    assert ([], False) == (page.data, page.has_more)
    assert ["/a.md"] == [one.path for one in (await remote.read_changes(store_id, after=page.next)).data]


async def test_a_wait_ends_with_its_store(remote: Remote, store_id: str) -> None:
    start = await cursor(remote, store_id)

    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(_failure(remote, store_id, start))
        await asyncio.sleep(0)
        tasks.create_task(remote.delete_store(store_id))

    assert isinstance(waiting.result(), NotFound)


async def test_many_wait_while_others_work(remote: Remote, store_id: str) -> None:
    """More than the calls that run at a time otherwise: those who wait hold nobody up."""
    start = await cursor(remote, store_id)

    async with asyncio.TaskGroup() as tasks:
        waiting = [tasks.create_task(remote.read_changes(store_id, after=start, wait_s=LONG_S)) for _ in range(20)]
        await asyncio.sleep(0)
        await remote.retrieve_store(store_id)
        await remote.create_memory(store_id, "/a.md", "one")

    assert [["/a.md"]] * 20 == [[change.path for change in one.result().data] for one in waiting]


async def test_a_cursor_of_another_store_or_none_is_refused(remote: Remote, store_id: str) -> None:
    other = (await remote.create_store("other")).id
    foreign = await cursor(remote, other)

    for after in (foreign, "", "x", foreign + "x"):
        with pytest.raises(InvalidRequest):
            await remote.read_changes(store_id, after=after)


async def test_a_store_that_is_not_there_has_no_changes(remote: Remote, store_id: str) -> None:
    start = await cursor(remote, store_id)
    await remote.delete_store(store_id)

    for after in (start, None):
        with pytest.raises(NotFound):
            await remote.read_changes(store_id, after=after)


async def _failure(remote: Remote, store_id: str, after: str) -> BaseException | None:
    try:
        await remote.read_changes(store_id, after=after, wait_s=LONG_S)
    except NotFound as error:
        return error
    return None
