"""Which stores a user means: names and ids become stores, and a set of them an attachment each.

Used by `memfs up`, the worker and the commands about stores. Ids are asked for directly, names looked up in the listing
(archived stores included), which is read at most once. Reads only; one event loop.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from memfs.api.models import Store
from memfs.core.attachment import Attachment, WantedStore, check_wanted
from memfs.core.errors import NotFound, UsageError
from memfs.core.slug import slugs
from memfs.remote.protocol import Remote

_LOOKS_LIKE_AN_ID: Final = re.compile("memstore_[A-Za-z0-9]+")


async def resolve(remote: Remote, wanted: Sequence[WantedStore]) -> list[Attachment]:
    """Return an attachment for each wanted store, in their order; an archived one is marked so.

    Raises:
        UsageError: None or too many are named, one is named twice (also once by id and once by name), or several
            stores have a wanted name.
        NotFound: There is no store of that id or name.
    """
    check_wanted(wanted)
    found = await find_stores(remote, [one.store for one in wanted])
    _check_distinct(wanted, found)
    directories = slugs([(store.name, store.id) for store in found])
    return [
        Attachment(
            store_id=store.id,
            name=store.name,
            slug=directory,
            access=one.access,
            description=store.description,
            instructions=one.instructions,
            archived=store.archived_at is not None,
        )
        for one, store, directory in zip(wanted, found, directories, strict=True)
    ]


async def find_stores(remote: Remote, names_or_ids: Sequence[str]) -> list[Store]:
    """Return the store of each id or exact display name, in their order.

    Raises:
        NotFound: There is none.
        UsageError: Several stores have the name.
    """
    by_id = await _of_ids(remote, {text for text in names_or_ids if _LOOKS_LIKE_AN_ID.fullmatch(text)})
    by_name = await _of_names(remote, {text for text in names_or_ids if text not in by_id})
    return [by_id[text] if text in by_id else _only(text, by_name[text]) for text in names_or_ids]


async def _of_ids(remote: Remote, ids: Iterable[str]) -> dict[str, Store]:
    found = {}
    for store_id in ids:
        try:
            found[store_id] = await remote.retrieve_store(store_id)
        except NotFound:  # A name may look like an id: it is looked up among the names.
            continue
    return found


async def _of_names(remote: Remote, names: set[str]) -> Mapping[str, list[Store]]:
    found: dict[str, list[Store]] = {name: [] for name in names}
    if not names:
        return found
    async for store in remote.list_stores(include_archived=True):
        if store.name in found:
            found[store.name].append(store)
    return found


def _only(text: str, candidates: Sequence[Store]) -> Store:
    match candidates:
        case []:
            raise NotFound(
                f"there is no store {text!r}",
                remedy="See `memfs stores list`, or make it with `memfs stores create NAME`",
            )
        case [store]:
            return store
        case _:
            ids = ", ".join(store.id + (" (archived)" if store.archived_at else "") for store in candidates)
            raise UsageError(f"{len(candidates)} stores are named {text!r}: {ids}", remedy="Name it by its id")


def _check_distinct(wanted: Sequence[WantedStore], found: Sequence[Store]) -> None:
    seen: dict[str, str] = {}
    for one, store in zip(wanted, found, strict=True):
        if store.id in seen:
            raise UsageError(f"{seen[store.id]!r} and {one.store!r} are the same store", remedy="Name each store once")
        seen[store.id] = one.store
