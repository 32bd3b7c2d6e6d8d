"""Who may change a tree: the mount that serves it, for its life, or another process for one action.

`OwnerLock` is the flock on ``owner.lock``. `TreeOwner` is what the worker asks; `DirectOwner` answers where no mount
lives. A lock and a DirectOwner belong to one thread at a time.
"""

import errno
import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self, assert_never

from memfs.core.errors import AlreadyHeld, MemfsError
from memfs.core.tree_requests import Answer, Changed, Move, Outcome, Ping, Refresh, Reload, Remove, Replace, Request
from memfs.tree import swap
from memfs.tree.places import Places, StoreDirectories

_POLL_S = 0.02


class TreeOwner(Protocol):
    """Whoever changes trees on request.

    Every change is a compare-and-swap, durable when the answer is given; asking again after a lost answer is safe:
    it is answered `CHANGED`, and the next observation finds what was done. Answers never wait for the network.
    """

    def ask(self, request: Request) -> Answer:
        """Do what is asked, whole or not at all.

        Raises:
            AlreadyHeld: Another process owns the tree and does not answer.
        """
        ...


class OwnerLock:
    """The exclusive right to change one store's tree. The lock ends with the process at the latest."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = -1

    def acquire(self, timeout_s: float = 0.0) -> None:
        """Take the lock, trying for at most ``timeout_s`` seconds.

        Raises:
            AlreadyHeld: Another process keeps it.
        """
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        attempts = 1 + round(timeout_s / _POLL_S)
        for attempt in range(attempts):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if attempt + 1 < attempts:
                    time.sleep(_POLL_S)
                continue
            self._descriptor = descriptor
            return
        os.close(descriptor)
        raise AlreadyHeld(
            f"the tree of the store {self._path.parent.name} is owned by another process",
            remedy="Unmount the other mount of this state directory, or wait for it to end",
        )

    def release(self) -> None:
        """Give the lock back; a second call does nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


class DirectOwner:
    """Changes a tree itself, holding ``owner.lock`` for the one action (`TreeOwner`).

    Args:
        directories: Gives a store's directories by its id: ``layout.store``.
        timeout_s: How long to wait for the lock.
        is_shared: Programs change the trees too: each displaced file is kept in trash.
    """

    def __init__(
        self, directories: Callable[[str], StoreDirectories], *, timeout_s: float = 0.0, is_shared: bool = False
    ) -> None:
        self._directories = directories
        self._timeout_s = timeout_s
        self._is_shared = is_shared

    def ask(self, request: Request) -> Answer:
        """Do what is asked under the store's lock; requests that concern only a mount are answered at once.

        Raises:
            AlreadyHeld: A mount owns the tree.
        """
        match request:
            case Replace() | Remove() | Move():
                return self._swap(request)
            case Reload() | Changed() | Refresh() | Ping():
                return Answer()
            case _ as never:
                assert_never(never)

    def _swap(self, request: Replace | Remove | Move) -> Answer:
        directories = self._directories(request.store_id)
        lock = OwnerLock(directories.owner_lock)
        lock.acquire(self._timeout_s)
        try:
            with Places(directories) as places:
                done = swap.perform(places, request, is_shared=self._is_shared)
                if done.displaced >= 0:
                    os.close(done.displaced)
                return swap.settle(done)
        except (OSError, MemfsError) as error:
            return failed(error)
        finally:
            lock.release()


def failed(error: OSError | MemfsError) -> Answer:
    """Return the answer to a request that could not be done."""
    return Answer(outcome=Outcome.CHANGED, error=str(error), errno=error.errno or errno.EIO)
