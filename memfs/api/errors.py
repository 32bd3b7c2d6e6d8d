"""The error envelope: a core error as the server's answer, and any failed answer as a core error.

``error.type`` follows the vendor's table; where a class of ours says more than its type, ``error.details.error_code``
carries its code, which other clients read as the bare type. Values only: safe in any thread.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from memfs.api import routes
from memfs.core.errors import (
    AuthenticationFailed,
    ChangeCursorExpired,
    ConcurrentChange,
    Conflicted,
    ContentTooLarge,
    InvalidContent,
    InvalidMetadata,
    InvalidPath,
    InvalidRequest,
    MemfsError,
    NotFound,
    PathConflict,
    PathTooLong,
    PermissionRefused,
    PreconditionFailed,
    RateLimited,
    RemoteUnavailable,
    RequestTooLarge,
    StoreFull,
    StoreReadOnly,
)

_TYPES: dict[type[MemfsError], str] = {
    InvalidRequest: "invalid_request_error",
    AuthenticationFailed: "authentication_error",
    PermissionRefused: "permission_error",
    NotFound: "not_found_error",
    ChangeCursorExpired: "change_cursor_expired",
    PreconditionFailed: "memory_precondition_failed_error",
    PathConflict: "memory_path_conflict_error",
    Conflicted: "conflict_error",
    RequestTooLarge: "request_too_large",
    RateLimited: "rate_limit_error",
    RemoteUnavailable: "overloaded_error",
    MemfsError: "api_error",
}
_DETAILED: dict[str, type[InvalidRequest | Conflicted]] = {
    kind.code: kind
    for kind in (
        InvalidPath, PathTooLong, InvalidContent, ContentTooLarge, InvalidMetadata, StoreReadOnly, StoreFull,
        ConcurrentChange,
    )
}  # fmt: skip
_OF_STATUS: dict[int, type[MemfsError]] = {
    400: InvalidRequest,
    401: AuthenticationFailed,
    402: PermissionRefused,
    403: PermissionRefused,
    404: NotFound,
    410: ChangeCursorExpired,
    408: RemoteUnavailable,
    409: Conflicted,
    412: PreconditionFailed,
    413: RequestTooLarge,
    422: InvalidRequest,
    429: RateLimited,
}
# What a proxy in between may say by itself and still mean: it knows credentials, sizes and rates, not memories.
_TRUSTED_BARE = frozenset({401, 403, 413, 429})
_SHOWN = 300
_ARCHIVED = re.compile(r"archived (memory )?store|store .*\barchived\b", re.IGNORECASE)
_FULL = re.compile(r"store .*\bfull\b|(limit|maximum number) of .*memories|too many memories", re.IGNORECASE)


def error_type(error: MemfsError) -> str:
    """Return the ``error.type`` of ``error``: that of the nearest class that has one."""
    return next(_TYPES[kind] for kind in type(error).__mro__ if kind in _TYPES)


def body(error: MemfsError, request_id: str) -> dict[str, object]:
    """Return the envelope that answers ``error``."""
    inner: dict[str, object] = {"type": error_type(error), "message": str(error)}
    if isinstance(error, PathConflict):
        inner["conflicting_path"] = error.conflicting_path
        inner["conflicting_memory_id"] = error.conflicting_memory_id
    if error.code in _DETAILED:
        inner["details"] = {"error_code": error.code}
    return {"type": "error", "error": inner, "request_id": request_id}


def headers(error: MemfsError) -> dict[str, str]:
    """Return what the answer to ``error`` says in its headers.

    Clients repeat every 409 unless told otherwise: a refusal that stays one says so, and costs one request, not three.
    """
    if isinstance(error, Conflicted | ChangeCursorExpired) and not error.retryable:
        return {routes.SHOULD_RETRY: "false"}
    if isinstance(error, RemoteUnavailable) and error.retry_after_s is not None:
        return {routes.RETRY_AFTER: f"{error.retry_after_s:g}"}
    return {}


def from_response(status: int, content: bytes, answered: Mapping[str, str]) -> MemfsError:
    """Return the error that a failed answer means.

    Args:
        status: The HTTP status, 400 or above, or one that was not expected.
        content: The body as it came.
        answered: The headers of the answer, asked by lower-case name.
    """
    inner = _envelope(content)
    if inner is None:
        return _from_bare(status, answered)
    message = _one_line(_text(inner.get("message"))) or f"the remote answered {status} without a message"
    kind = _kind(status, inner, answered, message)
    if issubclass(kind, PathConflict):
        return kind(
            message,
            conflicting_path=_text(inner.get("conflicting_path")),
            conflicting_memory_id=_text(inner.get("conflicting_memory_id")),
        )
    if issubclass(kind, RemoteUnavailable):
        return kind(message, retry_after_s=_retry_after_s(answered))
    return kind(message)


def _envelope(content: bytes) -> dict[str, Any] | None:
    try:
        whole = json.loads(content)
    except (ValueError, RecursionError):
        return None
    inner = whole.get("error") if isinstance(whole, dict) else None
    return inner if isinstance(inner, dict) and isinstance(inner.get("type"), str) else None


def _from_bare(status: int, answered: Mapping[str, str]) -> MemfsError:
    # A 404 or 409 that is no envelope comes from a proxy or a wrong address: it says nothing about any memory.
    what = f"the remote answered {status} with a body that is no answer of the Memory Stores API"
    remedy = "Check the base URL and what stands between"
    kind = _OF_STATUS[status] if status in _TRUSTED_BARE else RemoteUnavailable
    if issubclass(kind, RemoteUnavailable):
        return kind(what, retry_after_s=_retry_after_s(answered), remedy=remedy)
    return kind(what, remedy=remedy)


def _kind(status: int, inner: dict[str, Any], answered: Mapping[str, str], message: str) -> type[MemfsError]:
    details = inner.get("details")
    code = details.get("error_code") if isinstance(details, dict) else None
    if isinstance(code, str) and code in _DETAILED and _DETAILED[code].http_status == status:
        return _DETAILED[code]
    match inner["type"]:
        case "memory_precondition_failed_error":
            return PreconditionFailed
        case "memory_path_conflict_error":
            return PathConflict
        case "conflict_error":
            return StoreFull if answered.get(routes.SHOULD_RETRY) == "false" else ConcurrentChange
    if status == InvalidRequest.http_status:
        return _of_store(message)
    unknown: type[MemfsError] = InvalidRequest if 400 <= status < 500 else RemoteUnavailable  # noqa: PLR2004  (4xx)
    return _OF_STATUS.get(status, unknown)


def _of_store(message: str) -> type[MemfsError]:
    """Tell a 400 about the whole store from one about this memory: only the words differ, and a worker must know."""
    if _ARCHIVED.search(message):
        return StoreReadOnly
    return StoreFull if _FULL.search(message) else InvalidRequest


def _retry_after_s(answered: Mapping[str, str]) -> float | None:
    for name, unit_s in ((routes.RETRY_AFTER_MS, 0.001), (routes.RETRY_AFTER, 1.0)):
        try:
            wanted_s = float(answered.get(name, "")) * unit_s
        except ValueError:
            continue
        if 0 < wanted_s < float("inf"):
            return wanted_s
    return None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _one_line(message: str) -> str:
    """Return the remote's words as a log and a terminal can take them: others wrote them."""
    words = " ".join(message[:_SHOWN].split())
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in words)
