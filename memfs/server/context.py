"""What an endpoint is handed beside the ids in its path: a call that was let in, with its body read.

A dependency for FastAPI that runs on the event loop: first who asks, then what for. One for all endpoints, since each
further one costs every request a round of resolving.
"""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from starlette.datastructures import QueryParams

from memfs.core.limits import Limits
from memfs.server import wire
from memfs.server.access import Access
from memfs.server.metrics import Metrics
from memfs.server.observed import name_actor
from memfs.server.rates import Rates
from memfs.server.store.callers import Caller
from memfs.server.store.sql import SqlStore
from memfs.server.threads import Threads
from memfs.server.waiters import Waiters


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts of a server, made once at its start."""

    store: SqlStore
    access: Access
    limits: Limits
    body_cap: int
    """Bytes of a request's body that are read at all."""
    waiters: Waiters
    rates: Rates
    metrics: Metrics
    threads: Threads
    settle_retries: bool
    """Answer a repeated create whose first answer was lost with what the first one made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request that was let in."""

    store: SqlStore
    limits: Limits
    caller: Caller
    query: QueryParams
    body: bytes
    is_retry: bool
    """An attempt before this one may have done what is asked, and its answer was lost."""


async def let_in(request: Request) -> Call:
    """Return the call that a request is, or refuse it."""
    parts: Parts = request.app.state.parts
    caller = await parts.access(request)
    name_actor(request.scope, caller.actor)
    parts.rates.take(caller.actor)
    return Call(
        store=parts.store,
        limits=parts.limits,
        caller=caller,
        query=request.query_params,
        body=await wire.read_body(request, parts.body_cap),
        is_retry=parts.settle_retries and wire.is_retry(request),
    )


Asked = Annotated[Call, Depends(let_in)]
