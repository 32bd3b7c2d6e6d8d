"""One attached store as the worker works on it: what it knows, where things are, and what it has to look at.

A `Replica` holds the three observations (baseline, local view, remote view) and the set of *suspects*: the paths that
may differ. Everything that is learnt comes in here, on the control thread, and makes suspects; a cycle settles them.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from memfs.core.attachment import Access, Attachment
from memfs.core.conflicts import ConflictPolicy
from memfs.core.limits import Limits
from memfs.core.names import Names
from memfs.core.paths import StorePath, relative
from memfs.core.plan import Side
from memfs.core.reconcile import Action, reconcile
from memfs.core.tree_requests import Changed
from memfs.remote.protocol import Remote
from memfs.state.contents import Contents
from memfs.state.layout import StoreLayout
from memfs.state.problems import Problem
from memfs.state.store_state import StoreState
from memfs.tree.local import LocalTree
from memfs.tree.owner import TreeOwner
from worker.merging import MERGED, settle_merge
from worker.observe_local import LocalObserver, Sight
from worker.observe_remote import RemoteObserver
from worker.settling import Settling
from worker.views import LocalFile, LocalView, RemoteMemory, RemoteView

POSTPONED_BASE_S, POSTPONED_CAP_S = 0.25, 30.0
NOT_WRITTEN = "not_written"
"""The code of the problem of a path that the disk did not take."""
STAGED = "pull-"
"""How the names of staged bytes begin that are those of one side."""


class Clock(Protocol):
    """What time it is; the module `time` is one."""

    def time(self) -> float:
        """Return unix seconds."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        ...


@dataclass(frozen=True, slots=True)
class Postponed:
    """A path whose action did not work out: when it is tried again, and how often it failed."""

    until: float
    failures: int


class Seen(NamedTuple):
    """A deletion as it was first seen: when (unix seconds), of how many memories."""

    at: float
    memories: int
    is_move: bool
    """The same bytes were new at another path."""


