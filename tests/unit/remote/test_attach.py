"""Names and ids become attachments, or one line says why not."""

import pytest
from fakes import FlakyRemote, MemoryRemote

from memfs.core.attachment import Access, WantedStore
from memfs.core.errors import NotFound, UsageError
from memfs.remote.attach import find_stores, resolve

pytestmark = pytest.mark.anyio


def wanted(*names: str) -> list[WantedStore]:
    return [WantedStore(store=name) for name in names]


async def test_ids_and_names_become_attachments_in_the_wanted_order() -> None:
    remote = MemoryRemote()
    notes = await remote.create_store("Team notes", description="shared")
    handbook = await remote.create_store("Handbook")

    found = await resolve(
        remote,
        [
            WantedStore(store="Handbook", access=Access.READ_ONLY, instructions="look here first"),
            WantedStore(store=notes.id),
        ],
    )

    assert [
        (handbook.id, "Handbook", "handbook", Access.READ_ONLY, "", "look here first"),
        (notes.id, "Team notes", "team-notes", Access.READ_WRITE, "shared", ""),
    ] == [(one.store_id, one.name, one.slug, one.access, one.description, one.instructions) for one in found]


async def test_an_archived_store_is_attached_read_only() -> None:
    remote = MemoryRemote()
    await remote.archive_store((await remote.create_store("old")).id)

    (found,) = await resolve(remote, wanted("old"))

    assert found.archived
    assert not found.is_writable


async def test_stores_whose_names_make_one_slug_get_two_directories() -> None:
    remote = MemoryRemote()
    await remote.create_store("Notes")
    await remote.create_store("notes!")

    assert ["notes", "notes-2"] == [one.slug for one in await resolve(remote, wanted("Notes", "notes!"))]


@pytest.mark.parametrize("name", ["nowhere", "memstore_01unknown"], ids=["name", "id"])
async def test_an_unknown_store_is_named_with_what_to_do(name: str) -> None:
    remote = MemoryRemote()
    await remote.create_store("Nowhere")

    with pytest.raises(NotFound) as caught:
        await resolve(remote, wanted(name))

    assert f"there is no store '{name}'" == caught.value.message
    assert "memfs stores list" in caught.value.remedy
    assert "memfs stores create" in caught.value.remedy
    assert "\n" not in str(caught.value)


async def test_a_name_of_several_stores_lists_their_ids() -> None:
    remote = MemoryRemote()
    first, second = await remote.create_store("twin"), await remote.create_store("twin")
    await remote.archive_store(second.id)

    with pytest.raises(UsageError) as caught:
        await resolve(remote, wanted("twin"))

    assert first.id in str(caught.value)
    assert f"{second.id} (archived)" in str(caught.value)


async def test_one_store_by_name_and_by_id_is_named_twice() -> None:
    remote = MemoryRemote()
    store = await remote.create_store("notes")

    with pytest.raises(UsageError, match="are the same store"):
        await resolve(remote, wanted("notes", store.id))


@pytest.mark.parametrize("names", [[], [f"s{n}" for n in range(9)]], ids=["none", "nine"])
async def test_a_number_of_stores_that_no_attachment_holds_is_refused_unasked(names: list[str]) -> None:
    remote = FlakyRemote(MemoryRemote())

    with pytest.raises(UsageError):
        await resolve(remote, wanted(*names))

    assert 0 == remote.calls.total()


async def test_a_store_may_be_named_like_an_id() -> None:
    remote = MemoryRemote()
    store = await remote.create_store("memstore_notes")

    assert [store] == await find_stores(remote, ["memstore_notes"])


async def test_ids_alone_need_no_listing_and_names_need_one() -> None:
    remote = FlakyRemote(MemoryRemote())
    made = [await remote.create_store(name) for name in ("a", "b", "c")]

    await find_stores(remote, [one.id for one in made])
    assert 0 == remote.calls["list_stores"]
    await find_stores(remote, ["a", "b", made[2].id])
    assert 1 == remote.calls["list_stores"]
