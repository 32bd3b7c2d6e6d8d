"""What an endpoint is handed, beside its path: the server's parts, the caller, the body.

Dependencies for FastAPI; they run on the event loop, in the order in which an endpoint names them: caller, then body.
"""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from memfs.core.limits import Limits
from memfs.server.access import Access, Caller
from memfs.server.store.sql import SqlStore
from memfs.server.wire import read_body


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts of a server, made once at its start."""

    store: SqlStore
    access: Access
    limits: Limits
    body_cap: int
    settle_retries: bool
    """Answer a repeated create whose first answer was lost with what the first one made."""


async def _parts(request: Request) -> Parts:
    parts: Parts = request.app.state.parts
    return parts


async def _caller(request: Request, parts: Annotated[Parts, Depends(_parts)]) -> Caller:
    return await parts.access(request)


async def _body(request: Request, parts: Annotated[Parts, Depends(_parts)]) -> bytes:
    return await read_body(request, parts.body_cap)


ServerParts = Annotated[Parts, Depends(_parts)]
Asking = Annotated[Caller, Depends(_caller)]
Body = Annotated[bytes, Depends(_body)]
