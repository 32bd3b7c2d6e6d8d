"""The life of directory mode, in the foreground: check, link, serve until a signal, take away. `memfs mount --no-fuse`.

It answers on ``mount.sock`` as a mount does, so worker and `memfs status` need not know the difference. What it cannot
promise is in docs/SEMANTICS.md. Threading: `run` belongs to the main thread, which waits for signals; the socket's
thread answers the worker, and one lock keeps the two apart.
"""

import logging
import os
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from memfs.core.errors import MountPointBusy
from memfs.core.tree_requests import Answer, Changed, Move, Ping, Refresh, Reload, Remove, Replace, Request
from memfs.fuse import checks, lock, mountinfo
from memfs.fuse.mount_socket import MountSocket
from memfs.fuse.signals import Signals
from memfs.linked.links import Links
from memfs.linked.protection import opened, protect, release
from memfs.linked.shown import Shown
from memfs.state.attachments import attached
from memfs.state.layout import Layout
from memfs.tree.local import identity_of
from memfs.tree.owner import DirectOwner

if TYPE_CHECKING:
    from memfs.core.attachment import Attachment

log = logging.getLogger(__name__)

_LOOK_EVERY_S = 2.0
MODE = "directory"
"""What `Ping` is told, beside "fuse"."""


def run(layout: Layout, mount_point: Path, *, on_ready: Callable[[], None]) -> int:
    """Show the attached stores as links, serve until a signal, take the links away, and return the exit code.

    Raises:
        MountRefused: Its subclasses say what is in the way.
        AlreadyHeld: Another mount serves this state directory.
        OSError: The mount point or a tree cannot be written.
    """
    point = check(layout, mount_point)
    with ExitStack() as stack:
        stack.enter_context(lock.held(layout.root, point))
        Links(point, layout).check()
        signals = stack.enter_context(Signals())
        served = _Served(point, layout)
        stack.callback(served.close)
        served.load()
        socket = MountSocket(layout.mount_socket, served.answer)
        stack.callback(socket.close)
        socket.start()
        on_ready()
        while not signals.asked:
            signals.wait(_LOOK_EVERY_S)
            served.look()
    return 0


def check(layout: Layout, mount_point: Path) -> Path:
    """Return the mount point without links; refuse what can be refused at once.

    Raises:
        MountRefused: Its subclasses say what is in the way.
    """
    point = checks.locate(mount_point)
    checks.check_state(layout.root, point)
    if found := mountinfo.at(point):
        raise MountPointBusy(f"{found.source} ({found.kind}) is mounted at {point}", remedy="Unmount it first")
    Links(point, layout).check()
    return point


class _Served:
    """The stores at the mount point."""

    def __init__(self, point: Path, layout: Layout) -> None:
        self._point, self._layout = point, layout
        self._links, self._shown = Links(point, layout), Shown(point, layout)
        self._owner = DirectOwner(layout.store, timeout_s=5.0, is_shared=True)
        self._attachments: dict[str, Attachment] = {}
        self._replaced: set[str] = set()
        self._lock = threading.Lock()

    def load(self) -> None:
        """Show the stores that are attached now, as they are attached now."""
        found = attached(self._layout)
        for one in found:
            (release if one.is_writable else protect)(self._layout.store(one.store_id))
        self._attachments = {one.store_id: one for one in found}
        self._links.show({one.slug: one.store_id for one in found})
        self._shown.show(found)

    def look(self) -> None:
        """Give back links that were taken away, and say which ones were replaced by something else."""
        with self._lock:
            self._look({one.slug: one.store_id for one in self._attachments.values()})

    def _look(self, slugs: dict[str, str]) -> None:
        replaced = self._links.replaced(slugs)
        for slug in sorted(replaced - self._replaced):
            log.warning(
                "%s is no longer the link to its store: nothing that is written there is synced; move it away, and the "
                "link comes back",
                self._point / slug,
            )
        self._replaced = replaced
        try:
            self._links.show(slugs)
        except OSError as error:
            log.warning("the links at %s cannot be looked after: %s", self._point, error.strerror)

    def answer(self, request: Request) -> Answer:
        """Answer a request of the worker; may raise MemfsError or OSError."""
        with self._lock:
            return self._answer(request)

    def _answer(self, request: Request) -> Answer:
        match request:
            case Replace() | Remove() | Move():
                return self._change(request)
            case Reload() | Refresh():
                self.load()
            case Changed():
                self._shown.show(list(self._attachments.values()))
            case Ping():
                return Answer(facts=self._facts())
        return Answer()

    def close(self) -> None:
        """Take everything away; the trees stay."""
        self._links.show({})
        self._shown.remove()
        for store_id in self._attachments:
            release(self._layout.store(store_id))

    def _change(self, request: Replace | Remove | Move) -> Answer:
        attachment = self._attachments.get(request.store_id)
        if attachment is None or attachment.is_writable:
            return self._owner.ask(request)
        store = self._layout.store(request.store_id)
        target = request.target if isinstance(request, Move) else request.path
        prune = () if isinstance(request, Replace) else request.prune
        with opened(store, (request.path, target, *prune)):
            answer = self._owner.ask(request)
        for made in answer.made:
            (store.tree / made[1:]).chmod(0o555)
        if answer.identity is None:
            return answer
        # Its bits were taken after the change: the worker is to know the file as it is.
        return replace(answer, identity=identity_of((store.tree / target[1:]).lstat()))

    def _facts(self) -> dict[str, object]:
        stores = [{"store_id": one.store_id, "slug": one.slug} for one in self._attachments.values()]
        return {
            "pid": os.getpid(),
            "mount_point": str(self._point),
            "mode": MODE,
            "stores": stores,
            "replaced": sorted(self._replaced),
        }
