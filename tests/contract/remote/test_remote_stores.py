"""What every `Remote` owes its callers about stores."""

import pytest
from listed import memories, versions

from memfs.core.errors import (
    InvalidRequest,
    NotFound,
    StoreReadOnly,
)
from memfs.remote.protocol import Remote

pytestmark = pytest.mark.anyio


async def test_a_created_store_is_retrieved_and_listed(remote: Remote) -> None:
    made = await remote.create_store("notes é", description="what agents learn", metadata={"team": "a"})

    assert made == await remote.retrieve_store(made.id)
    assert made in [store async for store in remote.list_stores()]
    assert ("notes é", "what agents learn", {"team": "a"}, None) == (
        made.name, made.description, made.metadata, made.archived_at,
    )  # fmt: skip


async def test_names_are_not_unique(remote: Remote) -> None:
    first, second = await remote.create_store("twin"), await remote.create_store("twin")

    assert first.id != second.id


@pytest.mark.parametrize("name", ["", "x" * 256, "tab\there"])
async def test_a_store_name_that_breaks_a_rule_is_refused(remote: Remote, name: str) -> None:
    with pytest.raises(InvalidRequest):
        await remote.create_store(name)


async def test_an_update_changes_what_is_given_and_patches_metadata(remote: Remote) -> None:
    made = await remote.create_store("before", description="stays", metadata={"gone": "1", "kept": "2"})

    changed = await remote.update_store(made.id, name="after", metadata={"gone": None, "new": "3"})

    assert ("after", "stays", {"kept": "2", "new": "3"}) == (changed.name, changed.description, changed.metadata)
    assert changed == await remote.retrieve_store(made.id)


async def test_archiving_twice_keeps_the_first_time_and_hides_the_store(remote: Remote, store_id: str) -> None:
    first = await remote.archive_store(store_id)

    assert first.archived_at is not None
    assert first == await remote.archive_store(store_id)
    assert store_id not in [store.id async for store in remote.list_stores()]
    assert store_id in [store.id async for store in remote.list_stores(include_archived=True)]


async def test_an_archived_store_is_read_and_emptied_but_not_changed(remote: Remote, store_id: str) -> None:
    memory = await remote.create_memory(store_id, "/a.md", "a")
    await remote.archive_store(store_id)

    with pytest.raises(StoreReadOnly):
        await remote.create_memory(store_id, "/b.md", "b")
    with pytest.raises(StoreReadOnly):
        await remote.update_memory(store_id, memory.id, content="b")
    with pytest.raises(StoreReadOnly):
        await remote.update_store(store_id, name="other")
    assert "a" == (await remote.retrieve_memory(store_id, memory.id)).content
    await remote.delete_memory(store_id, memory.id)
    assert [] == await memories(remote, store_id)


async def test_a_deleted_store_is_gone_also_for_a_second_deletion(remote: Remote, store_id: str) -> None:
    await remote.delete_store(store_id)

    for gone in (
        remote.retrieve_store(store_id),
        remote.delete_store(store_id),
        remote.archive_store(store_id),
        remote.create_memory(store_id, "/a.md", ""),
        memories(remote, store_id),
        versions(remote, store_id),
    ):
        with pytest.raises(NotFound):
            await gone
