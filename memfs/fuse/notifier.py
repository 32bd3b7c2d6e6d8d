"""Tells the kernel what changed behind its back, in the order of the changes.

Threading: `put` may be called from any thread and never blocks. The notices go out from a thread of their own: the
kernel may wait for a directory's lock whose holder waits for the session, so a callback that notifies deadlocks.
"""

import errno
import logging
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import assert_never

from memfs.vfs.values import Announcement, InvalidateEntry, InvalidateInode, Invalidation, Notice

log = logging.getLogger(__name__)

# Nothing was cached (ENOENT), or the mount is just going away.
_NOTHING_TO_TELL = frozenset({0, -errno.ENOENT, -errno.ENOTCONN, -errno.ENODEV, -errno.EBADF})


class Notifier:
    """A queue of notices and the thread that sends them."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Notice | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def put(self, notice: Notice) -> None:
        """Send the notice soon; before `start` it waits."""
        self._queue.put(notice)

    def start(
        self,
        entry: Callable[[int, bytes], int],
        inode: Callable[[int], int],
        announce: Callable[[Announcement], None],
    ) -> None:
        """Begin to send.

        Args:
            entry: Has the kernel forget a name; returns 0 or a negative errno.
            inode: The same for an inode.
            announce: Takes what programs must hear of, and never waits.
        """
        calls = (entry, inode, announce)
        self._thread = threading.Thread(target=self._send_all, args=calls, name="memfs-notifier", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Send what is queued and end the thread."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None

    def _send_all(
        self,
        entry: Callable[[int, bytes], int],
        inode: Callable[[int], int],
        announce: Callable[[Announcement], None],
    ) -> None:
        while (notice := self._queue.get()) is not None:
            if isinstance(notice, Announcement):
                announce(notice)  # Everything before it is told: who is woken reads what the pull brought.
            else:
                _check(_send(notice, entry, inode))


def _send(notice: Invalidation, entry: Callable[[int, bytes], int], inode: Callable[[int], int]) -> int:
    match notice:
        case InvalidateEntry(parent, name):
            first = entry(parent, name)
            # Where the kernel never knew the name it leaves the directory's cached listing as it was. So that is
            # dropped too, after the entry: the call before waited for the listings and look-ups under way.
            second = inode(parent)
            return first if first not in _NOTHING_TO_TELL else second
        case InvalidateInode(nodeid):
            return inode(nodeid)
        case _:
            assert_never(notice)


def _check(status: int) -> None:
    if status not in _NOTHING_TO_TELL:
        log.warning("the kernel did not take an invalidation: %s", errno.errorcode.get(-status, status))
