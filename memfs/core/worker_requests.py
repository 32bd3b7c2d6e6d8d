"""What is asked of the worker, as values and as lines of JSON on ``worker.sock``.

The command line never changes what the worker knows: it asks the worker that runs, or starts one for the one request
(``memfs-worker --control``). One request is one line, one reply is one line. A request may be asked again: what is
done already is found done.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any

from memfs.core.errors import InvalidRequest, MemfsError


class Take(StrEnum):
    """Which text of a conflict keeps the name."""

    LOCAL = "local"
    """The one that was written on a host."""
    REMOTE = "remote"
    """The one that the remote had."""
    GIVEN = "given"
    """A third one that comes with the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolve:
    """End the conflict of ``path``, or the one of which it is the copy."""

    store_id: str
    path: str
    take: Take
    content: str = ""
    """With `Take.GIVEN`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume:
    """End a halt: make the deletions (``accept``), or bring back what they took."""

    store_id: str
    accept: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreTrash:
    """Put what is in trash under ``name`` at ``path`` again, where nothing may be."""

    store_id: str
    name: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EmptyTrash:
    """Delete for good what was displaced at least ``older_than_s`` seconds ago."""

    store_id: str
    older_than_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    """Look at both sides and sync what is owed, for at most ``timeout_s``; replied with ``unsynced``."""

    timeout_s: float


WorkerRequest = Resolve | Resume | RestoreTrash | EmptyTrash | Drain


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the worker did: ``facts``, or the ``code``, ``message`` and ``remedy`` of the error that it met."""

    facts: dict[str, Any] = field(default_factory=dict)
    code: str = ""
    message: str = ""
    remedy: str = ""


_NAMES: dict[str, type[WorkerRequest]] = {
    "resolve": Resolve, "resume": Resume, "restore_trash": RestoreTrash, "empty_trash": EmptyTrash, "drain": Drain,
}  # fmt: skip
_OPERATIONS = {kind: name for name, kind in _NAMES.items()}
_MALFORMED = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


def encode_request(request: WorkerRequest) -> bytes:
    """Return the request as one line."""
    return _line({"op": _OPERATIONS[type(request)], **asdict(request)})


def decode_request(line: bytes) -> WorkerRequest:
    """Read a request from its line.

    Raises:
        InvalidRequest: It is no request this version knows.
    """
    try:
        fields = json.loads(line)
        return _NAMES[fields.pop("op")](**_typed(fields))
    except _MALFORMED as error:
        raise InvalidRequest(f"the worker was asked something it does not know: {error}") from None


def encode_reply(reply: Reply) -> bytes:
    """Return the reply as one line."""
    return _line(asdict(reply))


def decode_reply(line: bytes) -> dict[str, Any]:
    """Read a reply from its line and return its facts.

    Raises:
        MemfsError: The one that the worker met.
        InvalidRequest: It is no reply this version knows.
    """
    try:
        reply = Reply(**_typed(json.loads(line)))
    except _MALFORMED as error:
        raise InvalidRequest(f"the worker answered something unknown: {error}") from None
    if reply.code:
        raise _of_code(MemfsError, reply.code)(reply.message, remedy=reply.remedy)
    return reply.facts


def refused(error: MemfsError) -> Reply:
    """Return the reply to a request that met an error."""
    return Reply(code=error.code, message=error.message, remedy=error.remedy)


def _of_code(kind: type[MemfsError], code: str) -> type[MemfsError]:
    """Return the class of errors with the code, or the root of all where this version knows none."""
    if kind.code == code:
        return kind
    found = (_of_code(one, code) for one in kind.__subclasses__())
    return next((one for one in found if one.code == code), MemfsError)


def _line(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields).encode() + b"\n"


def _typed(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: _READ[name](value) for name, value in fields.items()}


def _exactly(kind: type, value: Any) -> Any:  # noqa: ANN401  (what JSON may hold)
    if type(value) is not kind:
        raise TypeError(f"{kind.__name__} expected, not {type(value).__name__}")
    return value


def _text(value: Any) -> str:  # noqa: ANN401  (what JSON may hold)
    text: str = _exactly(str, value)
    text.encode()  # half a surrogate pair is no text
    return text


def _seconds(value: Any) -> float:  # noqa: ANN401  (what JSON may hold)
    if type(value) not in {int, float} or not 0 <= value < float("inf"):
        raise TypeError("seconds expected")
    return float(value)


_READ: dict[str, Callable[[Any], Any]] = {
    "store_id": _text,
    "path": _text,
    "name": _text,
    "content": _text,
    "code": _text,
    "message": _text,
    "remedy": _text,
    "take": Take,
    "accept": partial(_exactly, bool),
    "older_than_s": _seconds,
    "timeout_s": _seconds,
    "facts": partial(_exactly, dict),
}
