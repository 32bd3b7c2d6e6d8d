"""Where the endpoints are and what the headers are called: one spelling for both ends of the wire.

The server registers the templates, a client fills them with `path`. Values only.
"""

from typing import Final
from urllib.parse import quote

from memfs.core.errors import InvalidRequest

STORES: Final = "/v1/memory_stores"
STORE: Final = "/v1/memory_stores/{store_id}"
ARCHIVE: Final = "/v1/memory_stores/{store_id}/archive"
MEMORIES: Final = "/v1/memory_stores/{store_id}/memories"
MEMORY: Final = "/v1/memory_stores/{store_id}/memories/{memory_id}"
VERSIONS: Final = "/v1/memory_stores/{store_id}/memory_versions"
VERSION: Final = "/v1/memory_stores/{store_id}/memory_versions/{version_id}"
REDACT: Final = "/v1/memory_stores/{store_id}/memory_versions/{version_id}/redact"
SESSIONS: Final = "/v1/sessions"
SESSION: Final = "/v1/sessions/{session_id}"
ARCHIVE_SESSION: Final = "/v1/sessions/{session_id}/archive"
SESSION_RESOURCES: Final = "/v1/sessions/{session_id}/resources"
CHANGES: Final = "/v1/memory_stores/{store_id}/changes"
"""An addition of `memfs serve`, announced by `ANNOUNCEMENT` in every answer."""
HEALTH: Final = "/healthz"
READY: Final = "/readyz"
METRICS: Final = "/metrics"
OPENAPI: Final = "/openapi.json"
DOCS: Final = "/docs"
"""Not part of the API, and answered without a credential."""

AUTHORIZATION: Final = "authorization"
API_KEY: Final = "x-api-key"
"""What older clients send; `AUTHORIZATION` (``Bearer …``) is preferred where both are present."""
BETA: Final = "anthropic-beta"
WORKSPACE: Final = "anthropic-workspace-id"
"""A request may name the workspace of its credential, and no other; an answer names it."""
ANTHROPIC_VERSION: Final = "anthropic-version"
ANNOUNCEMENT: Final = "memfs-changes"
REQUEST_ID: Final = "request-id"
SHOULD_RETRY: Final = "x-should-retry"
RETRY_AFTER: Final = "retry-after"
RETRY_AFTER_MS: Final = "retry-after-ms"
RETRY_COUNT: Final = "x-stainless-retry-count"
"""How many attempts of this very call came before: the only retry marker that clients send."""

BETA_MEMORY: Final = "agent-memory-2026-07-22"
BETA_MANAGED_AGENTS: Final = "managed-agents-2026-04-01"
"""Either beta value opens the endpoints; both at once are a 400."""
VERSION_VALUE: Final = "2026-10-21"

WAIT_MOST_S: Final = 60
CHANGES_DEFAULT: Final = 100
CHANGES_MOST: Final = 1_000
"""Of the change feed: seconds that a request may wait, changes of a page unless asked, and at most."""
LIMIT_DEFAULT: Final = 20
LIMIT_MOST: Final = 100
LIMIT_FULL: Final = 20
"""Items of a page: unless asked, at most, and at most where each carries its content."""


def path(template: str, **ids: str) -> str:
    """Return ``template`` with each id percent-encoded, so that no id can name another route.

    Raises:
        InvalidRequest: An id is empty, ``.`` or ``..``.
    """
    for name, value in ids.items():
        if value in {"", ".", ".."}:
            raise InvalidRequest(f"{value!r} is no {name}")
    return template.format(**{name: quote(value, safe="") for name, value in ids.items()})
