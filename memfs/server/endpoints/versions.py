"""The endpoints of memory versions. Each runs in a worker thread; the store decides."""

from fastapi import APIRouter, Response

from memfs.api import routes
from memfs.api.models import MemoryVersion, Page, View
from memfs.api.requests import Nothing
from memfs.core.errors import InvalidRequest
from memfs.server import wire
from memfs.server.context import Asked
from memfs.server.described import described
from memfs.server.queries import ListVersions, ReadView, page_limit
from memfs.server.routing import CallRoute
from memfs.server.store.versions import VersionFilter

router = APIRouter(route_class=CallRoute)


@router.get(routes.VERSIONS, openapi_extra=described(Page[MemoryVersion], query=ListVersions))
def list_newest(store_id: str, call: Asked) -> Response:
    """List versions, newest first."""
    asked = wire.query(ListVersions, call.query)
    wanted = VersionFilter(
        memory_id=asked.memory_id,
        operation=asked.operation,
        api_key_id=asked.api_key_id,
        session_id=asked.session_id,
        service_account_id=asked.service_account_id,
        created_from=asked.created_from,
        created_to=asked.created_to,
    )
    limit = page_limit(asked.limit, asked.view)
    return wire.answer(
        call.store.versions.list(call.caller, store_id, wanted, view=asked.view, limit=limit, page=asked.page)
    )


@router.get(routes.VERSION, openapi_extra=described(MemoryVersion, query=ReadView))
def retrieve(store_id: str, version_id: str, call: Asked) -> Response:
    """Return a version."""
    view = wire.query(ReadView, call.query).view
    return wire.answer(call.store.versions.retrieve(call.caller, store_id, version_id, view=view))


@router.post(routes.REDACT, openapi_extra=described(MemoryVersion, body=Nothing))
def redact(store_id: str, version_id: str, call: Asked) -> Response:
    """Clear a version for good; the body is empty or ``{}``."""
    try:
        wire.body(Nothing, call.body or b"{}")
    except InvalidRequest:
        call.store.versions.retrieve(call.caller, store_id, version_id, view=View.BASIC)
        raise
    return wire.answer(call.store.versions.redact(call.caller, store_id, version_id))
