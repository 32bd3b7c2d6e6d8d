"""How a request of the API gets to its endpoint: let in, then handed on, in the thread that suits what it does.

The route class of every router of the API. FastAPI would resolve the dependencies of each request anew and keep stacks
of contexts for them; here each endpoint has the same one, so it is called at once, which makes a request half as dear.
What an endpoint raises is answered by the application's own handlers.
"""

import inspect
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from memfs.server.context import Parts, let_in

_Endpoint = TypeVar("_Endpoint", bound=Callable[..., object])
_LOOKS = "memfs_looks"


def looks(endpoint: _Endpoint) -> _Endpoint:
    """Mark an endpoint that reads a row or two and waits for nobody."""
    setattr(endpoint, _LOOKS, True)
    return endpoint


class CallRoute(APIRoute):
    """A route whose endpoint takes the ids in its path, ``call`` and, if it names it, ``request``."""

    def __init__(self, *arguments: object, **options: object) -> None:
        super().__init__(*arguments, **options)  # type: ignore[arg-type]  # handed on as they came
        self.app = self._direct()

    def _direct(self) -> ASGIApp:
        endpoint = self.endpoint
        is_coroutine = inspect.iscoroutinefunction(endpoint)
        takes_request = "request" in inspect.signature(endpoint).parameters
        is_look, reads = hasattr(endpoint, _LOOKS), self.methods == {"GET"}

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            request = Request(scope, receive)
            ids = scope["path_params"]
            act = partial(endpoint, **ids, call=await let_in(request))
            if takes_request:
                act = partial(act, request=request)
            parts: Parts = request.app.state.parts
            if is_coroutine:
                response = await act()
            elif is_look:
                response = await parts.threads.look(act)
            elif reads:
                response = await parts.threads.read(act)
            else:
                response = await parts.threads.write(act, ids.get("store_id"))
            await response(scope, receive, send)

        return app
