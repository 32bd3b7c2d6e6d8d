"""Events of the trees, by watchdog: reasons to look, nothing more.

What is known of watchdog 7.1.0 and taken care of here: an overflow of the kernel's queue reaches no handler, only a
WARNING, which a filter on its loggers turns into a scan; a move out of a tree holds every event back, so that delay is
cut down; reads are events unless filtered; a sub-directory whose watch failed is swallowed, so the watches are compared
with the directories at each scan. Its threads call `changed` and `scan`, which must be safe to call from any thread.
"""

import logging
import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING

from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer
from watchdog.observers.inotify import InotifyEmitter
from watchdog.observers.inotify_move_event_grouper import InotifyMoveEventGrouper

if TYPE_CHECKING:
    from watchdog.observers.api import ObservedWatch

log = logging.getLogger(__name__)

MOVE_DELAY_S = 0.02
_LOGGERS = (
    "watchdog.observers.inotify",
    "watchdog.observers.inotify_c",
    "watchdog.observers.inotify_move_event_grouper",
)
_MADE_GOOD = ("overflow", "when the thread is inactive")
_EVENTS: list[type[FileSystemEvent]] = [
    FileCreatedEvent, FileModifiedEvent, FileMovedEvent, FileDeletedEvent, FileClosedEvent,
    DirCreatedEvent, DirMovedEvent, DirDeletedEvent,
]  # fmt: skip

Changed = Callable[[bytes], None]
"""Told the path of a file below the tree, ``b"a/b.md"``."""
Scan = Callable[[], None]
"""Told that anything may have changed."""


class Watch:
    """Watches trees until closed; `add` and `remove` belong to the control thread."""

    def __init__(self) -> None:
        InotifyMoveEventGrouper.delay = MOVE_DELAY_S
        self._observer = Observer()
        self._watches: dict[Path, tuple[ObservedWatch, _Handler]] = {}
        self._overflow = _OverflowFilter(self._scan_all)
        for name in _LOGGERS:
            logging.getLogger(name).addFilter(self._overflow)
        self._observer.start()

    def add(self, root: Path, changed: Changed, scan: Scan) -> bool:
        """Watch a tree; False where the kernel refuses, so that only scans find what changed."""
        handler = _Handler(root, changed, scan)
        try:
            watch = self._observer.schedule(handler, str(root), recursive=True, event_filter=_EVENTS)
        except OSError as error:
            log.warning(
                "the tree %s cannot be watched (%s), so local edits are found by scans alone; raise "
                "fs.inotify.max_user_watches or fs.inotify.max_user_instances",
                root, error.strerror,
            )  # fmt: skip
            return False
        self._watches[root] = (watch, handler)
        return True

    def remove(self, root: Path) -> None:
        """Stop watching a tree."""
        if root in self._watches:
            watch, _ = self._watches.pop(root)
            self._observer.unschedule(watch)

    def is_complete(self, root: Path, directories: Collection[str]) -> bool:
        """Tell whether each directory below the tree (``/a/b``) has a watch; a tree that is not watched has none.

        A directory that went since it was seen needs none.
        """
        watched = self._watched(root)
        if watched is None:
            return True
        missing = [path for one in directories if os.fsencode(path := f"{root}{one}") not in watched]
        return not any(Path(path).is_dir() for path in missing)

    def renew(self, root: Path) -> bool:
        """Watch a tree anew, with all its directories; False where the kernel refuses."""
        if root not in self._watches:
            return False
        _, handler = self._watches[root]
        self.remove(root)
        return self.add(root, handler.changed, handler.scan)

    def close(self) -> None:
        """Stop watching, and the threads with it."""
        self._overflow.is_closing = True
        self._observer.stop()
        self._observer.join()
        for name in _LOGGERS:
            logging.getLogger(name).removeFilter(self._overflow)

    def _scan_all(self) -> None:
        for _, handler in list(self._watches.values()):
            handler.scan()

    def _watched(self, root: Path) -> Collection[bytes] | None:
        """Return the directories that have a watch, None where this watchdog does not tell."""
        watch, _ = self._watches.get(root, (None, None))
        emitter = next((one for one in self._observer.emitters if one.watch == watch), None)
        if not isinstance(emitter, InotifyEmitter):
            return None
        group = getattr(emitter, "_inotify", None)
        by_path = getattr(group, "_active_callbacks_by_path", None)
        return None if by_path is None else frozenset(by_path)


class _Handler(FileSystemEventHandler):
    """Turns an event into a path to look at, or into a scan where a directory came, went or moved."""

    def __init__(self, root: Path, changed: Changed, scan: Scan) -> None:
        self._root = os.fsencode(root) + b"/"
        self.changed = changed
        self.scan = scan

    def on_any_event(self, event: FileSystemEvent) -> None:
        if event.is_directory:
            self.scan()
            return
        for path in (event.src_path, event.dest_path):
            relative = os.fsencode(path).removeprefix(self._root)
            if path and not relative.startswith(b"/"):
                self.changed(relative)


class _OverflowFilter(logging.Filter):
    """Takes what watchdog only logs as the reason to scan that it is."""

    def __init__(self, scan: Scan) -> None:
        super().__init__()
        self._scan = scan
        self.is_closing = False

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        if self.is_closing:
            return False
        self._scan()
        # Lost events are made good by the scan, also those of a watch that is just being renewed; anything else that
        # went wrong is worth its line.
        return not any(text in record.getMessage() for text in _MADE_GOOD)
