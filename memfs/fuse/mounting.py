"""The life of a mount, in the foreground: check, mount, serve until a signal, unmount. ``memfs mount`` calls `run`.

Threading: `run` belongs to the main thread, which only waits for signals. The session's thread answers the kernel, the
notifier's thread tells it what changed, the socket's thread answers the worker. None of them ever touches the mount.
"""

import logging
import os
import resource
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memfs.core.errors import MountRefused
from memfs.core.tree_requests import Answer, Ping, Reload, Request
from memfs.fuse import bare, checks, holders, lock, mountinfo, outside
from memfs.fuse.announcing import Announcer
from memfs.fuse.mount_socket import MountSocket
from memfs.fuse.notifier import Notifier
from memfs.fuse.options import MountOptions, OpenUpcalls
from memfs.fuse.outside import Pulse
from memfs.fuse.remounts import Remounts
from memfs.fuse.signals import Signals
from memfs.fuse.unmounting import unmount
from memfs.vfs.filesystem import FileSystem
from memfs.vfs.values import Notice

if TYPE_CHECKING:
    from memfs.fuse.operations import Operations
    from memfs.fuse.session import Session

__all__ = ["MountOptions", "OpenUpcalls", "check", "run", "unmount"]

log = logging.getLogger(__name__)

READY_TIMEOUT_S = 10.0
FORGOTTEN_TIMEOUT_S = 5.0
_UNMOUNT_EVERY_S = 0.25
_BUSY_ATTEMPTS = 20
"""How often a busy mount is tried (about 5 s) before it is detached under those who use it."""


def run(
    filesystem: Callable[[Callable[[Notice], None]], FileSystem],
    *,
    socket_path: Path,
    mount_point: Path,
    options: MountOptions,
    on_ready: Callable[[], None],
    on_stopping: Callable[[], None] = lambda: None,
) -> int:
    """Mount, serve until a signal or an unmount, and return the exit code.

    SIGTERM, SIGINT and SIGHUP unmount; while programs use the mount this is tried for about 5 s, then, or at a second
    signal, it is detached. Everything written is on the local disk at any moment.

    Args:
        filesystem: Makes what is served, given where invalidations go; closed at the end.
        socket_path: Where the worker asks, in the state directory.
        mount_point: An empty directory.
        options: How to mount.
        on_ready: Called once the mount answers through the kernel.
        on_stopping: Called when it begins to unmount.

    Raises:
        MountRefused: Its subclasses say what is in the way.
        AlreadyHeld: Another mount serves this state directory.
    """
    point = _located(mount_point, socket_path.parent, allow_other=options.allow_other)
    _allow_many_files()
    with ExitStack() as stack:
        stack.enter_context(lock.held(socket_path.parent, point))
        checks.check_mount_point(point)
        signals, notifier = stack.enter_context(Signals()), Notifier()
        served = filesystem(notifier.put)
        stack.callback(served.close)
        mounted = _mounted(stack, served, notifier, point, options, on_end=signals.wake)
        socket = MountSocket(socket_path, _answering(served, point, mounted.operations, mounted.remounts))
        stack.callback(socket.close)
        socket.start()
        log.info("mounted at %s: %s", point, _in_effect(served, point, mounted.operations, mounted.remounts))
        on_ready()
        _serve(mounted.session, signals, point, on_stopping)
    return 0


class _Mounted(NamedTuple):
    """A mount that answers through the kernel."""

    session: "Session"
    operations: "Operations"
    remounts: Remounts


