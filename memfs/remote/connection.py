"""One connection pool to one base URL: how a call is sent, and when an answer is none (`RemoteUnavailable`).

The only importer of httpx; used by `HttpRemote`. Nothing is repeated here (`Retrying` does that). Messages name the
base URL, never the key and never a content. One event loop; calls may run in parallel, ``in_flight`` at a time. Proxy
and CA settings of the environment apply as httpx reads them; no proxy is asked for a remote on this host.
"""

import asyncio
import json
import ssl
from collections.abc import Mapping
from contextlib import nullcontext
from ipaddress import ip_address
from typing import Any, Final, NoReturn, TypeVar
from urllib.parse import quote, urlencode

import httpx
from pydantic import TypeAdapter, ValidationError

import memfs
from memfs.api import errors, routes
from memfs.core.errors import AuthenticationFailed, ConfigError, InvalidRequest, RemoteUnavailable

Result = TypeVar("Result")

_KEEPALIVE_S: Final = 30.0
_OTHER_NAME: Final = frozenset({62, 64})
"""OpenSSL's numbers of a certificate for another host and for another address."""
_EXPIRED: Final = 10
_KEY_REFUSED: Final = ("API key", "Check --api-key-file or MEMFS_API_KEY")
_TOKEN_REFUSED: Final = (
    "session's token",
    "The session has ended, or --session-token-file or MEMFS_SESSION_TOKEN is not its token",
)
_REMEDY: Final = "Check the base URL, and that the server runs"


