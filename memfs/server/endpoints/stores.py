"""The endpoints of memory stores. Each runs in a worker thread; the store decides."""

from fastapi import APIRouter, Request, Response

from memfs.api import routes
from memfs.api.models import DeletedStore
from memfs.api.requests import CreateStore, UpdateStore
from memfs.core.errors import InvalidRequest
from memfs.server import wire
from memfs.server.context import Asking, Body, ServerParts
from memfs.server.queries import ListStores
from memfs.server.store.stores import StoreFilter

router = APIRouter()


@router.post(routes.STORES)
def create(parts: ServerParts, caller: Asking, body: Body, request: Request) -> Response:
    """Make a store."""
    wanted = wire.body(CreateStore, body)
    is_retry = parts.settle_retries and wire.is_retry(request)
    return wire.answer(parts.store.stores.create(wanted, by=caller.actor, is_retry=is_retry))


@router.get(routes.STORES)
def list_newest(parts: ServerParts, _caller: Asking, request: Request) -> Response:
    """List stores, newest first."""
    asked = wire.query(ListStores, request.query_params)
    wanted = StoreFilter(
        created_from=asked.created_from, created_to=asked.created_to, include_archived=asked.include_archived
    )
    return wire.answer(parts.store.stores.list(wanted, limit=asked.limit, page=asked.page))


@router.get(routes.STORE)
def retrieve(store_id: str, parts: ServerParts, _caller: Asking) -> Response:
    """Return a store."""
    return wire.answer(parts.store.stores.retrieve(store_id))


@router.post(routes.STORE)
def update(store_id: str, parts: ServerParts, _caller: Asking, body: Body) -> Response:
    """Change a store's own fields."""
    try:
        wanted = wire.body(UpdateStore, body)
    except InvalidRequest:
        parts.store.stores.check_writable(store_id)
        raise
    return wire.answer(parts.store.stores.update(store_id, wanted))


@router.post(routes.ARCHIVE)
def archive(store_id: str, parts: ServerParts, _caller: Asking) -> Response:
    """Archive a store; the body, if there is one, says nothing."""
    return wire.answer(parts.store.stores.archive(store_id))


@router.delete(routes.STORE)
def delete(store_id: str, parts: ServerParts, _caller: Asking) -> Response:
    """Delete a store and all that is in it."""
    parts.store.stores.delete(store_id)
    return wire.answer(DeletedStore(id=store_id))
