"""Imports, exports and copies against a remote that fails, is slow, or is changed meanwhile."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from fakes import Fault, FlakyRemote, MemoryRemote

from memfs.api.models import Memory, Store
from memfs.cli.transfer.copying import copy_store
from memfs.cli.transfer.directories import DirectorySource
from memfs.cli.transfer.exporting import export_to_directory
from memfs.cli.transfer.importing import import_files
from memfs.cli.transfer.outcomes import Outcome
from memfs.cli.transfer.progress import unwatched
from memfs.cli.transfer.running import AT_ONCE, each, in_parallel
from memfs.core.errors import ConcurrentChange, Conflicted, RemoteUnavailable, StoreFull, StoreReadOnly
from memfs.core.limits import Limits
from memfs.core.names import Names
from memfs.remote.protocol import Remote
from memfs.tree.local import LocalTree

GONE = RemoteUnavailable("the cable is out")


async def imported(remote: Remote, store: Store, root: Path, *, memories: int = 10_000) -> Outcome:
    with LocalTree(root) as tree:
        return await import_files(
            remote,
            store,
            DirectorySource(tree),
            origin=str(root),
            names=Names(),
            overwrite=True,
            skip_refused=False,
            dry_run=False,
            limits=Limits(memories=memories),
            watch=unwatched,
        )


async def exported(remote: Remote, store: Store, root: Path) -> Outcome:
    return await export_to_directory(
        remote,
        store,
        root,
        names=Names(),
        overwrite=False,
        dry_run=False,
        limits=Limits(),
        watch=unwatched,
    )


async def copied(remote: Remote, store: Store, name: str) -> Outcome:
    return await copy_store(remote, store, name, dry_run=False, limits=Limits(), watch=unwatched)


async def filled(remote: Remote, count: int = 30) -> Store:
    store = await remote.create_store("notes", description="what we know", metadata={"team": "blue"})
    for number in range(count):
        await remote.create_memory(store.id, f"/{number:02}.md", f"text {number}\r\n")
    return store


async def texts(remote: Remote, store_id: str) -> dict[str, str]:
    return {item.path: item.content_sha256 async for item in remote.list_memories(store_id) if isinstance(item, Memory)}


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_a_bounded_number_runs_at_once_and_each_item_has_its_turn() -> None:
    running, most, done = 0, 0, []

    async def act(item: int) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        done.append(item)

    asyncio.run(in_parallel(each(range(100)), act))

    assert list(range(100)) == sorted(done)
    assert AT_ONCE == most


def test_the_first_failure_ends_a_parallel_run_and_cancels_the_others() -> None:
    cancelled = []

    async def act(item: int) -> None:
        if item == 3:
            raise GONE
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(item)
            raise

    with pytest.raises(RemoteUnavailable):
        asyncio.run(in_parallel(each(range(8)), act))

    assert [0, 1, 2, 4, 5, 6, 7] == sorted(cancelled)


def test_an_interrupted_import_goes_on_where_it_stopped(tmp_path: Path) -> None:
    for number in range(50):
        (tmp_path / f"{number}.md").write_text(f"text {number}")

    async def twice() -> tuple[int, Outcome, int]:
        remote = MemoryRemote()
        store = await remote.create_store("notes")
        flaky = FlakyRemote(remote, [Fault("create_memory", GONE, skip=20, is_lost_answer=True)])
        with pytest.raises(RemoteUnavailable):
            await imported(flaky, store, tmp_path)
        before = len(await texts(remote, store.id))
        counting = FlakyRemote(remote)
        return before, await imported(counting, store, tmp_path), counting.calls["create_memory"]

    before, outcome, calls = asyncio.run(twice())

    assert 20 < before < 50
    assert (50 - before, before) == (len(outcome.created), len(outcome.unchanged))
    assert 50 - before == calls


def test_an_update_is_conditional_on_what_was_looked_at(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("mine")
    (tmp_path / "b.md").write_text("also mine")

    async def race() -> tuple[Outcome, str | None]:
        remote = MemoryRemote()
        store = await remote.create_store("notes")
        memory = await remote.create_memory(store.id, "/a.md", "old")

        class Racing(MemoryRemote):
            async def update_memory(
                self,
                store_id: str,
                memory_id: str,
                *,
                content: str | None = None,
                path: str | None = None,
                expect_sha256: str | None = None,
            ) -> Memory:
                await super().update_memory(store_id, memory_id, content="somebody else's")
                return await super().update_memory(
                    store_id, memory_id, content=content, path=path, expect_sha256=expect_sha256
                )

        remote.__class__ = Racing
        outcome = await imported(remote, store, tmp_path)
        return outcome, (await remote.retrieve_memory(store.id, memory.id)).content

    outcome, content = asyncio.run(race())

    assert "somebody else's" == content
    assert (["/b.md"], []) == (outcome.created, outcome.updated)
    assert ["/a.md"] == [failure.path for failure in outcome.failed]


def test_an_import_that_would_fill_the_store_imports_nothing(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).write_text(name)

    async def attempt() -> dict[str, str]:
        remote = MemoryRemote()
        store = await remote.create_store("notes")
        with pytest.raises(StoreFull):
            await imported(remote, store, tmp_path, memories=2)
        return await texts(remote, store.id)

    assert {} == asyncio.run(attempt())


def test_an_archived_store_takes_no_import(tmp_path: Path) -> None:
    async def attempt() -> None:
        remote = MemoryRemote()
        store = await remote.archive_store((await remote.create_store("notes")).id)
        await imported(remote, store, tmp_path)

    with pytest.raises(StoreReadOnly):
        asyncio.run(attempt())


def test_an_interrupted_export_goes_on_and_fetches_only_what_is_missing(tmp_path: Path) -> None:
    async def twice() -> tuple[int, Outcome, FlakyRemote]:
        remote = MemoryRemote()
        store = await filled(remote, 100)
        flaky = FlakyRemote(remote, [Fault("list_memories", GONE, skip=5)])  # One page to plan, four with contents.
        with pytest.raises(RemoteUnavailable):
            await exported(flaky, store, tmp_path / "out")
        written = len(names_in(tmp_path / "out"))
        for name in names_in(tmp_path / "out")[4:]:
            (tmp_path / "out" / name).unlink()
        for number in range(4, 99):
            (tmp_path / "out" / f"{number:02}.md").write_bytes(f"text {number}\r\n".encode())
        counting = FlakyRemote(remote)
        return written, await exported(counting, store, tmp_path / "out"), counting

    written, outcome, counting = asyncio.run(twice())

    assert 80 == written
    assert (["/99.md"], 99) == (outcome.created, len(outcome.unchanged))
    assert {"list_memories": 1, "retrieve_memory": 1} == counting.calls
    assert 100 == len(names_in(tmp_path / "out"))


def test_an_export_never_writes_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out/d").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "out/a.md").symlink_to(tmp_path / "elsewhere/a.md")

    async def attempt() -> Outcome:
        remote = MemoryRemote()
        store = await remote.create_store("notes")
        for path in ("/a.md", "/d/b.md", "/free.md"):
            await remote.create_memory(store.id, path, "text")
        return await export_to_directory(
            remote,
            store,
            tmp_path / "out",
            names=Names(),
            overwrite=True,
            dry_run=False,
            limits=Limits(),
            watch=unwatched,
        )

    outcome = asyncio.run(attempt())

    assert ["/a.md", "/d/b.md"] == [refusal.path for refusal in outcome.refused]
    assert [] == names_in(tmp_path / "elsewhere")
    assert ["a.md", "d"] == names_in(tmp_path / "out")


def test_a_remote_whose_content_is_not_what_its_digest_says_is_not_written(tmp_path: Path) -> None:
    class Lying(MemoryRemote):
        async def retrieve_memory(self, store_id: str, memory_id: str) -> Memory:
            return (await super().retrieve_memory(store_id, memory_id)).model_copy(update={"content": "other"})

    async def attempt() -> None:
        remote = Lying()
        store = await filled(remote, 30)
        (tmp_path / "out").mkdir()
        for number in range(1, 30):
            (tmp_path / "out" / f"{number:02}.md").write_bytes(f"text {number}\r\n".encode())
        await exported(remote, store, tmp_path / "out")

    with pytest.raises(RemoteUnavailable, match="is not what its digest says"):
        asyncio.run(attempt())

    assert not (tmp_path / "out/00.md").exists()


def test_an_interrupted_copy_goes_on_in_the_store_that_it_made() -> None:
    async def twice() -> tuple[Outcome, list[Store], dict[str, str], dict[str, str]]:
        remote = MemoryRemote()
        store = await filled(remote)
        flaky = FlakyRemote(remote, [Fault("create_memory", GONE, skip=15)])
        with pytest.raises(RemoteUnavailable):
            await copied(flaky, store, "copy")
        outcome = await copied(remote, store, "copy")
        named = [one async for one in remote.list_stores() if one.name == "copy"]
        return outcome, named, await texts(remote, store.id), await texts(remote, named[0].id)

    outcome, named, source, copy = asyncio.run(twice())

    assert source == copy
    assert 30 == len(outcome.created) + len(outcome.unchanged)
    assert outcome.created
    assert len(outcome.unchanged) >= 15
    assert [("what we know", {"team": "blue"})] == [(one.description, one.metadata) for one in named]


@pytest.mark.parametrize(
    ("description", "path"), [("what we know", "/other.md"), ("of my own", "")], ids=["other memories", "other words"]
)
def test_a_store_that_has_the_new_name_and_is_no_copy_stays_as_it_is(description: str, path: str) -> None:
    async def attempt() -> None:
        remote = MemoryRemote()
        store = await filled(remote)
        mine = await remote.create_store("copy", description=description, metadata={"team": "blue"})
        if path:
            await remote.create_memory(mine.id, path, "x")
        try:
            await copied(remote, store, "copy")
        finally:
            assert len(path and "x") == len(await texts(remote, mine.id))

    with pytest.raises(Conflicted, match="another store is named 'copy'"):
        asyncio.run(attempt())


class BusySource(FlakyRemote):
    """Somebody adds to the source as soon as the copy's store is made."""

    def __init__(self, inner: MemoryRemote, source_id: str) -> None:
        super().__init__(inner)
        self._store = inner
        self._source_id = source_id

    async def create_store(self, *args: Any, **kwargs: Any) -> Store:
        await self._store.create_memory(self._source_id, "/late.md", "x")
        return await self._store.create_store(*args, **kwargs)


def test_a_source_that_is_changed_while_it_is_copied_is_noticed() -> None:
    async def attempt() -> None:
        remote = MemoryRemote()
        source = await filled(remote)

        await copied(BusySource(remote, source.id), source, "copy")

    with pytest.raises(ConcurrentChange, match=r"1 memories differ between .* as /late.md"):
        asyncio.run(attempt())


async def one_page() -> AsyncIterator[int]:
    yield 1
    raise GONE


def test_a_listing_that_fails_ends_a_parallel_run_too() -> None:
    async def act(item: int) -> None:
        assert 1 == item

    with pytest.raises(RemoteUnavailable):
        asyncio.run(in_parallel(one_page(), act))
