"""What is tried again, how often, after what wait, and what never is."""

from collections.abc import Awaitable, Callable

import pytest
from fakes import FakeClock, Fault, FlakyRemote, MemoryRemote
from listed import shown, versions

from memfs.core.errors import (
    AuthenticationFailed,
    ChangeCursorExpired,
    ConcurrentChange,
    MemfsError,
    NotFound,
    PathConflict,
    PreconditionFailed,
    RateLimited,
    RemoteUnavailable,
)
from memfs.remote.protocol import Remote
from memfs.remote.retrying import Retrying

pytestmark = pytest.mark.anyio

DOWN = RemoteUnavailable("down")


def retrying(*faults: Fault, attempts: int = 3, page_size: int = 100) -> tuple[Retrying, FlakyRemote, FakeClock]:
    clock = FakeClock()
    flaky = FlakyRemote(MemoryRemote(page_size=page_size), faults)
    return Retrying(flaky, attempts=attempts, sleep=clock.sleep, random=lambda: 0.5), flaky, clock


async def with_memory(remote: Remote) -> tuple[str, str]:
    store = await remote.create_store("notes")
    return store.id, (await remote.create_memory(store.id, "/a.md", "one")).id


async def test_a_read_is_tried_again_until_it_succeeds() -> None:
    remote, flaky, _ = retrying(Fault("retrieve_memory", DOWN, times=2))
    store_id, memory_id = await with_memory(remote)

    assert "one" == (await remote.retrieve_memory(store_id, memory_id)).content
    assert 3 == flaky.calls["retrieve_memory"]


async def test_the_last_failure_is_raised_when_the_attempts_are_used_up() -> None:
    remote, flaky, clock = retrying(Fault("retrieve_store", DOWN, times=9))

    with pytest.raises(RemoteUnavailable):
        await remote.retrieve_store("memstore_1")

    assert (3, 2) == (flaky.calls["retrieve_store"], len(clock.slept))


async def test_waits_grow_and_follow_the_random_value() -> None:
    remote, _, clock = retrying(Fault("retrieve_store", DOWN, times=9), attempts=4)

    with pytest.raises(RemoteUnavailable):
        await remote.retrieve_store("memstore_1")

    assert [0.125, 0.25, 0.5] == clock.slept


async def test_a_wait_that_the_remote_asks_for_is_kept_up_to_a_cap() -> None:
    remote, _, clock = retrying(
        Fault("retrieve_store", RateLimited("slow down", retry_after_s=7.0)),
        Fault("retrieve_store", RateLimited("slow down", retry_after_s=900.0)),
    )

    with pytest.raises(NotFound):
        await remote.retrieve_store("memstore_1")

    assert [7.125, 30.25] == clock.slept


@pytest.mark.parametrize("error", [NotFound("x"), PreconditionFailed("x"), AuthenticationFailed("x")])
async def test_a_permanent_failure_is_never_repeated(error: MemfsError) -> None:
    remote, flaky, clock = retrying(Fault("retrieve_store", error, times=9))

    with pytest.raises(type(error)):
        await remote.retrieve_store("memstore_1")

    assert (1, []) == (flaky.calls["retrieve_store"], clock.slept)


# What is made twice when it is called twice, and what undoes another writer's change.
UNREPEATABLE: dict[str, Callable[[Remote, str, str], Awaitable[object]]] = {
    "create_store": lambda remote, _store, _memory: remote.create_store("again"),
    "create_memory": lambda remote, store_id, _memory: remote.create_memory(store_id, "/b.md", "b"),
    "update_memory": lambda remote, store_id, memory_id: remote.update_memory(store_id, memory_id, content="b"),
    "update_store": lambda remote, store_id, _memory: remote.update_store(store_id, name="b"),
}


@pytest.mark.parametrize("name", UNREPEATABLE)
async def test_what_may_already_be_done_and_is_not_repeatable_is_made_once(name: str) -> None:
    remote, flaky, _ = retrying()
    store_id, memory_id = await with_memory(remote)
    flaky.faults.append(Fault(name, DOWN, is_lost_answer=True))
    before = flaky.calls[name]

    with pytest.raises(RemoteUnavailable):
        await UNREPEATABLE[name](remote, store_id, memory_id)

    assert before + 1 == flaky.calls[name]


@pytest.mark.parametrize("error", [RateLimited("wait"), ConcurrentChange("lost a race")])
@pytest.mark.parametrize("name", UNREPEATABLE)
async def test_where_the_remote_says_that_nothing_was_done_every_call_is_repeated(name: str, error: MemfsError) -> None:
    remote, flaky, _ = retrying()
    store_id, memory_id = await with_memory(remote)
    flaky.faults.append(Fault(name, error))
    before = flaky.calls[name]

    await UNREPEATABLE[name](remote, store_id, memory_id)

    assert before + 2 == flaky.calls[name]


