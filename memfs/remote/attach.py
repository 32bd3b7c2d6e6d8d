"""Which stores a user means: names and ids become stores, a set of them or those of a session an attachment each.

Used by `memfs up`, the worker and the commands about stores. Ids are asked for directly, names looked up in the listing
(archived stores included), which is read at most once. Reads only; one event loop.
"""

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from memfs.api.models import Store
from memfs.api.sessions import AttachedStore, RemoteSession
from memfs.core.attachment import Access, Attachment, WantedStore, check_wanted
from memfs.core.errors import InvalidRequest, NotFound, PermissionRefused, SessionEnded, UsageError
from memfs.core.slug import slugs
from memfs.remote.protocol import Remote

MOUNT_ROOT: Final = "/mnt/memory"
"""Below which the API has a session's stores."""
_ENDED: Final = "What was not pushed stays in the state directory; attach the store by its name to push it"
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


async def resolve_session(
    remote: Remote, session_id: str, say: Callable[[str], None] = lambda _: None
) -> list[Attachment]:
    """Return an attachment for each store of a session, in its order, with what the session says of it.

    The directory is the last segment of the mount path, as a slug; ``say`` hears of each that is elsewhere than the
    session has it.

    Raises:
        NotFound: There is no such session, or it has no store.
        SessionEnded: It is over.
        InvalidRequest: It has a store twice.
    """
    session = await remote.retrieve_session(session_id)
    check_goes_on(session)
    stores = session.stores
    ids = [one.memory_store_id for one in stores]
    if not stores:
        raise NotFound(f"the session {session_id} has no memory store", remedy="Stores are given when it is made")
    if len(set(ids)) < len(ids):
        raise InvalidRequest(f"the session {session_id} has a store twice: {', '.join(ids)}")
    archived = await asyncio.gather(*(_is_archived(remote, one) for one in ids))
    found = [_attachment(*one) for one in zip(stores, _directories(stores), archived, strict=True)]
    for one, attachment in zip(stores, found, strict=True):
        if one.mount_path and one.mount_path != f"{MOUNT_ROOT}/{attachment.slug}":
            say(f"the session has the store {attachment.name} at {one.mount_path}; here its name is {attachment.slug}")
    return found


def check_goes_on(session: RemoteSession) -> None:
    """Check that a session is not over.

    Raises:
        SessionEnded: It is.
    """
    if session.is_over:
        how = "was archived" if session.archived_at else "is terminated"
        raise SessionEnded(f"the session {session.id} {how}: its stores are not synced any more", remedy=_ENDED)


def _attachment(one: AttachedStore, directory: str, archived: bool) -> Attachment:
    return Attachment(
        store_id=one.memory_store_id,
        name=one.name or directory,
        slug=directory,
        access=one.access or Access.READ_WRITE,
        description=one.description or "",
        instructions=one.instructions or "",
        archived=archived,
    )


def _directories(stores: Sequence[AttachedStore]) -> list[str]:
    lasts = [(one.mount_path or one.name or "").rstrip("/").rpartition("/")[2] for one in stores]
    return slugs([(last, one.memory_store_id) for last, one in zip(lasts, stores, strict=True)])


async def _is_archived(remote: Remote, store_id: str) -> bool:
    """Ask for what a session does not say. One that may not ask, or a store that is gone, shows itself at its sync."""
    try:
        return (await remote.retrieve_store(store_id)).archived_at is not None
    except (NotFound, PermissionRefused):
        return False


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
