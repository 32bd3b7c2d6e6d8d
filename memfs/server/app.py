"""The store server as an ASGI application: the Memory Stores API over one store.

Stateless but for some seconds' memory of which keys are known: any number of processes may serve one database.
"""

import logging
import time

from fastapi import FastAPI, Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp

from memfs.core.errors import InvalidRequest, MemfsError, NotFound
from memfs.server import envelope, openapi
from memfs.server.access import Access
from memfs.server.context import Parts
from memfs.server.credentials import Credentials
from memfs.server.endpoints import changes, memories, operations, sessions, stores, versions
from memfs.server.metrics import Metrics
from memfs.server.observed import Observed
from memfs.server.options import ServerOptions
from memfs.server.rates import Rates
from memfs.server.store.sql import SqlStore
from memfs.server.store.stamps import Stamps
from memfs.server.threads import Threads
from memfs.server.waiters import Waiters

_logger = logging.getLogger(__name__)
_BAD_REQUEST = 400
_NOT_FOUND = 404
_NOT_ALLOWED = 405
_FAILURE = 500
_WORTH_PACKING = 4_096
"""Bytes of an answer from which on gzip saves more than it costs: a page of a listing, not a small memory."""


def create_app(
    store: SqlStore,
    credentials: Credentials,
    stamps: Stamps,
    options: ServerOptions,
    waiters: Waiters,
    metrics: Metrics,
    threads: Threads,
) -> ASGIApp:
    """Return the application.

    Args:
        store: What it serves.
        credentials: Who may use it.
        stamps: For the ids of requests.
        options: What the operator chose.
        waiters: Who waits for changes.
        metrics: What it counts.
        threads: Where its endpoints run; started before the first request.
    """
    app = _bare_application()
    app.state.parts = Parts(
        store=store,
        access=Access(credentials, strict_beta=options.strict_beta),
        limits=options.limits,
        body_cap=options.body_cap,
        waiters=waiters,
        rates=Rates(options.requests_per_minute, time.monotonic),
        metrics=metrics,
        threads=threads,
        settle_retries=options.settle_retries,
    )
    app.state.routes = []
    for part in (stores, memories, versions, changes, sessions, operations):
        app.state.routes += part.router.routes
    # Not as included routers: each of them would be a further round of matching for each request.
    app.router.routes += app.state.routes
    app.state.document = openapi.document(app.state.routes)
    # The lowest level: it runs on the event loop, and JSON of paths and texts shrinks well even so.
    app.add_middleware(GZipMiddleware, minimum_size=_WORTH_PACKING, compresslevel=1)
    app.add_exception_handler(MemfsError, _refused)
    app.add_exception_handler(HTTPException, _unrouted)
    app.add_exception_handler(ClientDisconnect, _gone)
    app.add_exception_handler(Exception, _failed)
    observed = Observed(app, metrics, access_log=options.access_log)
    return envelope.Envelope(observed, stamps)


def _bare_application() -> FastAPI:
    return FastAPI(
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        # What requests hold is nobody else's: nothing of them goes to collectors that the environment may name.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )


async def _refused(request: Request, error: Exception) -> Response:
    if not isinstance(error, MemfsError):
        raise error
    if error.http_status >= _FAILURE:
        # The caller is not to blame: whoever runs the server must read it too.
        _logger.warning("request %s could not be served: %s", envelope.request_id_of(request.scope), error)
        parts: Parts = request.app.state.parts
        parts.metrics.failed()
    return envelope.answer(error, request.scope)


async def _gone(_request: Request, _error: Exception) -> Response:
    # Nobody reads it: a client that went away in the middle of its body is no bug to be logged.
    return Response(status_code=_BAD_REQUEST)


async def _failed(request: Request, _error: Exception) -> Response:
    return envelope.failure(request.scope)


async def _unrouted(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    if error.status_code == _NOT_FOUND:
        return envelope.answer(NotFound("there is no such endpoint", remedy="Check the base URL"), request.scope)
    refused = InvalidRequest(f"{request.method} is not answered here")
    headers = {name.lower(): value for name, value in (error.headers or {}).items()}
    if error.status_code == _NOT_ALLOWED:
        headers["allow"] = ", ".join(sorted(_methods_at(request)))
    return envelope.answer(refused, request.scope, status=error.status_code, headers=headers)


def _methods_at(request: Request) -> set[str]:
    """Return every method that the path answers; the error names those of one route of it only."""
    found: set[str] = set()
    for route in request.app.state.routes:
        if isinstance(route, APIRoute) and route.path_regex.match(request.scope["path"]):
            found |= route.methods or set()
    return found
