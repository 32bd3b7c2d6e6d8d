"""Several calls at a time, and items in batches; used where the worker asks the remote for many things."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Iterable
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


async def batches(items: AsyncIterator[Item], size: int) -> AsyncIterator[list[Item]]:
    """Yield lists of ``size`` items, the last one with what is left."""
    batch: list[Item] = []
    async for item in items:
        batch.append(item)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


async def in_parallel(calls: Iterable[Awaitable[Result]], most: int) -> list[Result]:
    """Await all, at most so many at a time; the first failure cancels the others and is raised."""
    waiting = deque(enumerate(calls))
    results: dict[int, Result] = {}

    async def work() -> None:
        while waiting:
            index, call = waiting.popleft()
            results[index] = await call

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(most, len(waiting))):
                group.create_task(work())
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    finally:
        for _, call in waiting:
            if asyncio.iscoroutine(call):
                call.close()
    return [results[index] for index in sorted(results)]
