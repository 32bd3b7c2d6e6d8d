"""How commands reach the remote: open it, find in it what the user named, close it. Each call runs one event loop."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from memfs.core import paths
from memfs.core.errors import NotFound

if TYPE_CHECKING:
    from memfs.api.models import Memory, Store
    from memfs.remote.protocol import Remote

Result = TypeVar("Result")

_ATTEMPTS = 3  # Somebody waits at the terminal.


def run(
    base_url: str | None,
    api_key_file: Path | None,
    config: Path | None,
    action: Callable[["Remote"], Awaitable[Result]],
) -> Result:
    """Open the remote, run ``action`` on it, and close it.

    Raises:
        MemfsError: What `open_remote` or the action raises.
    """

    async def opened() -> Result:
        remote = open_remote(base_url, api_key_file, config)
        try:
            return await action(remote)
        finally:
            await remote.aclose()

    return asyncio.run(opened())


def open_remote(base_url: str | None, api_key_file: Path | None, config: Path | None) -> "Remote":
    """Return the remote that flags, environment, configuration and defaults name; the caller closes it.

    Raises:
        ConfigError: There is no key for it, or the URL is none.
    """
    from memfs.config import load, remote_settings
    from memfs.remote.http import HttpRemote
    from memfs.remote.retrying import Retrying

    settings = remote_settings(base_url, api_key_file, settings=load(config))
    return Retrying(HttpRemote(settings.base_url, settings.api_key), attempts=_ATTEMPTS)


async def find_store(remote: "Remote", name_or_id: str) -> "Store":
    """Return the store of this id or exact name, archived or not.

    Raises:
        NotFound: There is none.
        UsageError: Several have the name.
    """
    from memfs.remote.attach import find_stores

    (store,) = await find_stores(remote, [name_or_id])
    return store


async def find_memory(remote: "Remote", store_id: str, path: str) -> "Memory":
    """Return the memory at a path, without its content. The API looks memories up by id: its directory is listed.

    Raises:
        InvalidPath, PathTooLong: It is no store path.
        NotFound: There is no memory at it.
    """
    wanted = paths.parse(path)
    directory = wanted[: -len(paths.name_of(wanted))]
    async for item in remote.list_memories(store_id, path_prefix="" if directory == "/" else directory, depth=1):
        if item.type == "memory" and item.path == wanted:
            return item
    raise NotFound(f"there is no memory at {path!r}", remedy="See `memfs memories list STORE`")
