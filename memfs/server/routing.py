"""How a request of the API gets to its endpoint: let in, then handed on, in a worker thread unless it is a coroutine.

The route class of every router of the API. FastAPI would resolve the dependencies of each request anew and keep stacks
of contexts for them; here each endpoint has the same one, so it is called at once, which makes a request half as dear.
What an endpoint raises is answered by the application's own handlers.
"""

import inspect

from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from memfs.server.context import let_in


class CallRoute(APIRoute):
    """A route whose endpoint takes the ids in its path, ``call`` and, if it names it, ``request``."""

    def __init__(self, *arguments: object, **options: object) -> None:
        super().__init__(*arguments, **options)  # type: ignore[arg-type]  # handed on as they came
        self.app = self._direct()

    def _direct(self) -> ASGIApp:
        endpoint = self.endpoint
        is_coroutine = inspect.iscoroutinefunction(endpoint)
        takes_request = "request" in inspect.signature(endpoint).parameters

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            request = Request(scope, receive)
            given = scope["path_params"] | {"call": await let_in(request)}
            if takes_request:
                given["request"] = request
            response = await (endpoint(**given) if is_coroutine else run_in_threadpool(endpoint, **given))
            await response(scope, receive, send)

        return app