def _mounted(
    stack: ExitStack,
    served: FileSystem,
    notifier: Notifier,
    point: Path,
    options: MountOptions,
    *,
    on_end: Callable[[], None],
) -> _Mounted:
    """Mount and wait until it answers; ``stack`` takes it down again, in the reverse order."""
    from memfs.fuse.operations import Operations  # noqa: PLC0415  (raises LibfuseMissing; unmounting needs no libfuse)
    from memfs.fuse.session import Session  # noqa: PLC0415  (the same)

    announcer = Announcer()
    operations = Operations(served, options.open_upcalls, announcer)
    with bare.covered(point):
        session = Session(operations, point, allow_other=options.allow_other)
    remounts = Remounts(
        session.mount, lambda: _read_only(served), served.kernel_holds, session.notify_entry, session.notify_inode
    )
    served.moving = remounts.moving
    session.start(on_end=on_end)
    # While a notice is on its way, the session answers the program that it waits for: it is closed last.
    stack.callback(session.close)
    notifier.start(remounts.forget_entry, remounts.forget_inode, announcer.announce)
    stack.callback(notifier.stop)
    stack.callback(announcer.stop)
    if outside.look(point, READY_TIMEOUT_S) is not Pulse.ALIVE:
        raise MountRefused(f"the mount at {point} does not answer")
    announcer.start(point)
    remounts.settle()
    return _Mounted(session, operations, remounts)


def check(mount_point: Path, *, state: Path, allow_other: bool) -> None:
    """Refuse at once what `run` would refuse, for who has more to start than the mount.

    Raises:
        MountRefused: Its subclasses say what is in the way.
    """
    import memfs.fuse.operations  # noqa: F401, PLC0415  (raises LibfuseMissing)

    checks.check_mount_point(_located(mount_point, state, allow_other=allow_other))


def _located(mount_point: Path, state: Path, *, allow_other: bool) -> Path:
    """Check what can be checked without a look at the mount point; return it absolute and without links."""
    checks.check_host(allow_other=allow_other)
    point = checks.locate(mount_point)
    checks.check_state(state, point)
    return point


def _allow_many_files() -> None:
    """Use all that the system allows: every file that is open but has no name any longer takes a descriptor."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):  # The system's own maximum was lowered since: what there is must do.
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _answering(
    served: FileSystem, point: Path, operations: "Operations", remounts: Remounts
) -> Callable[[Request], Answer]:
    def answer(request: Request) -> Answer:
        answered = served.apply(request)
        if isinstance(request, Reload):
            remounts.await_forgotten(FORGOTTEN_TIMEOUT_S)
        if not isinstance(request, Ping):
            return answered
        facts = {
            "pid": os.getpid(),
            "mount_point": str(point),
            "upcalls": operations.upcalls.counts(),
            "kernel_read_only": remounts.names(),
        }
        return replace(answered, facts=answered.facts | facts)

    return answer


def _read_only(served: FileSystem) -> list[str]:
    return [one.attachment.slug for one in served.stores if not one.attachment.is_writable]


def _in_effect(served: FileSystem, point: Path, operations: "Operations", remounts: Remounts) -> str:
    """Return the options of the mount as they took effect, for the log."""
    found, owner, by_kernel = mountinfo.at(point), served.ownership, remounts.names()
    by_mount = [name for name in _read_only(served) if name not in by_kernel]
    told = {
        "kernel options": found.options if found else "",
        "uid": owner.uid,
        "gid": owner.gid,
        "umask": f"{owner.umask:03o}",
        "opens": "by the kernel" if operations.kernel_opens else "by upcalls",
        "read-only by the kernel": ", ".join(by_kernel) or "none",
        "read-only by the mount alone": ", ".join(by_mount) or "none",
    }
    return "; ".join(f"{name} {value}" for name, value in told.items())


def _serve(session: "Session", signals: Signals, point: Path, on_stopping: Callable[[], None]) -> None:
    while not signals.asked and not session.has_ended:
        signals.wait()
    if not signals.asked and session.is_mounted():
        raise MountRefused(f"the kernel aborted the connection of the mount at {point}", remedy="Mount it again")
    on_stopping()
    for attempt in range(_BUSY_ATTEMPTS + 1):
        if session.has_ended or not session.is_mounted():
            break
        if attempt == _BUSY_ATTEMPTS:
            log.warning("%s is detached while in use: %s", point, holders.told(point))
        lazy = attempt == _BUSY_ATTEMPTS or signals.asked > 1
        outside.unmount(point, lazy=lazy)
        if session.is_mounted():
            signals.wait(_UNMOUNT_EVERY_S)
