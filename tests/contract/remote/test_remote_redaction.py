"""What every `Remote` owes its callers about redacting versions."""

import pytest
from listed import versions

from memfs.api.models import MemoryVersion, View
from memfs.core.errors import InvalidRequest, NotFound
from memfs.remote.protocol import Remote

pytestmark = pytest.mark.anyio


def told(version: MemoryVersion) -> tuple[object, ...]:
    return version.path, version.content, version.content_sha256, version.content_size_bytes


async def test_a_redacted_version_is_cleared_and_stays_listed(remote: Remote, store_id: str) -> None:
    made = await remote.create_memory(store_id, "/a.md", "one")
    changed = await remote.update_memory(store_id, made.id, content="two")
    before = await remote.retrieve_version(store_id, made.memory_version_id)

    redacted = await remote.redact_version(store_id, before.id)

    assert (None, None, None, None) == told(redacted)
    assert redacted.redacted_at is not None
    assert redacted.redacted_by == before.created_by
    kept = {"id", "memory_id", "memory_store_id", "operation", "created_at", "created_by"}
    assert before.model_dump(include=kept) == redacted.model_dump(include=kept)
    assert redacted == await remote.retrieve_version(store_id, before.id)
    listed = await versions(remote, store_id, memory_id=made.id, view=View.FULL)
    assert [changed.memory_version_id, redacted.id] == [version.id for version in listed]
    assert redacted == listed[1]
    assert "two" == (await remote.retrieve_memory(store_id, made.id)).content


async def test_a_repeated_redaction_changes_nothing(remote: Remote, store_id: str) -> None:
    made = await remote.create_memory(store_id, "/a.md", "one")
    await remote.delete_memory(store_id, made.id)

    once = await remote.redact_version(store_id, made.memory_version_id)

    assert once == await remote.redact_version(store_id, made.memory_version_id)


async def test_what_a_living_memory_holds_is_not_redacted(remote: Remote, store_id: str) -> None:
    made = await remote.create_memory(store_id, "/a.md", "one")

    with pytest.raises(InvalidRequest) as caught:
        await remote.redact_version(store_id, made.memory_version_id)

    assert InvalidRequest is type(caught.value)
    assert "one" == (await remote.retrieve_version(store_id, made.memory_version_id)).content


async def test_all_of_a_deleted_memory_may_be_redacted_also_in_an_archived_store(remote: Remote, store_id: str) -> None:
    made = await remote.create_memory(store_id, "/a.md", "one")
    await remote.update_memory(store_id, made.id, path="/b.md")
    await remote.delete_memory(store_id, made.id)
    await remote.archive_store(store_id)

    for version in await versions(remote, store_id):
        await remote.redact_version(store_id, version.id)

    assert [(None, None, None, None)] * 3 == [told(version) for version in await versions(remote, store_id)]


async def test_a_version_that_is_not_there_is_not_redacted(remote: Remote, store_id: str) -> None:
    with pytest.raises(NotFound):
        await remote.redact_version(store_id, "memver_unknown")
    with pytest.raises(NotFound):
        await remote.redact_version("memstore_unknown", "memver_unknown")
