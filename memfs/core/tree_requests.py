"""What is asked of a tree's owner, as values and as lines of JSON on ``mount.sock``.

The worker never changes a tree that a mount serves: it asks. One request is one line, one answer is one line, in
order, on a stream socket; either side may close it at any time. Asking twice is safe: every change is a
compare-and-swap against the identity that the worker observed.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any, NamedTuple

from memfs.core.errors import InvalidRequest


class Identity(NamedTuple):
    """A file as ``stat`` tells it: equal identities of a settled file mean equal bytes."""

    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int


class Outcome(StrEnum):
    """How a change of a tree ended."""

    APPLIED = "applied"
    CHANGED = "changed"
    """The file is not what the worker observed: it looks again later."""
    BUSY = "busy"
    """A program is in the middle of writing it: the worker asks again later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replace:
    """Put staged bytes at a path. ``expect`` None: nothing is there yet. Missing parents are made."""

    store_id: str
    path: str
    staged: str
    """The name of a file in the store's ``staging/``, written and fsynced."""
    expect: Identity | None
    force: bool = False
    """Apply in spite of a recent write (after 30 s of busy)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remove:
    """Move a file to the store's ``trash/`` under the name ``trash``, then remove each of ``prune`` that is empty."""

    store_id: str
    path: str
    expect: Identity
    trash: str
    prune: tuple[str, ...] = ()
    force: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Rename a file within the tree, keeping its identity; nothing may be at ``target``. Missing parents are made."""

    store_id: str
    path: str
    target: str
    expect: Identity
    prune: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reload:
    """Look again at which stores are attached, and how."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """The worker committed its state about these store paths."""

    store_id: str
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refresh:
    """Forget every name and attribute the kernel was told (somebody edited the tree behind the mount)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ping:
    """Answer with who is there."""


Request = Replace | Remove | Move | Reload | Changed | Refresh | Ping


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the owner did.

    ``identity`` is the file now at the path after an applied Replace or Move; ``made`` are the directories
    (``/a``, ``/a/b``) that were made for it; ``appended_bytes`` were carried over from O_APPEND writes that came since
    ``expect``. ``error`` is a message where the request itself failed, with its ``errno``.
    """

    outcome: Outcome = Outcome.APPLIED
    identity: Identity | None = None
    made: tuple[str, ...] = ()
    appended_bytes: int = 0
    error: str = ""
    errno: int = 0
    facts: dict[str, Any] = field(default_factory=dict)
    """Answer to `Ping`: ``pid``, ``mount_point``, ``stores``, ``nodes`` (how many entries the kernel knows),
    ``upcalls`` (how often it asked for what), ``kernel_read_only`` (the slugs that the kernel, too, holds read-only).
    """


_KINDS: dict[str, type[Request]] = {
    kind.__name__.lower(): kind for kind in (Replace, Remove, Move, Reload, Changed, Refresh, Ping)
}
_MALFORMED = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


def encode_request(request: Request) -> bytes:
    """Return the request as one line."""
    return _line({"op": type(request).__name__.lower(), **asdict(request)})


def decode_request(line: bytes) -> Request:
    """Read a request from its line.

    Raises:
        InvalidRequest: It is no request this version knows.
    """
    try:
        fields = json.loads(line)
        kind = _KINDS[fields.pop("op")]
        request = kind(**_typed(fields))
        if isinstance(request, Remove | Move):
            Identity(*request.expect)  # only a Replace may expect that nothing is there
    except _MALFORMED as error:
        raise InvalidRequest(f"the mount was asked something it does not know: {error}") from None
    return request


def encode_answer(answer: Answer) -> bytes:
    """Return the answer as one line."""
    return _line(asdict(answer))


def decode_answer(line: bytes) -> Answer:
    """Read an answer from its line.

    Raises:
        InvalidRequest: It is no answer this version knows.
    """
    try:
        fields = _typed(json.loads(line))
        # Left out, it would read as applied: what is not said is not done.
        return Answer(outcome=fields.pop("outcome"), **fields)
    except _MALFORMED as error:
        raise InvalidRequest(f"the mount answered something unknown: {error}") from None


def _line(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields).encode() + b"\n"


def _typed(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: _READ[name](value) for name, value in fields.items()}


def _exactly(kind: type, value: Any) -> Any:  # noqa: ANN401  (what JSON may hold)
    if type(value) is not kind:
        raise TypeError(f"{kind.__name__} expected, not {type(value).__name__}")
    return value


def _identity(value: Any) -> Identity | None:  # noqa: ANN401  (what JSON may hold)
    return None if value is None else Identity(*(_exactly(int, number) for number in _exactly(list, value)))


def _texts(value: Any) -> tuple[str, ...]:  # noqa: ANN401  (what JSON may hold)
    return tuple(_name(text) for text in _exactly(list, value))


def _name(value: Any) -> str:  # noqa: ANN401  (what JSON may hold)
    text: str = _exactly(str, value)
    text.encode()  # half a surrogate pair names nothing
    return text


_READ: dict[str, Callable[[Any], Any]] = {
    "store_id": _name,
    "path": _name,
    "target": _name,
    "staged": _name,
    "trash": _name,
    "error": partial(_exactly, str),
    "expect": _identity,
    "identity": _identity,
    "prune": _texts,
    "made": _texts,
    "paths": _texts,
    "force": partial(_exactly, bool),
    "appended_bytes": partial(_exactly, int),
    "errno": partial(_exactly, int),
    "facts": partial(_exactly, dict),
    "outcome": Outcome,
}
