"""Whole listings of a remote as lists, for tests that compare them."""

from typing import Any

from memfs.api.models import Memory, MemoryPrefix, MemoryVersion
from memfs.remote.protocol import Remote


async def memories(remote: Remote, store_id: str, **asked: Any) -> list[Memory | MemoryPrefix]:
    return [item async for item in remote.list_memories(store_id, **asked)]


async def shown(remote: Remote, store_id: str, **asked: Any) -> list[str]:
    return [item.path for item in await memories(remote, store_id, **asked)]


async def versions(remote: Remote, store_id: str, **asked: Any) -> list[MemoryVersion]:
    return [item async for item in remote.list_versions(store_id, **asked)]
