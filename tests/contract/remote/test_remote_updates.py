"""What every `Remote` owes its callers about changing memories."""

import asyncio

import pytest
from listed import shown, versions

from memfs.api.models import Memory
from memfs.core.digest import content_sha256
from memfs.core.errors import (
    Conflicted,
    InvalidRequest,
    MemfsError,
    PathConflict,
    PreconditionFailed,
)
from memfs.remote.protocol import Remote

pytestmark = pytest.mark.anyio

OTHER = content_sha256(b"something else")


async def test_an_update_keeps_the_id_and_moves_the_version(remote: Remote, store_id: str) -> None:
    made = await remote.create_memory(store_id, "/a.md", "one")

    changed = await remote.update_memory(store_id, made.id, content="two", expect_sha256=made.content_sha256)

    assert made.id == changed.id
    assert made.memory_version_id != changed.memory_version_id
    assert "two" == (await remote.retrieve_memory(store_id, made.id)).content


async def test_an_update_with_another_digest_changes_nothing(remote: Remote, store_id: str) -> None:
    made = await remote.create_memory(store_id, "/a.md", "one")

    with pytest.raises(PreconditionFailed):
        await remote.update_memory(store_id, made.id, content="two", expect_sha256=OTHER)
    with pytest.raises(PreconditionFailed):
        await remote.update_memory(store_id, made.id, path="/b.md", expect_sha256=OTHER)

    read = await remote.retrieve_memory(store_id, made.id)
    assert ("one", "/a.md", made.memory_version_id) == (read.content, read.path, read.memory_version_id)


async def test_a_repeated_update_is_no_change_whatever_it_expects(remote: Remote, store_id: str) -> None:
    """An update whose answer was lost is made again, with the digest of before: that is no conflict."""
    made = await remote.create_memory(store_id, "/a.md", "one")
    changed = await remote.update_memory(
        store_id, made.id, content="two", path="/b.md", expect_sha256=OTHER[:0] or None
    )

    again = await remote.update_memory(
        store_id, made.id, content="two", path="/b.md", expect_sha256=made.content_sha256
    )

    assert changed == again
    assert 2 == len(await versions(remote, store_id))


async def test_a_rename_keeps_id_and_content(remote: Remote, store_id: str) -> None:
    made = await remote.create_memory(store_id, "/a", "one")

    moved = await remote.update_memory(store_id, made.id, path="/a/b.md", expect_sha256=made.content_sha256)

    assert (made.id, "/a/b.md", made.content_sha256) == (moved.id, moved.path, moved.content_sha256)
    assert ["/a/b.md"] == await shown(remote, store_id)


async def test_a_rename_never_overwrites(remote: Remote, store_id: str) -> None:
    mover = await remote.create_memory(store_id, "/a.md", "a")
    blocker = await remote.create_memory(store_id, "/b.md", "b")

    with pytest.raises(PathConflict) as caught:
        await remote.update_memory(store_id, mover.id, path="/b.md")

    assert blocker.id == caught.value.conflicting_memory_id
    assert ["/a.md", "/b.md"] == await shown(remote, store_id)


async def test_an_update_of_nothing_is_refused(remote: Remote, store_id: str) -> None:
    made = await remote.create_memory(store_id, "/a.md", "one")

    with pytest.raises(InvalidRequest):
        await remote.update_memory(store_id, made.id)


async def test_of_many_writers_with_one_expectation_one_wins(remote: Remote, store_id: str) -> None:
    made = await remote.create_memory(store_id, "/a.md", "start")

    outcomes = await asyncio.gather(
        *(
            remote.update_memory(store_id, made.id, content=f"writer {n}", expect_sha256=made.content_sha256)
            for n in range(8)
        ),
        return_exceptions=True,
    )

    winners = [one for one in outcomes if isinstance(one, Memory)]
    losers = [one for one in outcomes if isinstance(one, MemfsError)]
    assert (1, 7) == (len(winners), len(losers))
    assert all(isinstance(one, Conflicted) for one in losers)
    assert winners[0].content_sha256 == (await remote.retrieve_memory(store_id, made.id)).content_sha256
