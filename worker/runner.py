"""One store's work over time: when to look, when to sync, what to do about a remote that is away.

A `Runner` sleeps until there is a reason to look (a settled local change, news of the remote, something that is due)
and then takes a turn: observe, then a cycle. Everything runs on the control thread's event loop; a listing runs beside
the turns and never blocks a push. Reasons may be lost or repeated: scans and listings find everything again.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from memfs.core.attachment import Attachment
from memfs.core.errors import MemfsError, RemoteUnavailable, StateDamaged, StateUnavailable, StoreReadOnly
from memfs.core.plan import Side
from worker.beside import Beside, Following
from worker.cycle import Cycle, Decided
from worker.disk import disk_trouble
from worker.forgetting import forget_old, forget_redacted
from worker.gate import Gate
from worker.replica import Replica
from worker.settling import Settling
from worker.standing import Standing

log = logging.getLogger(__name__)

SCAN_S = 300.0
LISTING_S = 300.0
PAGE_S = 60.0
"""Listings average at most one page in so many seconds."""
TURN_S = 2.0
"""So long a turn changes things: then it is looked again what is newer than what still waits."""
STORE_S = 60.0
"""Seconds between two looks whether the store was archived meanwhile."""
RESETTLE_S = 0.05
"""How long a file that changed under the worker's hands is left alone where nobody waits for it to settle."""
_CATCH_UP_POLL_S = 0.02
_SCAN = "scan"


