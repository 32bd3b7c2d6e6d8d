"""The endpoints of memories. Each runs in a worker thread; the store decides.

A wrong body is told only after a missing or archived store: a client that sees a 404 or an archived store must not
take it for a fault of this one memory.
"""

from fastapi import APIRouter, Response

from memfs.api import routes
from memfs.api.models import DeletedMemory, Memory, MemoryItem, Page
from memfs.api.requests import CreateMemory, UpdateMemory
from memfs.core import digest, paths
from memfs.core.errors import InvalidRequest
from memfs.core.limits import Limits
from memfs.server import wire
from memfs.server.context import Asked
from memfs.server.described import described
from memfs.server.queries import DeleteMemory, ListMemories, ReadView, WriteView, page_limit
from memfs.server.routing import CallRoute, looks
from memfs.server.store.listing import MemoryFilter
from memfs.server.store.memories import MemoryChange
from memfs.server.store.versions import Content

router = APIRouter(route_class=CallRoute)


@router.post(routes.MEMORIES, openapi_extra=described(Memory, body=CreateMemory, query=WriteView))
def create(store_id: str, call: Asked) -> Response:
    """Make a memory at a free path."""
    try:
        view = wire.query(WriteView, call.query).view
        wanted = wire.body(CreateMemory, call.body)
        path = paths.parse(wanted.path, call.limits)
        content = _content(wanted.content, call.limits)
    except InvalidRequest:
        call.store.stores.check_writable(call.caller, store_id)
        raise
    made = call.store.memories.create(call.caller, store_id, path, content, view=view, is_retry=call.is_retry)
    return wire.answer(made)


@router.get(routes.MEMORIES, openapi_extra=described(Page[MemoryItem], query=ListMemories))
def list_by_path(store_id: str, call: Asked) -> Response:
    """List memories by path."""
    asked = wire.query(ListMemories, call.query)
    wanted = MemoryFilter(path_prefix=asked.path_prefix, direct_only=asked.depth == 1)
    limit = page_limit(asked.limit, asked.view)
    return wire.answer(
        call.store.listing.list(call.caller, store_id, wanted, view=asked.view, limit=limit, page=asked.page)
    )


@router.get(routes.MEMORY, openapi_extra=described(Memory, query=ReadView))
@looks
def retrieve(store_id: str, memory_id: str, call: Asked) -> Response:
    """Return a memory."""
    view = wire.query(ReadView, call.query).view
    return wire.answer(call.store.memories.retrieve(call.caller, store_id, memory_id, view=view))


@router.post(routes.MEMORY, openapi_extra=described(Memory, body=UpdateMemory, query=WriteView))
def update(store_id: str, memory_id: str, call: Asked) -> Response:
    """Change a memory's content, path or both."""
    try:
        view = wire.query(WriteView, call.query).view
        change = _change(wire.body(UpdateMemory, call.body), call.limits)
    except InvalidRequest:
        call.store.memories.check_writable(call.caller, store_id, memory_id)
        raise
    return wire.answer(call.store.memories.update(call.caller, store_id, memory_id, change, view=view))


@router.delete(routes.MEMORY, openapi_extra=described(DeletedMemory, query=DeleteMemory))
def delete(store_id: str, memory_id: str, call: Asked) -> Response:
    """Delete a memory; its history stays."""
    expected = wire.query(DeleteMemory, call.query).expected_content_sha256
    call.store.memories.delete(call.caller, store_id, memory_id, expect_sha256=expected, is_retry=call.is_retry)
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
