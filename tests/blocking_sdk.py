"""The async SDK as if it were the sync one, so that one test speaks to a server through both.

What the SDK would return to ``await`` is returned, what it would yield to ``async for`` is yielded. For one thread.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from inspect import isawaitable
from typing import Any, cast

import anthropic
import httpx
from anthropic._base_client import AsyncPaginator
from anthropic._resource import AsyncAPIResource

KINDS = ("sync", "async")


class Blocking:
    """A client, a resource or a method of the async SDK."""

    def __init__(self, target: Any, runner: asyncio.Runner) -> None:
        self._target = target
        self._runner = runner

    def __getattr__(self, name: str) -> Any:
        return self._settled(getattr(self._target, name))

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._settled(self._target(*arguments, **named))

    def _settled(self, value: Any) -> Any:
        if isinstance(value, AsyncPaginator):
            return Pages(self._runner.run(_awaited(value)), self._runner)
        if isawaitable(value):
            return self._runner.run(_awaited(value))
        return Blocking(value, self._runner) if isinstance(value, AsyncAPIResource) or callable(value) else value


class Pages:
    """A listing whose first page is there: the items of all pages when it is iterated, else that page."""

    def __init__(self, first: Any, runner: asyncio.Runner) -> None:
        self._first = first
        self._runner = runner

    def __iter__(self) -> Iterator[Any]:
        return iter(self._runner.run(_collected(self._first)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._first, name)


@contextmanager
def sdk_client(kind: str, requests: list[httpx.Request], **options: Any) -> Iterator[anthropic.Anthropic]:
    """Open the SDK; ``requests`` becomes what it really sends, retries included.

    Args:
        kind: One of `KINDS`.
        requests: The requests are added to it.
        options: Of the SDK's client.
    """
    if kind == "sync":
        with anthropic.Anthropic(**options) as client:
            client._client.event_hooks["request"].append(requests.append)
            yield client
        return
    with asyncio.Runner() as runner:
        target = anthropic.AsyncAnthropic(**options)
        target._client.event_hooks["request"].append(partial(_noted, requests))
        yield cast("anthropic.Anthropic", Blocking(target, runner))
        runner.run(target.close())


async def _noted(requests: list[httpx.Request], request: httpx.Request) -> None:
    requests.append(request)


async def _awaited(value: Any) -> Any:
    return await value


async def _collected(first: Any) -> list[Any]:
    return [item async for item in first]
