"""What every `Remote` owes its callers about listings and history."""

from datetime import timedelta
from typing import Any

import pytest
from listed import memories, shown, versions

from memfs.api.models import ApiActor, Memory, Operation, View
from memfs.core.digest import content_sha256
from memfs.core.errors import (
    InvalidRequest,
    NotFound,
)
from memfs.remote.protocol import Remote

pytestmark = pytest.mark.anyio


async def test_a_listing_of_several_pages_is_complete_and_in_order(remote: Remote, store_id: str) -> None:
    paths = [f"/dir{n % 3}/{n:03}.md" for n in range(230)]
    for path in paths:
        await remote.create_memory(store_id, path, path)

    assert sorted(paths) == await shown(remote, store_id)
    full = await memories(remote, store_id, path_prefix="/dir1/", view=View.FULL)
    assert [(path, path) for path in sorted(paths) if path.startswith("/dir1/")] == [
        (one.path, one.content) for one in full if isinstance(one, Memory)
    ]


async def test_the_basic_view_has_no_content(remote: Remote, store_id: str) -> None:
    made = await remote.create_memory(store_id, "/a.md", "one")

    (listed,) = await memories(remote, store_id)
    assert isinstance(listed, Memory)
    assert (None, made.content_sha256, 3) == (listed.content, listed.content_sha256, listed.content_size_bytes)
    assert made.content is None


async def test_a_prefix_means_whole_segments(remote: Remote, store_id: str) -> None:
    for path in ("/notes/a.md", "/notes/deep/b.md", "/notes-archive/c.md", "/Notes/d.md"):
        await remote.create_memory(store_id, path, "x")

    assert ["/notes/a.md", "/notes/deep/b.md"] == await shown(remote, store_id, path_prefix="/notes/")
    assert [] == await shown(remote, store_id, path_prefix="/none/")


async def test_depth_one_groups_what_lies_deeper(remote: Remote, store_id: str) -> None:
    for path in ("/a.md", "/d/b.md", "/d/e/c.md", "/z.md"):
        await remote.create_memory(store_id, path, "x")

    assert [("memory", "/a.md"), ("memory_prefix", "/d/"), ("memory", "/z.md")] == [
        (item.type, item.path) for item in await memories(remote, store_id, depth=1)
    ]
    assert [("memory", "/d/b.md"), ("memory_prefix", "/d/e/")] == [
        (item.type, item.path) for item in await memories(remote, store_id, path_prefix="/d/", depth=1)
    ]


@pytest.mark.parametrize("asked", [{"path_prefix": "/notes"}, {"depth": 2}], ids=["prefix-without-slash", "depth-2"])
async def test_a_listing_that_breaks_a_rule_raises(remote: Remote, store_id: str, asked: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        await memories(remote, store_id, **asked)


async def test_what_is_made_and_removed_while_a_listing_runs_does_not_disturb_the_rest(
    remote: Remote, store_id: str
) -> None:
    """Pages are read as the listing goes; a memory that nobody touches is yielded exactly once."""
    made = {f"/{n:03}": await remote.create_memory(store_id, f"/{n:03}", "x") for n in range(150)}
    listing = remote.list_memories(store_id)
    first = (await anext(listing)).path

    await remote.delete_memory(store_id, made["/000"].id)
    await remote.delete_memory(store_id, made["/099"].id)
    await remote.create_memory(store_id, "/000a", "new")
    seen = [first, *[item.path async for item in listing]]

    untouched = set(made) - {"/000", "/099"}
    assert sorted(untouched) == sorted(path for path in seen if path in untouched)


async def test_the_history_tells_each_change_newest_first(remote: Remote, store_id: str) -> None:
    made = await remote.create_memory(store_id, "/a.md", "one")
    await remote.update_memory(store_id, made.id, content="two")
    await remote.update_memory(store_id, made.id, path="/b.md")
    await remote.delete_memory(store_id, made.id)

    told = await versions(remote, store_id, view=View.FULL)

    assert [
        (Operation.DELETED, "/b.md", None),
        (Operation.MODIFIED, "/b.md", "two"),
        (Operation.MODIFIED, "/a.md", "two"),
        (Operation.CREATED, "/a.md", "one"),
    ] == [(one.operation, one.path, one.content) for one in told]
    assert (None, None) == (told[0].content_sha256, told[0].content_size_bytes)
    assert {made.id} == {one.memory_id for one in told}
    assert all(isinstance(one.created_by, ApiActor) for one in told)


async def test_versions_are_asked_for_by_memory_and_by_time(remote: Remote, store_id: str) -> None:
    first = await remote.create_memory(store_id, "/a.md", "one")
    second = await remote.create_memory(store_id, "/b.md", "two")

    assert [second.memory_version_id] == [one.id for one in await versions(remote, store_id, memory_id=second.id)]
    assert [] == await versions(remote, store_id, memory_id="mem_unknown")
    assert {first.memory_version_id, second.memory_version_id} == {
        one.id for one in await versions(remote, store_id, created_at_gte=first.created_at)
    }
    later = second.created_at + timedelta(seconds=1)
    assert [] == await versions(remote, store_id, created_at_gte=later)


async def test_a_version_comes_with_its_content(remote: Remote, store_id: str) -> None:
    made = await remote.create_memory(store_id, "/a.md", "one")
    await remote.update_memory(store_id, made.id, content="two")

    version = await remote.retrieve_version(store_id, made.memory_version_id)

    assert ("one", content_sha256(b"one")) == (version.content, version.content_sha256)
    with pytest.raises(NotFound):
        await remote.retrieve_version(store_id, "memver_unknown")


async def test_closing_twice_is_harmless(remote: Remote) -> None:
    await remote.aclose()
    await remote.aclose()
