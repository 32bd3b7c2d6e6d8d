"""The kernel's own read-only mounts of the read-only stores, each over its directory, so that even root gets EROFS.

To have the kernel forget a name at the mount's root detaches silently what is mounted there, and a directory that is
found under another name takes its mount along. So the mounts of the names that change are taken down before they do
(`moving`), and what is (still) read-only is mounted again once the kernel has forgotten the last of them (`settle`).

Threading: any thread may call anything; a lock of its own makes one wait for the other. It may be held while the file
system's lock is taken, never the other way round. The mount is touched by short-lived processes only (`outside`).
"""

import errno
import logging
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from memfs.fuse import mountinfo, outside
from memfs.fuse.mountinfo import Mount
from memfs.vfs.values import ROOT

log = logging.getLogger(__name__)

_TIMEOUT_S = 10.0
_ATTEMPTS = 3


class Remounts:
    """What is mounted in one mount.

    Args:
        whole: The mount.
        wanted: Tells the names at its root that are read-only now.
        told: Takes the names that the kernel holds read-only, whenever they may be others.
        entry: Has the kernel forget a name; returns 0 or a negative errno.
        inode: The same for what is known of a node.
    """

    def __init__(
        self,
        whole: Mount,
        wanted: Callable[[], Iterable[str]],
        told: Callable[[frozenset[str]], None],
        entry: Callable[[int, bytes], int],
        inode: Callable[[int], int],
    ) -> None:
        self._whole, self._wanted, self._told = whole, wanted, told
        self._entry, self._inode = entry, inode
        self._may_mount, self._has_mounted = os.geteuid() == 0, False
        self._unforgotten: Counter[bytes] = Counter()
        self._lock = threading.Condition()

    def names(self) -> list[str]:
        """Return the names at the root that the kernel holds read-only, without a look at the mount."""
        return sorted({part.mount_point.name for part in mountinfo.inside(self._whole) if part.is_read_only})

    def settle(self) -> None:
        """Mount what is read-only, take down what no longer is; later, while the kernel has names to forget."""
        with self._lock:
            if not self._may_mount or self._unforgotten:
                return
            for _ in range(_ATTEMPTS):
                if self._is_gone():
                    return
                code = self._step()
                if code in {0, errno.EPERM}:
                    break
            else:
                self._complain(code)
            self._told(frozenset(self.names()))

    @contextmanager
    def moving(self, names: frozenset[bytes]) -> Iterator[None]:
        """Surround a change of what these names stand for; each of them has to be forgotten afterwards."""
        with self._lock:
            self._take_down(names)
            try:
                yield
            except BaseException:
                self.settle()
                raise
            self._unforgotten.update(names)

    def forget_entry(self, parent: int, name: bytes) -> int:
        """Have the kernel forget a name, after taking down what is mounted there."""
        if parent != ROOT:
            return self._entry(parent, name)
        with self._lock:
            self._take_down({name})
            status = self._entry(parent, name)
            self._unforgotten -= Counter([name])  # Never below 0, and gone at 0.
            self._lock.notify_all()
        return status

    def await_forgotten(self, timeout_s: float) -> None:
        """Wait until the kernel has forgotten each name that stood for another store: till then it leads nowhere."""
        with self._lock:
            self._lock.wait_for(lambda: not self._unforgotten, timeout_s)

    def forget_inode(self, nodeid: int) -> int:
        """Have the kernel forget what it knows of a node; after the root, see what is to be mounted."""
        status = self._inode(nodeid)
        if nodeid == ROOT:
            self.settle()
        return status

    def _step(self) -> int | None:
        """Do what is to be done now; return an errno, or None where it hangs."""
        wanted, right = set(self._wanted()), set(self.names())
        if wrong := [name for name in self._mounted() if name not in wanted & right]:
            self._call("down", wrong)
        missing = sorted(wanted - right)
        self._has_mounted |= bool(missing)
        code = self._call("read-only", missing) if missing else 0
        if code == errno.EPERM:
            self._may_mount = False
            log.info("no privilege to have the kernel refuse changes, too: that is left to the mount")
        if code != 0:
            return code
        return 0 if set(self.names()) == wanted else errno.EAGAIN

    def _take_down(self, names: Iterable[bytes]) -> None:
        if not self._has_mounted:
            return  # The usual case, and until the kernel has forgotten a name whoever uses it gets ESTALE.
        there = [name for name in self._mounted() if os.fsencode(name) in names]
        if there and self._call("down", there) != 0 and not self._is_gone():
            log.warning("the kernel still holds read-only what changes its name: %s", ", ".join(there))

    def _mounted(self) -> list[str]:
        """Return the name of each mount, the last first: one may lie upon another."""
        return [part.mount_point.name for part in reversed(mountinfo.inside(self._whole))]

    def _call(self, step: str, names: list[str]) -> int | None:
        return outside.call(step, self._whole.mount_point, *names, timeout_s=_TIMEOUT_S)

    def _complain(self, code: int | None) -> None:
        why = "it takes too long" if code is None else os.strerror(code)
        log.warning("the kernel could not be told which stores are read-only: %s", why)

    def _is_gone(self) -> bool:
        return self._whole not in mountinfo.read()