async def test_a_lost_answer_to_a_conditional_update_heals_without_a_second_version() -> None:
    remote, _, _ = retrying(Fault("update_memory", DOWN, is_lost_answer=True))
    store_id, memory_id = await with_memory(remote)
    sha256 = (await remote.retrieve_memory(store_id, memory_id)).content_sha256

    changed = await remote.update_memory(store_id, memory_id, content="two", expect_sha256=sha256)

    assert changed.memory_version_id == (await versions(remote, store_id))[0].id
    assert 2 == len(await versions(remote, store_id))


async def test_a_conditional_update_that_another_writer_overtook_is_a_conflict_not_a_loss() -> None:
    remote, flaky, _ = retrying(Fault("update_memory", DOWN))
    store_id, memory_id = await with_memory(remote)
    sha256 = (await remote.retrieve_memory(store_id, memory_id)).content_sha256
    await flaky._inner.update_memory(store_id, memory_id, content="the other's")

    with pytest.raises(PreconditionFailed):
        await remote.update_memory(store_id, memory_id, content="two", expect_sha256=sha256)

    assert "the other's" == (await remote.retrieve_memory(store_id, memory_id)).content


async def test_a_lost_answer_to_a_deletion_ends_as_a_deletion() -> None:
    remote, _, _ = retrying(
        Fault("delete_memory", DOWN, is_lost_answer=True), Fault("delete_store", DOWN, is_lost_answer=True)
    )
    store_id, memory_id = await with_memory(remote)

    await remote.delete_memory(store_id, memory_id)
    assert [] == await shown(remote, store_id)
    await remote.delete_store(store_id)


async def test_a_lost_answer_to_a_redaction_heals_with_its_first_moment() -> None:
    remote, flaky, _ = retrying(Fault("redact_version", DOWN, is_lost_answer=True))
    store_id, memory_id = await with_memory(remote)
    await remote.delete_memory(store_id, memory_id)
    first = (await versions(remote, store_id))[-1]

    redacted = await remote.redact_version(store_id, first.id)

    assert 2 == flaky.calls["redact_version"]
    assert redacted == (await versions(remote, store_id))[-1]


async def test_deleting_what_never_was_is_not_found_even_after_a_refusal_to_act() -> None:
    remote, _, _ = retrying(Fault("delete_memory", RateLimited("wait")))
    store_id, _ = await with_memory(remote)

    with pytest.raises(NotFound):
        await remote.delete_memory(store_id, "mem_unknown")


async def test_a_create_whose_answer_was_lost_did_happen() -> None:
    """Why a create is not repeated: the second one would report a conflict with the first."""
    remote, _, _ = retrying(Fault("create_memory", DOWN, is_lost_answer=True, skip=1))
    store_id, _ = await with_memory(remote)

    with pytest.raises(RemoteUnavailable):
        await remote.create_memory(store_id, "/b.md", "b")
    with pytest.raises(PathConflict):
        await remote.create_memory(store_id, "/b.md", "b")


async def test_a_listing_goes_on_at_the_page_that_failed() -> None:
    remote, flaky, _ = retrying(Fault("list_memories", DOWN, skip=2, times=2), page_size=2)
    store = await remote.create_store("notes")
    paths = [f"/{n}.md" for n in range(7)]
    for path in paths:
        await remote.create_memory(store.id, path, path)

    assert paths == await shown(remote, store.id)
    assert 4 + 2 == flaky.calls["list_memories"]


async def test_a_listing_whose_page_stays_away_raises_instead_of_ending() -> None:
    remote, _, _ = retrying(Fault("list_memories", DOWN, skip=1, times=9), page_size=2)
    store = await remote.create_store("notes")
    for n in range(5):
        await remote.create_memory(store.id, f"/{n}.md", "")

    with pytest.raises(RemoteUnavailable):
        await shown(remote, store.id)


async def test_changes_are_asked_for_again_with_the_same_cursor() -> None:
    remote, flaky, _ = retrying()
    store_id, memory_id = await with_memory(remote)
    start = await remote.read_changes(store_id, after=None)
    await remote.delete_memory(store_id, memory_id)
    flaky.faults.append(Fault("read_changes", DOWN, is_lost_answer=True, times=2))

    page = await remote.read_changes(store_id, after=start.next, wait_s=1)

    assert ["deleted"] == [change.kind for change in page.data]
    assert remote.offers_changes


async def test_an_expired_cursor_is_not_asked_for_again() -> None:
    inner = MemoryRemote()
    remote = Retrying(inner, sleep=FakeClock().sleep)
    store_id, memory_id = await with_memory(remote)
    start = await remote.read_changes(store_id, after=None)
    await remote.delete_memory(store_id, memory_id)
    inner.forget_changes(store_id)

    with pytest.raises(ChangeCursorExpired):
        await remote.read_changes(store_id, after=start.next)


async def test_closing_closes_what_is_wrapped() -> None:
    inner = MemoryRemote()

    await Retrying(inner).aclose()

    assert inner.is_closed
