"""May this request come in? Its credential, then the workspace that it names, then its beta header.

A dependency of every endpoint of the API. Runs on the event loop; only a token that was not seen for some seconds costs
a look into the database, in a thread.
"""

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from memfs.api import routes
from memfs.core.errors import AuthenticationFailed, InvalidRequest, PermissionRefused
from memfs.server import envelope
from memfs.server.credentials import Credentials
from memfs.server.store.callers import Caller


class Access:
    """Tells who asks, or refuses.

    Args:
        credentials: The tokens that open the server.
        strict_beta: Refuse a request without a beta header, as the hosted API does.
    """

    def __init__(self, credentials: Credentials, *, strict_beta: bool) -> None:
        self._credentials = credentials
        self._strict_beta = strict_beta

    async def __call__(self, request: Request) -> Caller:
        """Return the caller.

        Raises:
            AuthenticationFailed: The request has no credential, or one that the server does not know.
            PermissionRefused: It names a workspace that is not the one of its credential.
            InvalidRequest: Its beta header is not one of the two.
        """
        token = _token(request)
        if not token:
            raise AuthenticationFailed(
                "the request has no API key", remedy="Send Authorization: Bearer KEY, or x-api-key: KEY"
            )
        caller = self._credentials.remembered(token) or await run_in_threadpool(self._credentials.find, token)
        if caller is None:
            raise AuthenticationFailed(
                "the API key or session token is not known to this server",
                remedy="Its first key is in the api-key of its data directory; a session's token ends with the session",
            )
        envelope.name_workspace(request.scope, caller.workspace_id)
        _check_workspace(request, caller)
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
        of_sessions = request.scope["path"].startswith(routes.SESSIONS)
        wanted = routes.BETA_MANAGED_AGENTS if of_sessions else routes.BETA_MEMORY
        if self._strict_beta and (not betas or (of_sessions and wanted not in betas)):
            raise InvalidRequest(
                f"the header {routes.BETA} is missing or not the one of this endpoint",
                remedy=f"Send {routes.BETA}: {wanted}",
            )


def _check_workspace(request: Request, caller: Caller) -> None:
    named = request.headers.get(routes.WORKSPACE)
    if named is not None and named != caller.workspace_id:
        raise PermissionRefused(
            f"the header {routes.WORKSPACE} does not name the workspace of the credential",
            remedy=f"Send {routes.WORKSPACE}: {caller.workspace_id}, or leave it out",
        )


def _token(request: Request) -> str:
    scheme, _, credential = request.headers.get(routes.AUTHORIZATION, "").partition(" ")
    if scheme.lower() == "bearer" and credential.strip():
        return credential.strip()
    return request.headers.get(routes.API_KEY, "").strip()
