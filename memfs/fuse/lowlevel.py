"""The wall between Python and libfuse: each request gets exactly one answer, and no exception passes.

A MemfsError or OSError becomes its errno (EIO where it has none); anything else is a bug: EIO, and its traceback in the
log. Used by `operations`.

Threading: callbacks run in the session's thread, one at a time; counts may be read from any thread.
"""

import errno
import logging
import os
from collections.abc import Callable, Sequence
from typing import Any

from memfs.core.errors import MemfsError
from memfs.fuse import structures as lib

log = logging.getLogger(__name__)

Send = Callable[[int, Any], int]
Callback = Callable[..., None]
_NO_NAMES = frozenset({b"", b".", b".."})
_SLASH = 0x2F


class Upcalls:
    """How often the kernel asked for what: a file that is read from the kernel's own cache adds nothing."""

    def __init__(self) -> None:
        self._counts: dict[str, list[int]] = {}

    def counts(self) -> dict[str, int]:
        """Return the number of requests since the mount was made, by name."""
        return {name: cell[0] for name, cell in list(self._counts.items())}

    def cell(self, name: str) -> list[int]:
        """Return the counter of ``name``, one number in a list."""
        return self._counts.setdefault(name, [0])


def one_reply(
    operation: Callable[..., Any],
    send: Send,
    undo: Callable[[Any], None] | None = None,
    *,
    count: list[int],
    names: Sequence[int] = (),
) -> Callback:
    """Return a callback that answers a request with ``send(request, operation(*arguments))`` or with an errno.

    Args:
        operation: What the request asks for.
        send: Gives the one answer, as its last step; returns a negative number when the kernel no longer waits.
        undo: Takes back what ``operation`` returned when the kernel never learned of it.
        count: The request's counter.
        names: Which arguments are names of entries; what can be none is answered EINVAL.
    """

    def callback(req: int, *arguments: lib.Foreign) -> None:
        count[0] += 1
        try:
            if names:
                _check_names(names, arguments)
            result = operation(*arguments)
            status = send(req, result)
        except (OSError, MemfsError) as error:
            lib.reply_err(req, error.errno or errno.EIO)
        except BaseException:  # nothing may reach ctypes: the program would wait without end
            lib.reply_err(req, errno.EIO)
            log.exception("%s failed", operation.__name__)
        else:
            if status < 0 and undo is not None:
                _undo(undo, result)

    return callback


def by_caller(usual: Callback, own: Callback, pid: Callable[[], int]) -> Callback:
    """Return a callback that answers the process ``pid()``, where that is not 0, by ``own`` and others by ``usual``."""

    def callback(req: int, *arguments: lib.Foreign) -> None:
        known = pid()
        is_own = known and lib.request_context(req).contents.pid == known
        (own if is_own else usual)(req, *arguments)

    return callback


def no_reply(operation: Callable[..., None]) -> Callback:
    """Return a callback for what is told once, without a request: ``init``."""

    def callback(*arguments: lib.Foreign) -> None:
        try:
            operation(*arguments)
        except BaseException:  # nothing may reach ctypes
            log.exception("%s failed", operation.__name__)

    return callback


def _check_names(places: Sequence[int], arguments: Sequence[lib.Foreign]) -> None:
    """Refuse a name that no kernel sends: from here on a name is taken as it is."""
    for place in places:
        name = arguments[place]
        if _SLASH in name or 0 in name or name in _NO_NAMES:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))


def _undo(undo: Callable[[Any], None], result: object) -> None:
    try:
        undo(result)
    except BaseException:  # the answer is given: there is nobody left to tell
        log.exception("taking back an interrupted request failed")
