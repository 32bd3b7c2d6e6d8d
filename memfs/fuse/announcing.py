"""Lets programs that watch a mount by inotify hear of pulls: keeps the process that announces them.

The process that serves a mount never touches it, so another one does (`announcing_process`). It may die at any time,
the next one announces what it left. It is killed as soon as the mount is taken down, since its namespace would keep the
mount's connection alive. Announcements wait in a bounded queue, one for each path; the oldest goes when it is full.

Threading: `announce` may be called from any thread and never blocks. A thread of its own talks to the process.
"""

import logging
import os
import select
import subprocess
import sys
import threading
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from memfs.fuse import announcing_process, mountinfo
from memfs.fuse.mountinfo import Mount
from memfs.vfs.values import Announcement, Event

log = logging.getLogger(__name__)

QUEUE = 16_384
"""More than a store has memories: the first download of one is announced as a whole."""
_WINDOW = 16
"""How many announcements are under way at most: together they fit into a pipe, so that writing never blocks."""
_ANSWER_S = 10.0
_KILLED_WAIT_S = 0.5
_PAUSE_S, _LONGEST_PAUSE_S = 0.25, 60.0
_KINDS = {
    Event.EDITED: announcing_process.EDITED,
    Event.MADE: announcing_process.MADE,
    Event.MADE_DIRECTORY: announcing_process.MADE_DIRECTORY,
}
_GREETING = Announcement(b"", Event.EDITED)
"""What a new process says by itself."""
_TABLE = "/proc/self/mountinfo"


class Announcer:
    """The queue, the thread and the process of one mount; nothing happens before `start`."""

    def __init__(self) -> None:
        self.pid = 0
        """The process that announces, 0 while there is none."""
        self.made: set[bytes] = set()
        """The places that are being announced as made."""
        self._waiting: dict[bytes, Event] = {}
        self._sent: deque[Announcement] = deque()
        self._lock = threading.Lock()
        self._woken = self._wakes = -1
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._has_namespaces = True

    @property
    def is_under_way(self) -> bool:
        """Tell whether the process may be asking the mount for something."""
        return bool(self._sent)

    def start(self, mount_point: Path) -> None:
        """Begin to announce at the mount point, which answers."""
        mount = mountinfo.at(mount_point)
        if mount is None:
            return  # It was taken down again.
        self._mount = mount
        self._woken, self._wakes = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._thread = threading.Thread(target=self._run, name="memfs-announcer", daemon=True)
        self._thread.start()

    def announce(self, announcement: Announcement) -> None:
        """Have it announced soon; once, where the path waits already."""
        with self._lock:
            if self._stopping.is_set():
                return
            # A path that waits to be announced as made is not announced as edited as well.
            self._waiting.setdefault(announcement.path, announcement.event)
            if len(self._waiting) > QUEUE:
                del self._waiting[next(iter(self._waiting))]
            self._wake()

    def stop(self) -> None:
        """End the process, whatever is left to announce, and the thread."""
        with self._lock:
            if self._stopping.is_set():
                return
            self._stopping.set()
            self._wake()
        if self._thread is not None:
            self._thread.join()
            os.close(self._wakes)
            os.close(self._woken)

    def _wake(self) -> None:
        if self._wakes >= 0:
            with suppress(BlockingIOError):  # Woken often enough.
                os.write(self._wakes, b"\0")

    def _run(self) -> None:
        pause_s = _PAUSE_S
        with open(_TABLE, "rb") as table:  # noqa: PTH123  (the descriptor is polled, not only read)
            while not self._is_over():
                pause_s = _PAUSE_S if self._live(table) else min(2 * pause_s, _LONGEST_PAUSE_S)
                self._stopping.wait(pause_s)

    def _is_over(self) -> bool:
        return self._stopping.is_set() or self._mount not in mountinfo.read()

    def _live(self, table: BinaryIO) -> bool:
        """Have one process announce until it ends or must; return whether it ever answered."""
        try:
            process = _started(self._mount, in_namespace=self._has_namespaces)
        except OSError as error:
            log.info("programs that watch the mount hear of no remote edit for now: %s", error)
            return False
        self.pid = process.pid
        self._sent.append(_GREETING)
        try:
            has_answered = self._converse(process, table)
        finally:
            self.pid = 0
            _end(process)
            self._take_back()
        if process.returncode == announcing_process.NO_NAMESPACE:
            self._has_namespaces = False
            log.info("remote edits are announced without a namespace, so not where the kernel mounts read-only")
        elif not self._is_over():
            log.info("the process that announces remote edits ended (%s): it is started again", process.returncode)
        return has_answered

    def _converse(self, process: "subprocess.Popen[bytes]", table: BinaryIO) -> bool:
        told, answers = _descriptors(process)
        poll, has_answered = select.poll(), False
        poll.register(self._woken, select.POLLIN)
        poll.register(answers, select.POLLIN)
        poll.register(table, select.POLLPRI)  # Reported when anything was mounted or unmounted.
        while True:
            ready = dict(poll.poll(_ANSWER_S * 1_000 if self._sent else None))
            if not ready or self._stopping.is_set() or (table.fileno() in ready and self._is_over()):
                return has_answered
            if self._woken in ready:
                os.read(self._woken, 4_096)
            if answers in ready:
                answered = os.read(answers, _WINDOW + 1)
                if not answered:
                    return has_answered
                self._answered(len(answered))
                has_answered = True
            if not self._tell(told):
                return has_answered

    def _tell(self, told: int) -> bool:
        """Send what waits, as far as there is room; False where the process takes no more."""
        with self._lock:
            room = min(_WINDOW - len(self._sent), len(self._waiting))
            chosen = [Announcement(*item) for item, _ in zip(self._waiting.items(), range(room), strict=False)]
            for one in chosen:
                del self._waiting[one.path]
        self._sent.extend(chosen)
        self.made.update(one.path for one in chosen if one.event is not Event.EDITED)
        try:
            return not chosen or os.write(told, b"".join(_KINDS[one.event] + one.path + b"\0" for one in chosen)) > 0
        except BrokenPipeError:
            return False

    def _answered(self, count: int) -> None:
        for _ in range(min(count, len(self._sent))):
            self.made.discard(self._sent.popleft().path)

    def _take_back(self) -> None:
        """Have the next process announce what this one may not have."""
        with self._lock:
            left = {one.path: one.event for one in self._sent if one is not _GREETING}
            self._waiting = left | {path: event for path, event in self._waiting.items() if path not in left}
        self._sent.clear()
        self.made.clear()


def _started(mount: Mount, *, in_namespace: bool) -> "subprocess.Popen[bytes]":
    words = [str(os.getpid()), str(mount.mount_point), mount.device, "namespace" if in_namespace else ""]
    command = [sys.executable, "-I", "-S", announcing_process.__file__, *words]
    return subprocess.Popen(  # noqa: S603  (fixed words and a path)
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        cwd="/",
        process_group=0,  # What a terminal sends to the mount is the mount's to act upon.
    )


def _descriptors(process: "subprocess.Popen[bytes]") -> tuple[int, int]:
    if process.stdin is None or process.stdout is None:
        raise BrokenPipeError
    return process.stdin.fileno(), process.stdout.fileno()


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Kill it; while the mount still owes it an answer it stays, until the session ends."""
    process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_KILLED_WAIT_S)
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
