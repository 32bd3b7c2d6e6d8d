"""What is not of the API and needs no key: is the server well, what does it count, what are its endpoints.

Nothing here names a store, a path, a key or what is in them.
"""

from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse

from memfs.api import routes
from memfs.core.errors import RemoteUnavailable
from memfs.server import docs_page, envelope, metrics
from memfs.server.context import Parts

router = APIRouter()


@router.get(routes.HEALTH, response_class=JSONResponse)
async def healthy() -> Response:
    """Tell that the process lives; it asks nobody else."""
    return JSONResponse({"status": "ok"})


@router.get(routes.READY, response_class=JSONResponse)
def ready(request: Request) -> Response:
    """Tell that requests can be served: the database answers, and the server is not about to end. 503 otherwise."""
    parts = _parts(request)
    try:
        if parts.waiters.is_closed:
            raise RemoteUnavailable("the server is stopping", retry_after_s=1.0)  # noqa: TRY301  (answered as the other)
        parts.store.check()
    except RemoteUnavailable as error:
        # What balancers know, which ask often: the log has it from the requests that it concerns.
        return envelope.answer(error, request.scope, status=503)
    return JSONResponse({"status": "ok"})


@router.get(routes.METRICS, response_class=PlainTextResponse)
def counted(request: Request) -> Response:
    """Return the page that Prometheus reads."""
    return Response(_parts(request).metrics.page(), media_type=metrics.CONTENT_TYPE)


@router.get(routes.OPENAPI, response_class=JSONResponse)
async def described(request: Request) -> Response:
    """Return the OpenAPI document."""
    return JSONResponse(_document(request))


@router.get(routes.DOCS, response_class=HTMLResponse)
async def shown(request: Request) -> Response:
    """Return the endpoints as a page for people."""
    return HTMLResponse(docs_page.page(_document(request)))


def _parts(request: Request) -> Parts:
    parts: Parts = request.app.state.parts
    return parts


def _document(request: Request) -> dict[str, Any]:
    document: dict[str, Any] = request.app.state.document
    return document