class Replica:
    """See the module. Closed by whoever made it."""

    def __init__(
        self,
        attachment: Attachment,
        layout: StoreLayout,
        remote: Remote,
        owner: TreeOwner,
        tell: Callable[[Changed], None],
        *,
        names: Names,
        limits: Limits,
        clock: Clock,
        policy: ConflictPolicy = ConflictPolicy.MERGE,
    ) -> None:
        self.attachment = attachment
        self.layout = layout
        self.remote_side = remote
        self.owner = owner
        self.tell = tell
        self.names = names
        self.limits = limits
        self.clock = clock
        self.policy = policy
        self.state = StoreState(layout)
        self.tree = LocalTree(layout.tree)
        self.contents = Contents(layout.base)
        for merging in self.state.merges:
            settle_merge(self, merging)
        self._clear_leftovers()
        self.local = LocalView()
        self.remote = RemoteView()
        self.near = LocalObserver(self.tree, layout.tree, names, limits, clock.time)
        self.far = RemoteObserver(
            remote, attachment.store_id, self.remote, self.suspect, self.contents,
            names=names, limits=limits, monotonic=clock.monotonic,
        )  # fmt: skip
        self.far.on_gap = self._want_listing
        self.far.is_under_way = lambda path: path in self._under_way
        self.works_on(())
        self.dirty: Settling[bytes] = Settling()
        self.suspects: set[StorePath] = set()
        self.postponed: dict[StorePath, Postponed] = {}
        self.deletions_seen: dict[tuple[Side, StorePath], Seen] = {}
        """Each deletion that is wanted, by the side that it changes."""
        self.busy_since: dict[StorePath, float] = {}
        self.wants_listing = False
        """Something was seen that only a listing explains."""
        self.on_suspects: Callable[[], None] = lambda: None
        """Called when there is something to look at."""
        self._seed()

    @property
    def root(self) -> tuple[int, int]:
        """Device and inode of the tree that is looked at."""
        return self.tree.root

    @property
    def is_root_new(self) -> bool:
        """Tell whether the tree is another directory than it was."""
        return self.state.braking.root not in {None, self.root}

    def open_root(self) -> None:
        """Look at the directory that is the tree now, should another have taken its place."""
        found = self.layout.tree.stat()
        if (found.st_dev, found.st_ino) != self.root:
            old, self.tree = self.tree, LocalTree(self.layout.tree)
            self.near = LocalObserver(self.tree, self.layout.tree, self.names, self.limits, self.clock.time)
            old.close()

    def close(self) -> None:
        """Close the tree and the database."""
        self.tree.close()
        self.state.close()

    def _clear_leftovers(self) -> None:
        """Remove what a killed worker left half-done: nothing of it was in place."""
        self.contents.clear_partials()
        for beginning in (STAGED, MERGED):
            for staged in self.layout.staging.glob(f"{beginning}*"):
                staged.unlink(missing_ok=True)

    @property
    def access(self) -> Access:
        """What may be changed: an archived store is read-only whatever was asked for."""
        return Access.READ_WRITE if self.attachment.is_writable else Access.READ_ONLY

    @property
    def owes(self) -> bool:
        """Tell whether a path waits for something that can be done: held-back and refused ones do not count."""
        return "pending" in self.state.pending.values()

    def kept_contents(self) -> set[str]:
        """Return the digests whose contents are still needed: for merges, and for pulls that are due."""
        due = {one.agreed.content_sha256 for one in self.state.merges}
        due |= {one.content_sha256 for one in self.state.braking.deletions}
        due |= {sha256 for path in self.suspects if (sha256 := self.remote.sha256(path)) is not None}
        return self.state.baseline.contents() | due

    def action(self, path: StorePath) -> Action:
        """Return what is to be done about a path, by what is known of it now."""
        row = self.state.baseline.get(path)
        remote = self.remote.sha256(path)
        baseline = row.content_sha256 if row else None
        if remote is not None and remote != baseline and remote in self.state.baseline.intended(path):
            # At this point we know that a push of ours arrived and its answer was lost: the remote is our own past.
            baseline = remote
        return reconcile(baseline, self.local.sha256(path), remote, self.access, self.policy)

    def suspect(self, paths: Iterable[StorePath]) -> None:
        """Have the next cycle look at the paths."""
        self.suspects.update(paths)
        self.on_suspects()

    def postpone(self, path: StorePath, wait_s: float | None = None) -> None:
        """Leave the path alone for a while, twice as long after each failure unless told how long."""
        failures = self.postponed[path].failures + 1 if path in self.postponed else 0
        backoff_s = min(POSTPONED_CAP_S, POSTPONED_BASE_S * 2.0 ** min(failures, 10))
        until = self.clock.monotonic() + (backoff_s if wait_s is None else wait_s)
        self.postponed[path] = Postponed(until, failures)
        self.suspects.add(path)

    def works_on(self, paths: Iterable[StorePath]) -> None:
        """Note on which paths the executor is working now; none when their outcomes are recorded."""
        self._under_way = frozenset(paths)
        if self._under_way:
            self.far.is_idle.clear()
        else:
            self.far.is_idle.set()

    def _want_listing(self) -> None:
        self.wants_listing = True
        self.on_suspects()

    def look_again(self, path: StorePath) -> None:
        """Have the path read again, at once."""
        self.dirty.mark(relative(path).encode(), self.clock.monotonic())

    def take_dirty(self) -> list[bytes]:
        """Return what is to be read again: what is settled, and what an action waits for that found it changed."""
        now = self.clock.monotonic()
        waited = {relative(path).encode() for path, one in self.postponed.items() if one.until <= now}
        return self.dirty.take_due(now, waited)

    # ------------------------------------------------------------------------------------------------------- local

    def known(self, path: StorePath) -> LocalFile | None:
        """Return what is known of the file at a path, this time or from the last run."""
        file = self.local.files.get(path)
        if file is not None:
            return file
        row = self.state.baseline.get(path)
        if row is None or row.identity is None:
            return None
        return LocalFile(row.content_sha256, row.size_bytes, row.identity, row.hashed_at)

    def saw(self, sights: Iterable[Sight]) -> None:
        """Take in what was seen at single places."""
        with self.state.transaction():
            for sight in sights:
                self._saw(sight)

    def saw_everything(self, sights: list[Sight]) -> None:
        """Take in a whole scan: what it did not show is not there."""
        shown = {sight.path for sight in sights} | {sight.shown for sight in sights}
        now = self.clock.monotonic()
        with self.state.transaction():
            self.local.directories.clear()
            self.local.blocked.clear()
            for sight in sights:
                self._saw(sight)
            for path in (self.local.files.keys() | self.state.baseline.paths) - shown:
                self._gone(path, now)
            for problem in self.state.problems:
                if problem.side is Side.LOCAL and problem.path not in shown:
                    self._drop_problem(problem.path, Side.LOCAL)
            self.state.unmade(*(self.state.directories - self.local.directories))

    def _saw(self, sight: Sight) -> None:
        path, now = sight.path, self.clock.monotonic()
        if sight.is_unsettled and path is not None:
            self.look_again(path)
        elif sight.refusal is not None:
            self._refused(sight)
        elif path is None:
            self._drop_problem(sight.shown, Side.LOCAL)
        elif sight.is_directory:
            self.local.directories.add(path)
            self._gone(path, now)
        elif sight.file is None:
            self.local.directories.discard(path)
            self._gone(path, now)
        else:
            self._is_there(path, sight.file)

    def _is_there(self, path: StorePath, file: LocalFile) -> None:
        row, is_news = self.state.baseline.get(path), self.local.put(path, file)
        problem = self.state.problems.get(path, Side.LOCAL)
        if problem is not None and (problem.fingerprint != file.content_sha256 if problem.fingerprint else is_news):
            self._drop_problem(path, Side.LOCAL)
        if is_news or row is None or row.identity != file.identity:
            self.suspects.add(path)
            self.state.touch(path)

    def _gone(self, path: StorePath, now: float) -> None:
        self.local.blocked.discard(path)
        self._drop_problem(path, Side.LOCAL)
        if self.local.drop(path, now) or path in self.state.baseline:
            self.suspects.add(path)
        elif path not in self.remote.memories:
            self.local.forget(path)

    def _refused(self, sight: Sight) -> None:
        if sight.refusal is None:
            return
        if sight.path is not None:
            self.local.blocked.add(sight.path)
            self.local.files.pop(sight.path, None)
            self.local.forget(sight.path)
        self.put_problem(sight.shown, Side.LOCAL, sight.refusal.code, sight.refusal.message)

    # ------------------------------------------------------------------------------------------------------ remote

    def _seed(self) -> None:
        """Start from the baseline: what both sides agreed on is the best guess of the remote."""
        baseline = self.state.baseline
        outside = [path for path in baseline.paths if self.names.is_local_only(relative(path))]
        with self.state.transaction():
            for path in outside:
                baseline.drop(path)
        for path in baseline.paths:
            row = baseline.get(path)
            if row is not None:
                memory = RemoteMemory(row.memory_id, row.version_id, row.content_sha256, row.size_bytes, row.updated_at)
                self.remote.put(path, memory)
        # Without a baseline, creating what the remote may have already would only earn refusals: list first.
        self.remote.is_complete = len(baseline) > 0

    def note_refused_memories(self) -> None:
        """Record as problems the memories that cannot be files here; inside a transaction."""
        found: Mapping[str, tuple[str, str]] = {
            path: (refusal.code, refusal.message) for path, refusal in self.far.refusals.values()
        }
        for path, (code, message) in found.items():
            self.put_problem(path, Side.REMOTE, code, message)
        for problem in self.state.problems:
            is_of_memory = problem.side is Side.REMOTE and problem.code != NOT_WRITTEN and not problem.fingerprint
            if is_of_memory and problem.path not in found:
                self._drop_problem(problem.path, Side.REMOTE)

    # ---------------------------------------------------------------------------------------------------- problems

    def note_written(self, path: StorePath) -> None:
        """Forget that the disk did not take a path, on which both sides agree now; inside a transaction."""
        problem = self.state.problems.get(path, Side.REMOTE)
        if problem is not None and problem.code == NOT_WRITTEN:
            self._drop_problem(path, Side.REMOTE)

    def put_problem(self, path: str, side: Side, code: str, message: str, fingerprint: str = "") -> None:
        """Record a problem of a path; inside a transaction."""
        problem = Problem(
            path=path, side=side, code=code, message=message, since=self.clock.time(), fingerprint=fingerprint
        )
        if self.state.problems.put(problem):
            self.state.touch(path)

    def _drop_problem(self, path: str, side: Side) -> None:
        if self.state.problems.drop(path, side):
            self.state.touch(path)
