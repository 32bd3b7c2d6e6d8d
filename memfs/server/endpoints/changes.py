"""The endpoint of the change feed. It waits on the event loop; only its looks into the database take a thread."""

import asyncio

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from memfs.api import routes
from memfs.server import wire
from memfs.server.context import Asked, Parts
from memfs.server.queries import FollowChanges
from memfs.server.waiters import told_or_gone

router = APIRouter()


@router.get(routes.CHANGES)
async def follow(store_id: str, call: Asked, request: Request) -> Response:
    """Return what changed after a cursor, as soon as there is something or the time to wait is over."""
    parts: Parts = request.app.state.parts
    asked = wire.query(FollowChanges, call.query)
    clock = asyncio.get_running_loop().time
    until = clock() + asked.wait
    caller = call.caller
    with parts.waiters.place(store_id) as told:
        while True:
            told.clear()
            page = await run_in_threadpool(
                call.store.changes.page, caller, store_id, after=asked.after, limit=asked.limit
            )
            left_s = until - clock()
            if page.data or asked.after is None or left_s <= 0 or parts.waiters.is_closed:
                return wire.answer(page)
            if not await told_or_gone(told, request, left_s):
                return wire.answer(page)
            # The key may have been revoked, or the session ended, meanwhile.
            caller = await parts.access(request)
