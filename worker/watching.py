"""Have a runner told by the file system what changed in its tree, and keep its watches whole.

watchdog's threads only tell the event loop that something happened. A tree that cannot be watched is scanned often.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from worker.runner import Runner
from worker.watch import Watch

log = logging.getLogger(__name__)

UNWATCHED_SCAN_S = 5.0


def watch_tree(watch: Watch, runner: Runner) -> None:
    """Watch the tree of a runner from now on; called on its event loop."""
    loop = asyncio.get_running_loop()
    root = runner.replica.layout.tree
    if not watch.add(root, _from_any_thread(loop, runner.changed), _from_any_thread(loop, runner.want_scan)):
        runner.scan_s = UNWATCHED_SCAN_S
        return
    runner.on_scan = partial(_compare, watch, runner)


def _compare(watch: Watch, runner: Runner) -> None:
    root = runner.replica.layout.tree
    if watch.is_complete(root, runner.replica.local.directories) or runner.scan_s == UNWATCHED_SCAN_S:
        return
    log.info("some directories of %s had no watch: watching it anew", root)
    if watch.renew(root) and watch.is_complete(root, runner.replica.local.directories):
        runner.want_scan()
        return
    log.warning(
        "some directories of %s cannot be watched, so the tree is scanned every %g s; raise "
        "fs.inotify.max_user_watches",
        root, UNWATCHED_SCAN_S,
    )  # fmt: skip
    runner.scan_s = UNWATCHED_SCAN_S


def _from_any_thread(loop: asyncio.AbstractEventLoop, call: Callable[..., None]) -> Callable[..., None]:
    def tell(*arguments: bytes) -> None:
        # The loop may be closed already while the last events come in.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(call, *arguments)

    return tell
