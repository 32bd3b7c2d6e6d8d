"""The outermost layer: every answer has a request id, and every failure is an answer of the API.

ASGI, one instance per server. It also routes by the path as it was sent, so that an encoded slash in an id stays part
of the id. A bug is logged here, once, by its request id, and answered with 500.
"""

import json
import logging
import re
from collections.abc import Mapping
from urllib.parse import unquote

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memfs.api import errors, routes
from memfs.core.errors import InvalidRequest, MemfsError
from memfs.server.store.stamps import Stamps, identifier

_logger = logging.getLogger(__name__)
_STATE = "memfs_request_id"
_WORKSPACE = "memfs_workspace_id"
_ABSOLUTE = re.compile(rb"\Ahttps?://[^/?]*/?", re.IGNORECASE)
"""The begin of a target as it is sent to proxies, which every server must understand as well."""


class Envelope:
    """Wraps the application.

    Args:
        app: What answers.
        stamps: For the ids of requests.
    """

    def __init__(self, app: ASGIApp, stamps: Stamps) -> None:
        self._app = app
        self._stamps = stamps

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = identifier("req", self._stamps.now())
        scope[_STATE] = request_id
        scope["path"] = _as_sent(scope)
        is_answered = False

        async def send_with_id(message: Message) -> None:
            nonlocal is_answered
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_named(scope)]
            await send(message)
            is_answered = message["type"] == "http.response.body" and not message.get("more_body", False)

        app = _refuse_ambiguous if _is_ambiguous(scope) else self._app
        try:
            await app(scope, receive, send_with_id)
        except Exception:
            # The application has answered with 500 (see `failure`) and passes the error on for the log.
            _logger.exception("request %s failed", request_id)
            if not is_answered:
                raise


def request_id_of(scope: Scope) -> str:
    """Return the id that the answer to this request names."""
    found: str = scope[_STATE]
    return found


def name_workspace(scope: Scope, workspace_id: str) -> None:
    """Let the answer to this request name the workspace of its credential."""
    scope[_WORKSPACE] = workspace_id


def failure(scope: Scope) -> Response:
    """Return the response for a bug."""
    return answer(MemfsError("the server failed; its log says why under this request id"), scope)


def answer(
    error: MemfsError, scope: Scope, *, status: int | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """Return the response for ``error``; ``status`` replaces the one of its class, ``headers`` are added to its own."""
    content = json.dumps(errors.body(error, scope[_STATE]), ensure_ascii=True)
    return Response(
        content,
        status_code=error.http_status if status is None else status,
        headers=errors.headers(error) | dict(headers or {}),
        media_type="application/json",
    )


def _named(scope: Scope) -> list[tuple[bytes, bytes]]:
    named = [(routes.REQUEST_ID, scope[_STATE]), (routes.ANNOUNCEMENT, "1")]
    if _WORKSPACE in scope:
        named.append((routes.WORKSPACE, scope[_WORKSPACE]))
    return [(name.encode(), value.encode()) for name, value in named]


def _is_ambiguous(scope: Scope) -> bool:
    # What stands between may go by the length and we by the chunks: then the rest is a request that nobody sent.
    names = {name for name, _ in scope["headers"]}
    return b"content-length" in names and b"transfer-encoding" in names


async def _refuse_ambiguous(scope: Scope, receive: Receive, send: Send) -> None:
    refused = InvalidRequest("the request has both content-length and transfer-encoding", remedy="Send one of them")
    await answer(refused, scope, headers={"connection": "close"})(scope, receive, send)


def _as_sent(scope: Scope) -> str:
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    if not raw.startswith(b"/"):
        raw = _ABSOLUTE.sub(b"/", raw, count=1)
    names = raw.partition(b"?")[0].decode("latin-1").split("/")
    return "/".join(unquote(name).replace("/", "%2F").replace("\n", "%0A") for name in names)
