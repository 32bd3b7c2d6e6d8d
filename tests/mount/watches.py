"""What tests of watchers share: a running `inotifywait`, and which process announces for a mount."""

import os
import select
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memfs.core.attachment import Access, Attachment
from memfs.fuse import announcing_process
from memfs.state.attachments import attach

LIMIT_S = 20.0


class Watch:
    """A running `inotifywait`; each event is ``EVENTS PATH``, the path below what is watched."""

    def __init__(self, directory: Path, events: str, *words: str) -> None:
        self._directory = directory
        command = ["inotifywait", "-m", "-e", events, "--format", "%e %w%f", *words, directory]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/")
        self._pending = b""
        self._await_start()

    def heard(self) -> str:
        """Return the next event, which must come within the limit."""
        assert self.process.stdout is not None
        while b"\n" not in self._pending:
            readable, _, _ = select.select([self.process.stdout], [], [], LIMIT_S)
            assert readable, "nothing was heard"
            self._pending += os.read(self.process.stdout.fileno(), 4_096)
        line, _, self._pending = self._pending.partition(b"\n")
        events, _, path = line.decode().partition(" ")
        return f"{events.removesuffix(',CLOSE')} {Path(path).relative_to(self._directory)}"

    def heard_until(self, last: str) -> list[str]:
        """Return the events up to and with ``last``."""
        events = [self.heard()]
        while events[-1] != last:
            events.append(self.heard())
        return events

    def end(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=LIMIT_S)

    def _await_start(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if b"established" in line:
                return


def serving(prepared: Callable[..., Any], open_upcalls: str, access: str) -> Any:
    one = prepared(open_upcalls=open_upcalls)
    attach(one.layout, [Attachment(store_id="memstore_notes", name="Notes", slug="notes", access=Access(access))])
    one.start()
    assert one.is_ready, one.told()
    return one


def announcers() -> dict[int, list[str]]:
    """Return the words of every process that announces, whoever started it."""
    found = {}
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            try:
                words = (process / "cmdline").read_bytes().decode().split("\0")
            except OSError:
                continue
            if announcing_process.__file__ in words:
                found[int(process.name)] = words
    return found


def announcer_of(mounted: Any) -> int | None:
    """Return the process that announces for this mount."""
    return next((pid for pid, words in announcers().items() if str(mounted.point) in words), None)


def announced_once(mounted: Any, watch: Watch) -> int:
    """Have something announced, so that the process is there and at work; return its id."""
    mounted.pull("/first.md", b"first")
    watch.heard()
    pid = announcer_of(mounted)
    assert pid is not None
    return pid
