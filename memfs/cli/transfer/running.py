"""How a transfer talks to the remote: a bounded number of calls at once, and contents as they stream in.

Used by `importing`, `exporting` and `copying`. One event loop.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from memfs.core.digest import content_sha256
from memfs.core.errors import NotFound, RemoteUnavailable
from memfs.core.paths import StorePath, parse

if TYPE_CHECKING:
    from memfs.api.models import Memory
    from memfs.remote.protocol import Remote

Item = TypeVar("Item")

AT_ONCE = 16
_PAGE = 20  # Memories in one page that comes with contents.
GONE = "it was deleted or renamed meanwhile"


class Content(NamedTuple):
    """A memory that came with its content."""

    memory: "Memory"
    path: StorePath
    content: bytes


async def in_parallel(items: AsyncIterator[Item], act: Callable[[Item], Coroutine[Any, Any, None]]) -> None:
    """Act on each item as it comes, on at most `AT_ONCE` of them at a time.

    The first failure ends it: what still runs is cancelled, and waited for.
    """
    running: set[asyncio.Task[None]] = set()
    try:
        async for item in items:
            if len(running) >= AT_ONCE:
                running = await _some_done(running)
            running.add(asyncio.create_task(act(item)))
        while running:
            running = await _some_done(running)
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def each(items: Iterable[Item]) -> AsyncIterator[Item]:
    """Yield what is there already."""
    for item in items:
        yield item


async def listed(remote: "Remote", store_id: str) -> "dict[StorePath, Memory]":
    """Return a store's memories by path, without contents, in the order of the paths.

    Raises:
        InvalidPath, PathTooLong: The remote names a path that is none.
    """
    found = [item async for item in remote.list_memories(store_id) if item.type == "memory"]
    return {parse(memory.path): memory for memory in sorted(found, key=lambda memory: memory.path)}


async def contents(
    remote: "Remote", store_id: str, wanted: "Mapping[StorePath, Memory]", *, among: int
) -> AsyncIterator[Content]:
    """Yield each wanted memory with its content as it is now, in no order; one that is gone by now is left out.

    ``among`` is how many memories the store has: few are asked for one by one, many come with a listing of all.

    Raises:
        RemoteUnavailable: A content is missing, or is not what its digest says.
    """
    if len(wanted) * _PAGE >= among:
        async for item in _all(remote, store_id):
            if item.path in wanted:
                yield _checked(item)
        return
    for path, memory in wanted.items():
        try:
            found = await remote.retrieve_memory(store_id, memory.id)
        except NotFound:
            continue
        if found.path == path:
            yield _checked(found)


async def _all(remote: "Remote", store_id: str) -> "AsyncIterator[Memory]":
    from memfs.api.models import View

    async for item in remote.list_memories(store_id, view=View.FULL):
        if item.type == "memory":
            yield item


def _checked(memory: "Memory") -> Content:
    path = parse(memory.path)
    content = None if memory.content is None else memory.content.encode()
    if content is None or content_sha256(content) != memory.content_sha256:
        raise RemoteUnavailable(f"the remote's content of {path} is not what its digest says")
    return Content(memory, path, content)


async def _some_done(running: set[asyncio.Task[None]]) -> set[asyncio.Task[None]]:
    """Wait until some are done, and return the others."""
    done, running_on = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
    failures = [error for task in done if (error := task.exception())]
    if failures:
        raise failures[0]
    return running_on
