"""Finding what the user named on the remote."""

import asyncio

import pytest
from fakes import FlakyRemote, MemoryRemote

from memfs.cli.remote_access import find_memory, find_store
from memfs.core.errors import InvalidPath, NotFound


@pytest.mark.parametrize("path", ["/a.md", "/d/b.md", "/d/e/c.md"])
def test_a_memory_is_found_by_its_exact_path(path: str) -> None:
    async def look() -> tuple[str, str]:
        remote = MemoryRemote(page_size=1)
        store = await remote.create_store("notes")
        made = {p: await remote.create_memory(store.id, p, p) for p in ("/a.md", "/d/b.md", "/d/e/c.md", "/z.md")}
        return made[path].id, (await find_memory(remote, store.id, path)).id

    made, found = asyncio.run(look())

    assert made == found


@pytest.mark.parametrize("path", ["/d", "/d/e", "/none.md", "/A.md"])
def test_a_directory_or_another_case_is_no_memory(path: str) -> None:
    async def look() -> None:
        remote = MemoryRemote()
        store = await remote.create_store("notes")
        for there in ("/a.md", "/d/e/c.md"):
            await remote.create_memory(store.id, there, "")
        await find_memory(remote, store.id, path)

    with pytest.raises(NotFound, match="there is no memory at"):
        asyncio.run(look())


def test_a_path_that_is_none_is_refused_unasked() -> None:
    async def look(remote: FlakyRemote) -> None:
        await find_memory(remote, "memstore_1", "a.md")

    remote = FlakyRemote(MemoryRemote())
    with pytest.raises(InvalidPath):
        asyncio.run(look(remote))

    assert 0 == remote.calls.total()


def test_a_store_is_found_by_name_also_when_archived() -> None:
    async def look() -> tuple[str, str]:
        remote = MemoryRemote()
        store = await remote.create_store("old")
        await remote.archive_store(store.id)
        return store.id, (await find_store(remote, "old")).id

    made, found = asyncio.run(look())

    assert made == found