class Connection:
    """Calls to the API below ``base_url``; the arguments are those of `HttpRemote`."""

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        connect_timeout_s: float,
        timeout_s: float,
        in_flight: int,
        transport: httpx.AsyncBaseTransport | None,
        is_session_token: bool = False,
    ) -> None:
        url = _parse_base_url(base_url)
        if not api_key or not api_key.isascii() or not api_key.isprintable() or " " in api_key:
            raise ConfigError(f"the API key for {url} is empty or has characters that no key has")
        self._base_url = str(url).rstrip("/")
        self._is_session_token = is_session_token
        self._timeout_s = timeout_s
        self._connect_timeout_s = connect_timeout_s
        self._has_answered = False
        self.offers_changes = False
        """Whether an answer has announced the change feed."""
        self._turn = asyncio.Semaphore(in_flight)
        self._client = httpx.AsyncClient(
            headers={
                routes.AUTHORIZATION: f"Bearer {api_key}",
                routes.ANTHROPIC_VERSION: routes.VERSION_VALUE,
                "user-agent": f"memfs/{memfs.__version__}",
                "accept": "application/json",
            },
            timeout=httpx.Timeout(timeout_s, connect=connect_timeout_s),
            # `_turn` bounds the calls; calls that only wait for the other side come on top.
            limits=httpx.Limits(
                max_connections=None, max_keepalive_connections=in_flight, keepalive_expiry=_KEEPALIVE_S
            ),
            transport=transport,
            verify=httpx.create_ssl_context(),
            trust_env=not _is_this_host(url.host),
        )

    async def call(
        self,
        method: str,
        where: str,
        shape: TypeAdapter[Result],
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        wait_s: float = 0,
        beta: str = routes.BETA_MEMORY,
    ) -> Result:
        """Send a request and return its answer as ``shape`` reads it.

        A call that asks the other side to wait for ``wait_s`` seconds has that much more time, and holds up no other.

        Raises:
            MemfsError: What the answer says (`memfs.api.errors`); RemoteUnavailable where there is no usable one.
        """
        # Not handed to httpx, which writes a space in a query as +: the API's own clients send %20.
        url = self._base_url + where + (f"?{urlencode(query, quote_via=quote)}" if query else "")
        content = None if body is None else _encode(body)
        headers = {routes.BETA: beta} | ({} if body is None else {"content-type": "application/json"})
        timeout_s = self._timeout_s + wait_s
        limit = httpx.Timeout(timeout_s, connect=self._connect_timeout_s)
        try:
            async with nullcontext() if wait_s else self._turn, asyncio.timeout(timeout_s):
                response = await self._client.request(method, url, content=content, headers=headers, timeout=limit)
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
            raise self._unreachable(error) from None
        self._has_answered = True
        self.offers_changes = self.offers_changes or routes.ANNOUNCEMENT in response.headers
        if not response.is_success:
            self._raise(response)
        return self._parse(response, shape)

    async def aclose(self) -> None:
        """Let go of the connections."""
        await self._client.aclose()

    def _parse(self, response: httpx.Response, shape: TypeAdapter[Result]) -> Result:
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise RemoteUnavailable(f"{self._base_url} answered {kind or 'nothing'} instead of JSON", remedy=_REMEDY)
        try:
            return shape.validate_json(response.content)
        except ValidationError as error:
            # The input stays out of the message: it may be a memory's content.
            trouble = error.errors(include_url=False, include_context=False, include_input=False)[0]
            place = ".".join(map(str, trouble["loc"])) or "the body"
            raise RemoteUnavailable(
                f"{self._base_url} answered what is no Memory Stores API: {place} ({trouble['type']})", remedy=_REMEDY
            ) from None

    def _raise(self, response: httpx.Response) -> NoReturn:
        error = errors.from_response(response.status_code, response.content, response.headers)
        if isinstance(error, RemoteUnavailable):
            message = f"{self._base_url}: {error.message}"
            raise type(error)(message, retry_after_s=error.retry_after_s, remedy=error.remedy)
        if isinstance(error, AuthenticationFailed):
            what, remedy = _TOKEN_REFUSED if self._is_session_token else _KEY_REFUSED
            raise AuthenticationFailed(f"{self._base_url} refuses the {what}: {error.message}", remedy=remedy)
        raise error

    def _unreachable(self, error: Exception) -> RemoteUnavailable:
        """Say what kept the answer away. Other texts of httpx are left out: one quotes a header, and so the key."""
        if isinstance(error, httpx.TimeoutException | TimeoutError):
            return RemoteUnavailable(f"{self._base_url} did not answer in time", remedy=_REMEDY)
        tls_failure = _tls_failure(error)
        if isinstance(tls_failure, ssl.SSLCertVerificationError):
            return self._not_trusted(tls_failure)
        if tls_failure is not None and not self._has_answered:
            why = tls_failure.reason or type(tls_failure).__name__
            return RemoteUnavailable(
                f"{self._base_url} does not speak TLS as it should ({why})",
                remedy=f"Try {self._base_url.replace('https://', 'http://', 1)} if it serves plain HTTP",
            )
        if isinstance(error, httpx.ConnectError):
            return RemoteUnavailable(f"{self._base_url} cannot be reached ({error})", remedy=_REMEDY)
        if isinstance(error, httpx.RemoteProtocolError | httpx.ReadError) and not self._has_answered:
            scheme, _, rest = self._base_url.partition("://")
            if scheme == "http":
                return RemoteUnavailable(
                    f"{self._base_url} broke off without an answer ({type(error).__name__})",
                    remedy=f"Check that the server runs; try https://{rest} if it serves HTTPS",
                )
        return RemoteUnavailable(f"{self._base_url} broke off the answer ({type(error).__name__})", remedy=_REMEDY)

    def _not_trusted(self, error: ssl.SSLCertVerificationError) -> RemoteUnavailable:
        """Say what is wrong with the certificate, and what helps."""
        remedy = "Name the file of its certificate, or of who signed it, in SSL_CERT_FILE"
        if error.verify_code in _OTHER_NAME:
            remedy = "Call it by a name or address that is in its certificate"
        if error.verify_code == _EXPIRED:
            remedy = "Have it get a new certificate, or set this host's clock"
        return RemoteUnavailable(
            f"the certificate of {self._base_url} is not trusted ({error.verify_message.rstrip('.')})", remedy=remedy
        )


def _tls_failure(error: BaseException | None) -> ssl.SSLError | None:
    """Return the failure of TLS behind one of httpx, if there is one."""
    while error is not None and not isinstance(error, ssl.SSLError):
        error = error.__cause__ or error.__context__
    return error


def _parse_base_url(text: str) -> httpx.URL:
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL:
        raise ConfigError("the base URL is no URL", remedy="Write it like https://host/prefix") from None
    if url.userinfo:
        raise ConfigError("the base URL carries a credential", remedy="Give the key with --api-key-file")
    if url.scheme not in {"http", "https"} or not url.host or url.query or url.fragment:
        raise ConfigError(f"the base URL {text!r} is no http(s) URL", remedy="Write it like https://host/prefix")
    return url


def _is_this_host(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _encode(body: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        raise InvalidRequest("a field of the request is not Unicode text (it has a lone surrogate)") from None
