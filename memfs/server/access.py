"""May this request come in? Its credential, then its beta header.

A dependency of every endpoint of the API. Runs on the event loop; only a key that was not seen for some seconds costs
a look into the database, in a thread.
"""

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from memfs.api import routes
from memfs.core.errors import AuthenticationFailed, InvalidRequest
from memfs.server.keys import Keys
from memfs.server.store.callers import Caller


class Access:
    """Tells who asks, or refuses.

    Args:
        keys: The keys that open the server.
        strict_beta: Refuse a request without a beta header, as the hosted API does.
    """

    def __init__(self, keys: Keys, *, strict_beta: bool) -> None:
        self._keys = keys
        self._strict_beta = strict_beta

    async def __call__(self, request: Request) -> Caller:
        """Return the caller.

        Raises:
            AuthenticationFailed: The request has no credential, or one that the server does not know.
            InvalidRequest: Its beta header is not one of the two.
        """
        token = _token(request)
        if not token:
            raise AuthenticationFailed("the request has no API key", remedy="Send Authorization: Bearer KEY")
        caller = self._keys.remembered(token) or await run_in_threadpool(self._keys.find, token)
        if caller is None:
            raise AuthenticationFailed(
                "the API key is not known to this server",
                remedy="Its first key is in the api-key of its data directory",
            )
        self._check_beta(request)
        return caller

    def _check_beta(self, request: Request) -> None:
        sent = ",".join(request.headers.getlist(routes.BETA))
        betas = {value.strip() for value in sent.split(",")} & {routes.BETA_MEMORY, routes.BETA_MANAGED_AGENTS}
        if len(betas) > 1:
            raise InvalidRequest(
                f"the header {routes.BETA} names {routes.BETA_MEMORY} and {routes.BETA_MANAGED_AGENTS}",
                remedy="Send one of them",
            )
        if self._strict_beta and not betas:
            raise InvalidRequest(
                f"the header {routes.BETA} is missing", remedy=f"Send {routes.BETA}: {routes.BETA_MEMORY}"
            )


def _token(request: Request) -> str:
    scheme, _, credential = request.headers.get(routes.AUTHORIZATION, "").partition(" ")
    if scheme.lower() == "bearer" and credential.strip():
        return credential.strip()
    return request.headers.get(routes.API_KEY, "").strip()
