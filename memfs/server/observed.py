"""Each request is counted and, if the operator wishes, told in the access log.

ASGI, between `memfs.server.envelope`, which names the request, and the application. The log has who, what route and
how it went; never a query, a path of a memory, an id beside the actor's, content or a credential.
"""

import logging
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memfs.server.envelope import request_id_of
from memfs.server.metrics import NO_ROUTE, Metrics

ACCESS_LOG = logging.getLogger("memfs.server.access")
_ACTOR = "memfs_actor"
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_GONE = 499
"""What is counted where the client went away before an answer, as nginx has it."""


class Observed:
    """Wraps the application."""

    def __init__(self, app: ASGIApp, metrics: Metrics, *, access_log: bool) -> None:
        self._app = app
        self._metrics = metrics
        self._access_log = access_log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        began_s = time.perf_counter()
        status, sent_bytes = _GONE, 0

        async def counted(message: Message) -> None:
            nonlocal status, sent_bytes
            if message["type"] == "http.response.start":
                status = message["status"]
            else:
                sent_bytes += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, counted)
        finally:
            self._tell(scope, status, sent_bytes, time.perf_counter() - began_s)

    def _tell(self, scope: Scope, status: int, sent_bytes: int, seconds: float) -> None:
        # What a client may invent must not become a label, nor a line's own text.
        method = scope["method"] if scope["method"] in _METHODS else "OTHER"
        route: str = getattr(scope.get("route"), "path", NO_ROUTE)
        self._metrics.answered(method, route, status, seconds)
        if self._access_log:
            ACCESS_LOG.info(
                "%s %s %s %d %.1f ms %d bytes %s",
                request_id_of(scope), method, route, status, seconds * 1_000, sent_bytes, scope.get(_ACTOR, "-"),
            )  # fmt: skip


def name_actor(scope: Scope, actor: str) -> None:
    """Let the log of this request name who asked: an id, ``apikey_…`` or ``sesn_…``."""
    scope[_ACTOR] = actor
