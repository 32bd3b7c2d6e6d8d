"""One connection to the kernel: made by mounting, served by one thread, ended by unmounting.

Used by `mounting`; needs libfuse.

Threading: the loop's thread runs every callback. `notify_entry` and `notify_inode` belong to the notifier's thread,
everything else to the main thread.
"""

import ctypes as C  # noqa: N812  (the letter every binding uses)
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

from memfs.core.errors import MountRefused
from memfs.fuse import mountinfo, outside
from memfs.fuse import structures as lib
from memfs.fuse.mountinfo import SOURCE
from memfs.fuse.operations import Operations
from memfs.fuse.outside import Pulse
from memfs.fuse.signals import INTERRUPT

_INTERRUPT_EVERY_S = 0.05
_LOOK_TIMEOUT_S = 5.0
_LAST_REQUESTS_S = 1.0


class Session:
    """A mount and the thread that serves it.

    Args:
        operations: The callbacks.
        mount_point: Checked, absolute and free of symbolic links.
        allow_other: Whether other users are let in.

    Raises:
        MountRefused: The kernel did not take it.
    """

    def __init__(self, operations: Operations, mount_point: Path, *, allow_other: bool) -> None:
        self._point, self._table = mount_point, operations.table()
        self._arguments = _arguments(allow_other=allow_other)
        self._channel = lib.mount(os.fsencode(mount_point), C.byref(self._arguments))
        if not self._channel:
            raise MountRefused(
                f"the kernel refused the mount at {mount_point}",
                remedy="In a container add --device /dev/fuse --cap-add SYS_ADMIN --security-opt apparmor=unconfined",
            )
        self._session = lib.session_new(C.byref(self._arguments), C.byref(self._table), C.sizeof(self._table), None)
        if not self._session:
            lib.unmount(os.fsencode(mount_point), self._channel)
            raise MountRefused(f"libfuse refused the mount at {mount_point}")
        lib.session_add_chan(self._session, self._channel)
        found = mountinfo.at(mount_point)
        if found is None:
            lib.session_destroy(self._session)
            raise MountRefused(f"the mount at {mount_point} was taken down at once")
        self.mount = found
        self._ended, self._may_go = threading.Event(), threading.Event()

    def start(self, on_end: Callable[[], None]) -> None:
        """Begin to serve; ``on_end`` is called from the thread when the kernel or `end` ended it."""
        self._thread = threading.Thread(target=self._loop, args=(on_end,), name="memfs-session", daemon=True)
        self._thread.start()

    @property
    def has_ended(self) -> bool:
        """Tell whether the kernel asks no more."""
        return self._ended.is_set()

    def is_mounted(self) -> bool:
        """Tell whether the mount still has its place in the namespace."""
        if self.mount not in mountinfo.read():
            return False
        # The numbers of a mount that is gone are given to the next one: one that answers cannot be this one.
        return not self.has_ended or outside.look(self._point, _LOOK_TIMEOUT_S) is not Pulse.ALIVE

    def notify_entry(self, parent: int, name: bytes) -> int:
        """Make the kernel forget what ``name`` is; returns 0 or a negative errno."""
        return lib.notify_inval_entry(self._channel, parent, name, len(name))

    def notify_inode(self, nodeid: int) -> int:
        """Make the kernel forget attributes, content and listing of a node; returns 0 or a negative errno."""
        return lib.notify_inval_inode(self._channel, nodeid, 0, 0)

    def close(self) -> None:
        """Unmount where that has not happened, end the session whoever still uses it, give everything back.

        Nothing may be telling the kernel any more: a notice waits for programs whose requests nobody answers now.
        """
        if self.is_mounted():
            outside.unmount(self._point, lazy=True)
        if not self._ended.wait(_LAST_REQUESTS_S):
            self._end()
        self._may_go.set()
        self._thread.join()
        lib.session_destroy(self._session)  # With its channel: whoever is still inside is answered ENOTCONN.

    def _end(self) -> None:
        lib.session_exit(self._session)
        while not self._ended.is_set():
            # The thread waits in a read that nothing but a signal ends. It outlives its loop until `_may_go`.
            signal.pthread_kill(self._thread.ident or 0, INTERRUPT)
            self._ended.wait(_INTERRUPT_EVERY_S)

    def _loop(self, on_end: Callable[[], None]) -> None:
        lib.session_loop(self._session)
        self._ended.set()
        on_end()
        self._may_go.wait()


def _arguments(*, allow_other: bool) -> lib.Arguments:
    options = ["default_permissions", "big_writes", f"fsname={SOURCE}", f"subtype={SOURCE}"]
    if allow_other:
        options.append("allow_other")
    words = [b"memfs", b"-o", ",".join(options).encode()]
    return lib.Arguments(len(words), (C.c_char_p * len(words))(*words), 0)
