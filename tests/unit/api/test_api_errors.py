"""The error envelope in both directions: what a server says of an error is what a client understands."""

import inspect
import json

import pytest

from memfs.api import errors as envelope
from memfs.core import errors
from memfs.core.errors import (
    AuthenticationFailed,
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

CLASSES = [one for _, one in inspect.getmembers(errors, inspect.isclass) if issubclass(one, MemfsError)]
TABLE = [
    (InvalidRequest, 400, "invalid_request_error", None),
    (InvalidPath, 400, "invalid_request_error", "invalid_path"),
    (PathTooLong, 400, "invalid_request_error", "path_too_long"),
    (InvalidContent, 400, "invalid_request_error", "invalid_content"),
    (ContentTooLarge, 400, "invalid_request_error", "content_too_large"),
    (InvalidMetadata, 400, "invalid_request_error", "invalid_metadata"),
    (StoreReadOnly, 400, "invalid_request_error", "store_read_only"),
    (AuthenticationFailed, 401, "authentication_error", None),
    (PermissionRefused, 403, "permission_error", None),
    (NotFound, 404, "not_found_error", None),
    (PreconditionFailed, 409, "memory_precondition_failed_error", None),
    (PathConflict, 409, "memory_path_conflict_error", None),
    (StoreFull, 409, "conflict_error", "store_full"),
    (ConcurrentChange, 409, "conflict_error", "concurrent_change"),
    (RequestTooLarge, 413, "request_too_large", None),
    (RateLimited, 429, "rate_limit_error", None),
    (RemoteUnavailable, 529, "overloaded_error", None),
    (MemfsError, 500, "api_error", None),
]
HTML = b"<html><body>502 Bad Gateway</body></html>"


def wired(kind: str, message: str = "no", **more: object) -> bytes:
    return json.dumps({"type": "error", "error": {"type": kind, "message": message, **more}}).encode()


@pytest.mark.parametrize(("error", "status", "kind", "code"), TABLE)
def test_an_error_is_answered_by_its_type(error: type[MemfsError], status: int, kind: str, code: str | None) -> None:
    body = envelope.body(error("the thing", remedy="Do this"), "req_01x")

    inner = body["error"]
    assert isinstance(inner, dict)
    assert (body["type"], body["request_id"]) == ("error", "req_01x")
    assert (error.http_status, inner["type"], inner["message"]) == (status, kind, "the thing. Do this")
    assert inner.get("details") == (None if code is None else {"error_code": code})


@pytest.mark.parametrize("error", CLASSES)
def test_every_class_has_a_type(error: type[MemfsError]) -> None:
    assert envelope.error_type(error("x"))


@pytest.mark.parametrize("error", [one for one, *_ in TABLE if one is not MemfsError])
def test_a_client_understands_what_the_server_said(error: type[MemfsError]) -> None:
    said = error("the thing", remedy="Do this")
    content = json.dumps(envelope.body(said, "req_01x")).encode()

    understood = envelope.from_response(error.http_status, content, envelope.headers(said))

    assert type(understood) is error
    assert str(understood) == str(said)


@pytest.mark.parametrize("path", ["/a", "/" + "/".join(["x" * 50] * 20), "/\u00a0\ue000"])
def test_a_path_conflict_keeps_what_is_in_the_way(path: str) -> None:
    said = PathConflict("taken", conflicting_path=path, conflicting_memory_id="mem_1")
    content = json.dumps(envelope.body(said, "req_01x")).encode()

    understood = envelope.from_response(409, content, {})

    assert isinstance(understood, PathConflict)
    assert (understood.conflicting_path, understood.conflicting_memory_id) == (path, "mem_1")


@pytest.mark.parametrize("error", [PreconditionFailed, PathConflict, StoreFull, Conflicted])
def test_a_conflict_that_stays_one_says_so(error: type[MemfsError]) -> None:
    assert envelope.headers(error("x")) == {"x-should-retry": "false"}


def test_what_may_succeed_later_says_when() -> None:
    assert envelope.headers(ConcurrentChange("x")) == {}
    assert envelope.headers(RateLimited("x", retry_after_s=1.5)) == {"retry-after": "1.5"}
    assert envelope.headers(RemoteUnavailable("x")) == {}


@pytest.mark.parametrize(
    ("status", "content", "headers", "expected"),
    [
        pytest.param(400, wired("invalid_request_error"), {}, InvalidRequest, id="400"),
        pytest.param(
            400, wired("invalid_request_error", "The memory store is archived."), {}, StoreReadOnly, id="archived"
        ),
        pytest.param(
            400, wired("invalid_request_error", "the limit of 10000 memories is reached"), {}, StoreFull, id="full"
        ),
        pytest.param(
            400,
            wired("invalid_request_error", details={"error_code": "unheard_of"}),
            {},
            InvalidRequest,
            id="an unknown code",
        ),
        pytest.param(
            404, wired("not_found_error", details={"error_code": "store_full"}), {}, NotFound, id="a code that lies"
        ),
        pytest.param(402, wired("billing_error"), {}, PermissionRefused, id="402"),
        pytest.param(408, wired("timeout_error"), {}, RemoteUnavailable, id="408"),
        pytest.param(409, wired("conflict_error"), {}, ConcurrentChange, id="409"),
        pytest.param(409, wired("conflict_error"), {"x-should-retry": "false"}, StoreFull, id="409 for good"),
        pytest.param(409, wired("invalid_request_error"), {}, Conflicted, id="409 of an older kind"),
        pytest.param(412, wired("invalid_request_error"), {}, PreconditionFailed, id="412"),
        pytest.param(418, wired("new_error"), {}, InvalidRequest, id="an unknown 4xx"),
        pytest.param(500, wired("api_error"), {}, RemoteUnavailable, id="500"),
        pytest.param(529, wired("overloaded_error"), {}, RemoteUnavailable, id="529"),
        pytest.param(302, b"", {}, RemoteUnavailable, id="a redirect"),
        pytest.param(404, HTML, {}, RemoteUnavailable, id="a proxy's 404"),
        pytest.param(404, b'{"detail": "Not Found"}', {}, RemoteUnavailable, id="another API's 404"),
        pytest.param(409, HTML, {}, RemoteUnavailable, id="a proxy's 409"),
        pytest.param(400, b"", {}, RemoteUnavailable, id="an empty 400"),
        pytest.param(502, HTML, {}, RemoteUnavailable, id="a proxy's 502"),
        pytest.param(401, HTML, {}, AuthenticationFailed, id="a proxy's 401"),
        pytest.param(403, HTML, {}, PermissionRefused, id="a proxy's 403"),
        pytest.param(413, HTML, {}, RequestTooLarge, id="a proxy's 413"),
        pytest.param(429, HTML, {}, RateLimited, id="a proxy's 429"),
        pytest.param(500, b"\xff\x00[", {}, RemoteUnavailable, id="noise"),
        pytest.param(500, b'{"error": {"type": 7}}', {}, RemoteUnavailable, id="a type that is none"),
        pytest.param(500, b'{"error": "no"}', {}, RemoteUnavailable, id="no object"),
        pytest.param(500, b"[" * 100_000, {}, RemoteUnavailable, id="endless nesting"),
    ],
)
def test_an_answer_means(status: int, content: bytes, headers: dict[str, str], expected: type[MemfsError]) -> None:
    error = envelope.from_response(status, content, headers)

    assert type(error) is expected
    assert error.message


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": "0"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, None),
    ],
)
def test_the_wait_that_the_remote_asks_for_is_kept(headers: dict[str, str], expected: float | None) -> None:
    for status, content in ((429, wired("rate_limit_error")), (529, wired("overloaded_error")), (502, HTML)):
        error = envelope.from_response(status, content, headers)
        assert isinstance(error, RemoteUnavailable)
        assert expected == error.retry_after_s


def test_an_endless_message_is_cut() -> None:
    assert len(envelope.from_response(400, wired("invalid_request_error", "x" * 10_000), {}).message) == 300


def test_a_message_cannot_steer_a_terminal_or_add_a_line_to_a_log() -> None:
    said = wired("invalid_request_error", "one\r\n2026 ERROR forged\x1b[2J\u202e é")

    assert envelope.from_response(400, said, {}).message == "one 2026 ERROR forged\ufffd[2J\ufffd é"
