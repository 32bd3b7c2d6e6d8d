"""The endpoints of sessions. Each runs in a worker thread; the store decides."""

from fastapi import APIRouter, Response

from memfs.api import routes
from memfs.api.models import Page
from memfs.api.sessions import CreateSession, DeletedSession, MemoryStoreResource, NewSession, Session, UpdateSession
from memfs.core.errors import InvalidRequest
from memfs.server import wire
from memfs.server.context import Asked
from memfs.server.described import described
from memfs.server.queries import ListSessions
from memfs.server.routing import CallRoute
from memfs.server.store.sessions import SessionFilter

router = APIRouter(route_class=CallRoute)


@router.post(routes.SESSIONS, openapi_extra=described(NewSession, body=CreateSession))
def create(call: Asked) -> Response:
    """Make a session; this answer alone has its token."""
    call.caller.check_manages()
    wanted = wire.body(CreateSession, call.body)
    return wire.answer(call.store.sessions.create(call.caller, wanted))


@router.get(routes.SESSIONS, openapi_extra=described(Page[Session], query=ListSessions))
def list_by_moment(call: Asked) -> Response:
    """List sessions, newest first unless asked otherwise."""
    repeated = ",".join([*call.query.getlist("statuses"), *call.query.getlist("statuses[]")])
    asked = wire.query(ListSessions, {**call.query, "statuses": repeated})
    wanted = SessionFilter(
        created_from=asked.created_from,
        created_to=asked.created_to,
        include_archived=asked.include_archived,
        memory_store_id=asked.memory_store_id,
        agent_id=asked.agent_id,
        agent_version=asked.agent_version,
        nothing=asked.is_of_none,
        oldest_first=asked.order == "asc",
    )
    return wire.answer(call.store.sessions.list(call.caller, wanted, limit=asked.limit, page=asked.page))


@router.get(routes.SESSION, openapi_extra=described(Session))
def retrieve(session_id: str, call: Asked) -> Response:
    """Return a session."""
    return wire.answer(call.store.sessions.retrieve(call.caller, session_id))


@router.post(routes.SESSION, openapi_extra=described(Session, body=UpdateSession))
def update(session_id: str, call: Asked) -> Response:
    """Change a session's title and metadata."""
    try:
        wanted = wire.body(UpdateSession, call.body)
    except InvalidRequest:
        call.store.sessions.check_changeable(call.caller, session_id)
        raise
    return wire.answer(call.store.sessions.update(call.caller, session_id, wanted))


@router.delete(routes.SESSION, openapi_extra=described(DeletedSession))
def delete(session_id: str, call: Asked) -> Response:
    """Delete a session; what it wrote stays."""
    call.store.sessions.delete(call.caller, session_id)
    return wire.answer(DeletedSession(id=session_id))


@router.post(routes.ARCHIVE_SESSION, openapi_extra=described(Session))
def archive(session_id: str, call: Asked) -> Response:
    """End a session; the body, if there is one, says nothing."""
    return wire.answer(call.store.sessions.archive(call.caller, session_id))


@router.get(routes.SESSION_RESOURCES, openapi_extra=described(Page[MemoryStoreResource]))
def list_resources(session_id: str, call: Asked) -> Response:
    """List a session's stores, all on one page."""
    found = call.store.sessions.retrieve(call.caller, session_id).resources
    return wire.answer(Page[MemoryStoreResource](data=found))


@router.post(routes.SESSION_RESOURCES, openapi_extra=described(MemoryStoreResource))
def add_resource(session_id: str, call: Asked) -> Response:
    """Refuse: stores are attached when a session is made, and there are no other resources here."""
    call.store.sessions.check_changeable(call.caller, session_id)
    raise InvalidRequest(
        "a memory store is attached when its session is made, and this server has no other resources",
        remedy="Make another session",
    )
