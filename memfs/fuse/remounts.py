"""The kernel's own read-only mounts of the read-only stores, each over its directory, so that even root gets EROFS.

To have the kernel forget a name at the mount's root detaches silently what is mounted there: `forget_entry` takes it
down before, and `settle`, which follows every notice about the root, mounts again what is (still) read-only.

Threading: the main thread calls `settle` before the mount is announced ready; after that the notifier's thread calls
everything but `names`, which any thread may call. The mount is touched by short-lived processes only (`outside`).
"""

import errno
import logging
import os
from collections.abc import Callable, Iterable

from memfs.fuse import mountinfo, outside
from memfs.fuse.mountinfo import Mount
from memfs.vfs.values import ROOT

log = logging.getLogger(__name__)

_TIMEOUT_S = 10.0


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
        self._may_mount = os.geteuid() == 0

    def names(self) -> list[str]:
        """Return the names at the root that the kernel holds read-only, without a look at the mount."""
        return sorted({part.mount_point.name for part in mountinfo.inside(self._whole) if part.is_read_only})

    def settle(self) -> None:
        """Mount what is read-only, take down what no longer is."""
        if not self._may_mount or self._whole not in mountinfo.read():
            return
        wanted, right = set(self._wanted()), set(self.names())
        if wrong := [name for name in self._mounted() if name not in wanted & right]:
            self._call("down", wrong)
        if missing := sorted(wanted - right):
            self._call("read-only", missing)
        self._told(frozenset(self.names()))

    def forget_entry(self, parent: int, name: bytes) -> int:
        """Have the kernel forget a name, after taking down what is mounted there."""
        mounted = [one for one in self._mounted() if os.fsencode(one) == name] if parent == ROOT else []
        if mounted:
            self._call("down", mounted)
        return self._entry(parent, name)

    def forget_inode(self, nodeid: int) -> int:
        """Have the kernel forget what it knows of a node; after the root, see what is to be mounted."""
        status = self._inode(nodeid)
        if nodeid == ROOT:
            self.settle()
        return status

    def _mounted(self) -> list[str]:
        """Return the name of each mount, the last first: one may lie upon another."""
        return [part.mount_point.name for part in reversed(mountinfo.inside(self._whole))]

    def _call(self, step: str, names: list[str]) -> None:
        code = outside.call(step, self._whole.mount_point, *names, timeout_s=_TIMEOUT_S)
        if code == errno.EPERM:
            self._may_mount = False
            log.info("no privilege to have the kernel refuse changes, too: that is left to the mount")
        elif code != 0 and self._whole in mountinfo.read():
            why = "it takes too long" if code is None else os.strerror(code)
            log.warning("the kernel could not be told which stores are read-only (%s): %s", ", ".join(names), why)
