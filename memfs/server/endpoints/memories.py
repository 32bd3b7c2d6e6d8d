"""The endpoints of memories. Each runs in a worker thread; the store decides.

A wrong body is told only after a missing or archived store: a client that sees a 404 or an archived store must not
take it for a fault of this one memory.
"""

from fastapi import APIRouter, Request, Response

from memfs.api import routes
from memfs.api.models import DeletedMemory
from memfs.api.requests import CreateMemory, UpdateMemory
from memfs.core import digest, paths
from memfs.core.errors import InvalidRequest
from memfs.core.limits import Limits
from memfs.server import wire
from memfs.server.context import Asking, Body, ServerParts
from memfs.server.queries import DeleteMemory, ListMemories, ReadView, WriteView, page_limit
from memfs.server.store.listing import MemoryFilter
from memfs.server.store.memories import MemoryChange
from memfs.server.store.versions import Content

router = APIRouter()


@router.post(routes.MEMORIES)
def create(store_id: str, parts: ServerParts, caller: Asking, body: Body, request: Request) -> Response:
    """Make a memory at a free path."""
    try:
        view = wire.query(WriteView, request.query_params).view
        wanted = wire.body(CreateMemory, body)
        path = paths.parse(wanted.path, parts.limits)
        content = _content(wanted.content, parts.limits)
    except InvalidRequest:
        parts.store.stores.check_writable(store_id)
        raise
    is_retry = parts.settle_retries and wire.is_retry(request)
    made = parts.store.memories.create(store_id, path, content, view=view, by=caller.actor, is_retry=is_retry)
    return wire.answer(made)


@router.get(routes.MEMORIES)
def list_by_path(store_id: str, parts: ServerParts, _caller: Asking, request: Request) -> Response:
    """List memories by path."""
    asked = wire.query(ListMemories, request.query_params)
    wanted = MemoryFilter(path_prefix=asked.path_prefix, direct_only=asked.depth == 1)
    limit = page_limit(asked.limit, asked.view)
    return wire.answer(parts.store.listing.list(store_id, wanted, view=asked.view, limit=limit, page=asked.page))


@router.get(routes.MEMORY)
def retrieve(store_id: str, memory_id: str, parts: ServerParts, _caller: Asking, request: Request) -> Response:
    """Return a memory."""
    view = wire.query(ReadView, request.query_params).view
    return wire.answer(parts.store.memories.retrieve(store_id, memory_id, view=view))


@router.post(routes.MEMORY)
def update(store_id: str, memory_id: str, parts: ServerParts, caller: Asking, body: Body, request: Request) -> Response:
    """Change a memory's content, path or both."""
    try:
        view = wire.query(WriteView, request.query_params).view
        change = _change(wire.body(UpdateMemory, body), parts.limits)
    except InvalidRequest:
        parts.store.memories.check_writable(store_id, memory_id)
        raise
    return wire.answer(parts.store.memories.update(store_id, memory_id, change, view=view, by=caller.actor))


@router.delete(routes.MEMORY)
def delete(store_id: str, memory_id: str, parts: ServerParts, caller: Asking, request: Request) -> Response:
    """Delete a memory; its history stays."""
    expected = wire.query(DeleteMemory, request.query_params).expected_content_sha256
    parts.store.memories.delete(store_id, memory_id, expect_sha256=expected, by=caller.actor)
    return wire.answer(DeletedMemory(id=memory_id))


def _change(wanted: UpdateMemory, limits: Limits) -> MemoryChange:
    if wanted.content is None and wanted.path is None:
        raise InvalidRequest("the update names neither content nor path", remedy="Send at least one of them")
    return MemoryChange(
        content=None if wanted.content is None else _content(wanted.content, limits),
        path=None if wanted.path is None else paths.parse(wanted.path, limits),
        expect_sha256=None if wanted.precondition is None else wanted.precondition.content_sha256,
    )


def _content(text: str, limits: Limits) -> Content:
    raw = text.encode()
    digest.check_content(raw, limits, "content")
    return Content.of(raw)
