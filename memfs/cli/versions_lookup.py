"""How the commands of ``memfs versions`` name a version, find it, and get its text or say why it has none."""

from typing import TYPE_CHECKING, Annotated

import typer

from memfs.cli.remote_access import find_store
from memfs.core.errors import NotFound

if TYPE_CHECKING:
    from memfs.api.models import MemoryVersion
    from memfs.remote.protocol import Remote

Store = Annotated[str, typer.Argument(metavar="STORE", help="Id or name of the store.")]
Version = Annotated[str, typer.Argument(metavar="VERSION", help="Id of the version (`memver_…`).")]


async def find_version(remote: "Remote", store: str, version: str) -> "tuple[str, MemoryVersion]":
    """Return the store's id, and the version with its content.

    Raises:
        NotFound: There is no such store, or it has no such version.
        UsageError: Several stores have the name.
    """
    store_id = (await find_store(remote, store)).id
    return store_id, await remote.retrieve_version(store_id, version)


def text_of(version: "MemoryVersion") -> str:
    """Return what the memory held in a version.

    Raises:
        NotFound: The version is redacted, or records a deletion.
    """
    if version.content is None:
        why = "is redacted" if version.redacted_at else "records a deletion"
        raise NotFound(f"the version {version.id} {why}: it has no content", remedy="See `memfs versions list`")
    return version.content
