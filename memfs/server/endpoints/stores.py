"""The endpoints of memory stores. Each runs in a worker thread; the store decides."""

from fastapi import APIRouter, Response

from memfs.api import routes
from memfs.api.models import DeletedStore, Page, Store
from memfs.api.requests import CreateStore, UpdateStore
from memfs.core.errors import InvalidRequest
from memfs.server import wire
from memfs.server.context import Asked
from memfs.server.described import described
from memfs.server.queries import ListStores
from memfs.server.routing import CallRoute
from memfs.server.store.stores import StoreFilter

router = APIRouter(route_class=CallRoute)


@router.post(routes.STORES, openapi_extra=described(Store, body=CreateStore))
def create(call: Asked) -> Response:
    """Make a store."""
    wanted = wire.body(CreateStore, call.body)
    return wire.answer(call.store.stores.create(call.caller, wanted, is_retry=call.is_retry))


@router.get(routes.STORES, openapi_extra=described(Page[Store], query=ListStores))
def list_newest(call: Asked) -> Response:
    """List stores, newest first."""
    asked = wire.query(ListStores, call.query)
    wanted = StoreFilter(
        created_from=asked.created_from, created_to=asked.created_to, include_archived=asked.include_archived
    )
    return wire.answer(call.store.stores.list(call.caller, wanted, limit=asked.limit, page=asked.page))


@router.get(routes.STORE, openapi_extra=described(Store))
def retrieve(store_id: str, call: Asked) -> Response:
    """Return a store."""
    return wire.answer(call.store.stores.retrieve(call.caller, store_id))


@router.post(routes.STORE, openapi_extra=described(Store, body=UpdateStore))
def update(store_id: str, call: Asked) -> Response:
    """Change a store's own fields."""
    try:
        wanted = wire.body(UpdateStore, call.body)
    except InvalidRequest:
        call.store.stores.check_writable(call.caller, store_id)
        raise
    return wire.answer(call.store.stores.update(call.caller, store_id, wanted))


@router.post(routes.ARCHIVE, openapi_extra=described(Store))
def archive(store_id: str, call: Asked) -> Response:
    """Archive a store; the body, if there is one, says nothing."""
    return wire.answer(call.store.stores.archive(call.caller, store_id))


@router.delete(routes.STORE, openapi_extra=described(DeletedStore))
def delete(store_id: str, call: Asked) -> Response:
    """Delete a store and all that is in it."""
    call.store.stores.delete(call.caller, store_id)
    return wire.answer(DeletedStore(id=store_id))
