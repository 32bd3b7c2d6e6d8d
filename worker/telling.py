"""What the worker tells while it works: in a line what it does, and how far a download is. At most once a second.

The line goes to whoever supervises the process, the download to a bar on a terminal or into the log. Runs on the
control thread, beside the runners, and only counts what they know.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from memfs.health import notify
from memfs.progress import Shown
from worker.runner import Runner

log = logging.getLogger(__name__)

_SHOWN = 10
TELL_S = 1.0
LOG_S = 10.0
"""Seconds between two lines in the log about one download."""


@dataclass(frozen=True, slots=True)
class Download:
    """How many memories are here, and how many there are; None until the remote has named them all."""

    here: int
    known: int
    is_complete: bool

    @property
    def total(self) -> int | None:
        """How many there are, where that is known."""
        return self.known if self.is_complete else None

    @property
    def fraction(self) -> str:
        """Return it as `memfs.health.DOWNLOAD` has it."""
        return f"{self.here}/{'' if self.total is None else self.total}"

    def __str__(self) -> str:
        """Return it in words."""
        count = f"downloading {self.known:,} {'memory' if self.known == 1 else 'memories'}"
        return f"{count}, {self.here:,} are here" if self.is_complete else f"{count}, and more to come"


def download(runners: Collection[Runner]) -> Download | None:
    """Return how far the first look at the remote has brought its memories here, None where none are to come."""
    here = known = 0
    is_complete, goes_on = True, False
    for runner in runners:
        replica = runner.replica
        here += (mine := len(replica.state.baseline))
        known += (theirs := len(replica.remote.memories))
        if not runner.has_synced.is_set() and (not replica.remote.is_complete or mine < theirs):
            goes_on, is_complete = True, is_complete and replica.remote.is_complete
    return Download(min(here, known), known, is_complete) if goes_on and known else None


def status(runners: Collection[Runner]) -> str:
    """Return in one line how the stores stand: what goes wrong first, then what goes on."""
    troubles = [f"{runner.replica.attachment.slug}: {why}" for runner in runners if (why := runner.trouble())]
    halted = [runner.replica.attachment.slug for runner in runners if runner.replica.state.braking.halt]
    if halted:
        troubles.append(f"halted: {', '.join(halted)}")
    pending = sum(len(runner.replica.state.pending) for runner in runners)
    if (coming := download(runners)) is not None:
        doing = str(coming)
    elif pending:
        doing = f"{pending:,} pending"
    else:
        doing = "synced" if all(runner.has_synced.is_set() for runner in runners) else "looking at both sides"
    return "; ".join(troubles if troubles and doing == "synced" else [*troubles, doing])


def not_synced(left: Sequence[str]) -> str:
    """Return in words what is not synced, the first of it by name."""
    count = f"{len(left)} {'path is' if len(left) == 1 else 'paths are'} not synced"
    more = f" and {len(left) - _SHOWN} more" if len(left) > _SHOWN else ""
    return f"{count}: {', '.join(left[:_SHOWN])}{more}" if left else count


class Telling:
    """Tells what goes on, until cancelled.

    Args:
        runners: The stores that are attached now.
        shown: Where a download is shown, None where only the log is told.
    """

    def __init__(self, runners: Callable[[], Collection[Runner]], shown: Shown | None) -> None:
        self._runners, self._shown = runners, shown
        self._told: tuple[str, Download | None] = ("", None)
        self._logged_at: float | None = None

    async def run(self) -> None:
        """Tell whatever is news, once a second."""
        clock = asyncio.get_running_loop().time
        try:
            while True:
                await asyncio.sleep(TELL_S)
                if runners := self._runners():
                    self.tell(runners, clock())
        finally:
            if self._shown is not None:
                self._shown.close()

    def tell(self, runners: Collection[Runner], now: float) -> None:
        """Tell what is news since the last call."""
        news = (status(runners), download(runners))
        if news == self._told:
            return
        before, self._told = self._told[1], news
        line, coming = news
        if coming is not None:
            notify(status=line, download=coming.fraction)
            self._show(coming, now)
        elif before is not None:
            notify(status=line, download="")
            self._end(runners)
        else:
            notify(status=line)

    def _show(self, coming: Download, now: float) -> None:
        if self._shown is not None:
            self._shown.show(coming.here, coming.total)
        elif self._logged_at is None or now - self._logged_at >= LOG_S:
            self._logged_at = now
            log.info("%s", coming)

    def _end(self, runners: Collection[Runner]) -> None:
        self._logged_at = None
        if self._shown is not None:
            self._shown.close()
        log.info("downloaded; %d memories are here", sum(len(runner.replica.state.baseline) for runner in runners))
