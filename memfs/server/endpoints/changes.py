"""The endpoint of the change feed. It waits on the event loop; only its looks into the database take a thread."""

import asyncio
from functools import partial

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from memfs.api import routes
from memfs.api.changes import ChangesPage
from memfs.server import wire
from memfs.server.context import Asked, Parts
from memfs.server.described import described
from memfs.server.queries import FollowChanges
from memfs.server.routing import CallRoute
from memfs.server.waiters import told_or_gone

router = APIRouter(route_class=CallRoute)


@router.get(routes.CHANGES, openapi_extra=described(ChangesPage, query=FollowChanges))
async def follow(store_id: str, call: Asked, request: Request) -> Response:
    """Return what changed after a cursor, as soon as there is something or the time to wait is over."""
    parts: Parts = request.app.state.parts
    asked = wire.query(FollowChanges, call.query)
    read = partial(call.store.changes.page, store_id=store_id, after=asked.after, limit=asked.limit)
    clock = asyncio.get_running_loop().time
    until = clock() + asked.wait
    # Whoever looks first and then waits would not be told of what comes in between.
    with parts.waiters.place(store_id) as told:
        page = await run_in_threadpool(read, call.caller)
        while not page.data and asked.after is not None and not parts.waiters.is_closed:
            left_s = until - clock()
            if left_s <= 0 or not await told_or_gone(told, request, left_s):
                break
            told.clear()
            # The key may have been revoked, or the session ended, meanwhile.
            caller = await parts.access(request)
            # Two callers of one workspace who both see a store see the same changes of it.
            what = (caller.workspace_id, caller.sees(store_id), store_id, asked.after, asked.limit)
            page = await parts.waiters.look(what, partial(read, caller))
        return wire.answer(page)
