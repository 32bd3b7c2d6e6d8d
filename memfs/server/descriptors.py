"""File descriptors, of which each connection takes one: as many as this process may have, and told when none is left.

Used by the start of a server (`raise_limit`) and by its event loop (`Shortage`).
"""

import asyncio
import errno
import logging
import resource
from collections.abc import Callable
from contextlib import suppress
from typing import Any

_MOST = 65_536
"""More than any server here needs; a limit may be a thousand million, and sizes tables in some programs."""
_QUIET_S = 60.0
_SHORT = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_LOG = logging.getLogger(__name__)


def raise_limit() -> None:
    """Let this process have as many descriptors as it may by itself."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST if hard == resource.RLIM_INFINITY else min(hard, _MOST)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class Shortage:
    """An event loop's exception handler: what it cannot accept is told once a minute, and not each second.

    Args:
        monotonic_s: A clock that never steps back, in seconds.
    """

    def __init__(self, monotonic_s: Callable[[], float]) -> None:
        self._monotonic_s = monotonic_s
        self._told_s: float | None = None

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Handle what no task of the loop has handled."""
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in _SHORT:
            loop.default_exception_handler(context)
            return
        now_s = self._monotonic_s()
        if self._told_s is None or now_s - self._told_s >= _QUIET_S:
            self._told_s = now_s
            _LOG.warning(
                "new connections have to wait: %s. Raise the limit of open files (ulimit -n, LimitNOFILE)",
                error.strerror,
            )