class Runner:
    """Keeps one replica in sync; see the module."""

    def __init__(
        self,
        replica: Replica,
        gate: Gate,
        *,
        poll_s: float,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.replica = replica
        self._sleep = sleep
        self._poll_s = poll_s
        self._cycle = Cycle(replica)
        self._clock = replica.clock.monotonic
        self._wake = asyncio.Event()
        self._has_news = True
        self._scans_begun = self._scans_done = 0
        replica.on_suspects = self._suspect
        self._scan_wanted: Settling[str] = Settling()
        self._scan_due = self._listing_due = self._poll_due = 0.0
        self._store_due = self._clock() + STORE_S
        self._standing = Standing(replica, gate, self._look_anew)
        self.trouble: Callable[[], str] = lambda: self._standing.trouble
        """Returns why the store does not sync for now, "" where it does."""
        self._where = f"the state of the store {replica.attachment.name}"
        self._listing, self._following = Beside(self._wake.set), Following(replica.far, self._wake.set)
        replica.far.on_archived = self._archived
        self._decided: Decided | None = None
        self.has_synced = asyncio.Event()
        """Set once both sides were equal, or once it is known that they cannot be for now."""
        self.scan_s = SCAN_S
        """Seconds between two scans that nothing else asks for."""
        self.on_scan: Callable[[], None] = lambda: None
        """Called after each scan, for whoever compares its watches with the directories."""
        self.on_archived: Callable[[], None] = lambda: None
        """Called when the store turns out to be archived: nothing that is written from then on can be pushed."""

    # ---------------------------------------------------------------------------------------------- reasons to look

    def changed(self, relative: bytes) -> None:
        """Note that something may have happened at a path of the tree."""
        self.replica.dirty.mark(relative, self._clock())
        self._wake.set()

    def _suspect(self) -> None:
        self._has_news = True
        self._wake.set()

    def want_scan(self) -> None:
        """Note that something may have happened anywhere in the tree."""
        self._scan_wanted.mark(_SCAN, self._clock())
        self._wake.set()

    def want_everything(self) -> None:
        """Look at both sides anew, at once."""
        self._scan_due = self._listing_due = self._poll_due = 0.0
        self._standing.forget_pauses()
        self._wake.set()

    def attach(self, attachment: Attachment) -> None:
        """Go on with the store as it is attached now; another access makes every path a suspect."""
        replica = self.replica
        if attachment != replica.attachment:
            replica.attachment = attachment
            replica.suspect(replica.local.files.keys() | replica.remote.memories.keys())
            self.want_everything()

    # --------------------------------------------------------------------------------------------------------- turns

    async def run(self) -> None:
        """Take turns until cancelled.

        Raises:
            StateDamaged: The store's database cannot be worked with any more.
        """
        try:
            while True:
                self._wake.clear()
                await self._guarded_turn()
                await self._rest()
        finally:
            await self._listing.end()
            await self._following.end()

    async def once(self, wait_s: float) -> None:
        """Look at both sides and sync until nothing more comes within ``wait_s`` of progress.

        Raises:
            MemfsError: The remote cannot be worked with; what was done is recorded.
        """
        with disk_trouble(self._where):
            await self._scan()
            await self._list()
            await self.settle(wait_s)

    async def drain(self, timeout_s: float) -> None:
        """Sync what is owed, for at most so long; what then is left stays recorded as pending.

        Raises:
            StateDamaged: The store's database cannot be worked with any more.
        """
        until = self._clock() + timeout_s
        await self._listing.end()
        has_scanned = False
        while True:
            try:
                with disk_trouble(self._where):
                    if not has_scanned:
                        await self._scan()
                        self._decided, has_scanned = self._cycle.look(), True
                    await self._complete()
                    await self.settle(until - self._clock())
            except StateDamaged:
                raise
            except MemfsError as error:
                self.failed(error)
                due = self._standing.try_again_at(error)
                if not isinstance(error, RemoteUnavailable | StateUnavailable) or due >= until:
                    return
                await self._sleep(max(0.0, due - self._clock()))
            else:
                return

    async def _complete(self) -> None:
        """Learn what the remote has, where new files wait for that; what is new there is left to the next start."""
        replica = self.replica
        if not replica.remote.is_complete and replica.local.files.keys() - replica.state.baseline.paths:
            known = set(replica.suspects)
            await replica.far.list_all()
            replica.suspects &= known | replica.local.files.keys()

    async def scan(self) -> None:
        """Look at the tree, and change nothing."""
        with disk_trouble(self._where):
            await self._scan()

    async def catch_up(self, until: float) -> None:
        """Wait, beside `run`, until everything that was written before is on the remote, or until that moment."""
        # A scan that has begun already may have passed by what was written last.
        wanted, self._scan_due, self._poll_due = self._scans_begun + 1, 0.0, 0.0
        self._standing.forget_pauses()
        self._wake.set()
        while self._clock() < until:
            replica = self.replica
            is_compared = len(replica.dirty) == 0 and not (self._has_news and replica.suspects)
            if self._scans_done >= wanted and is_compared and replica.remote.is_verified and not replica.owes:
                return
            await self._sleep(_CATCH_UP_POLL_S)

    async def settle(self, wait_s: float) -> None:
        """Take turns without a rest until nothing is due within ``wait_s`` seconds.

        Raises:
            MemfsError: The remote cannot be worked with; what was done is recorded.
        """
        until = self._clock() + wait_s
        while True:
            await self._look(everything=True)
            self._decided = await self._cycle.run()
            if self.replica.wants_listing:
                await self._list()
                continue
            due = [self._decided.next_due, self._clock() + RESETTLE_S if len(self.replica.dirty) > 0 else None]
            next_due = min((one for one in due if one is not None), default=until + 1)
            if next_due > until:
                return
            await self._sleep(max(0.0, next_due - self._clock()))

    def unsynced(self) -> list[str]:
        """Return every path that is not the same on both sides, as far as is known."""
        refused = {one.path for one in self.replica.state.problems if one.side is Side.LOCAL}
        return sorted(refused | set(self.replica.state.pending))

    async def _guarded_turn(self) -> None:
        if self._standing.is_broken:
            return
        try:
            with disk_trouble(self._where):
                await self._turn()
        except StateDamaged:
            raise
        except MemfsError as error:
            self.failed(error)
        await self._cycle.tell()

    async def _turn(self) -> None:
        now = self._clock()
        if self._scan_due <= now or self._scan_wanted.take_due(now):
            await self._scan()
        await self._look()
        await forget_redacted(self.replica)
        if not self._standing.may_ask:
            if self._has_news or self._decided is None:
                self._decided, self._has_news = self._cycle.look(), False
            self.has_synced.set()
            return
        has_listed, has_heard = self._take_listing(), self._following.go_on()
        has_polled = await self._poll()
        due = self._cycle_due()
        if due is not None and due <= self._clock():
            self._has_news = False
            self._decided = await self._cycle.run(self._clock() + TURN_S)
        if has_listed or has_heard or has_polled:
            self._standing.worked()
        if self.replica.remote.is_verified and not self.replica.owes:
            self.has_synced.set()

    async def _rest(self) -> None:
        """Sleep until something is due, or until there is a reason to look."""
        now = self._clock()
        if self._standing.is_broken:
            await self._sleep(self._standing.broken_until - now)
            return
        due = [self._scan_due, self.replica.dirty.next_due(), self._scan_wanted.next_due()]
        if not self._standing.may_ask:
            due.append(self._standing.may_ask_at)
        else:
            due.append(self._cycle_due())
            due.append(None if self._listing.is_there else self._listing_due)
            due.append(self._poll_due if self._can_poll() else None)
        wait_s = min(one for one in due if one is not None) - now
        if wait_s <= 0:
            await asyncio.sleep(0)
            return
        try:
            async with asyncio.timeout(wait_s):
                await self._wake.wait()
        except TimeoutError:
            return

    def _cycle_due(self) -> float | None:
        """Return when suspects have to be compared: at once where there is news of some, or when one has waited."""
        decided = self._decided
        if not self.replica.suspects:
            return None
        if self._has_news or decided is None or not decided.is_idle:
            return 0.0
        return decided.next_due

    # -------------------------------------------------------------------------------------------------- observations

    async def _scan(self) -> None:
        self._scan_due = self._clock() + self.scan_s
        self._scans_begun = number = self._scans_begun + 1
        replica = self.replica
        replica.open_root()
        replica.saw_everything(await asyncio.to_thread(replica.near.scan, replica.known))
        self._has_news = True
        self._scans_done = number
        if not self._listing.is_there:
            await forget_old(replica)
        self.on_scan()

    async def _look(self, *, everything: bool = False) -> None:
        dirty = self.replica.dirty
        relatives = dirty.take_all() if everything else self.replica.take_dirty()
        if relatives:
            self.replica.saw(await asyncio.to_thread(self.replica.near.look_at, relatives))
            self._has_news = True

    def _take_listing(self) -> bool:
        """Start a listing that is due; tell whether one ended, or raise what ended it."""
        has_ended = self._listing.take_end()
        if not self._listing.is_there and (self._listing_due <= self._clock() or self.replica.wants_listing):
            self._listing.begin(self._list())
        return has_ended

    async def _list(self) -> None:
        replica = self.replica
        replica.wants_listing = False
        if replica.remote.is_complete:
            await replica.far.list_all()
        else:
            await replica.far.download()
        replica.suspect(replica.local.files.keys() - replica.state.baseline.paths)
        self._listing_due = self._clock() + max(LISTING_S, PAGE_S * replica.far.pages)

    def _can_poll(self) -> bool:
        far = self.replica.far
        return far.has_feed and not far.follows and not self._listing.is_there

    async def _poll(self) -> bool:
        """Ask the feed if that is due; tell whether it was."""
        if not self._can_poll() or self._poll_due > self._clock():
            return False
        self._poll_due = self._clock() + self._poll_s
        await self.replica.far.poll()
        if self._store_due <= self._clock():
            self._store_due = self._clock() + STORE_S
            if await self.replica.far.is_archived():
                self.on_archived()
        return True

    def failed(self, error: MemfsError) -> None:
        """Take in why the store cannot be synced for now."""
        self.has_synced.set()
        self._poll_due = 0.0
        self._has_news = True
        if isinstance(error, StateUnavailable):
            self._scan_due = 0.0
        if isinstance(error, StoreReadOnly):
            self.on_archived()
        self._standing.failed(error)

    def _archived(self) -> None:
        self.on_archived()

    def _look_anew(self) -> None:
        self._decided = self._cycle.look()
