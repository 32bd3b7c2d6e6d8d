"""The plan of a cycle: decisions about single paths and renames, brought into an order that can be carried out.

Neither a store nor a directory can hold ``/a`` and ``/a/b`` at once, so what frees a path goes first: removals, then
renames (one that frees another's target before it), then contents. Where a file and a directory want the same name for
good, the directory stays and the file moves to its conflict name; the paths in the way of that wait for the next
round. Pure; `worker.cycle` makes the decisions and carries the plan out.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import assert_never

from memfs.core.conflicts import DIGITS, conflict_path
from memfs.core.paths import StorePath, ancestors, is_below
from memfs.core.reconcile import Action


class Side(StrEnum):
    """Which side an action changes."""

    LOCAL = "local"
    REMOTE = "remote"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What `reconcile` answered for one path."""

    path: StorePath
    action: Action


@dataclass(frozen=True, slots=True, kw_only=True)
class Rename:
    """A move that one side made and ``side`` has yet to make.

    ``origin`` is the path of the memory's baseline; it differs from ``source`` where both sides renamed the memory.
    ``is_clash``: nobody asked for it, the file has to leave the name to a directory.
    """

    source: StorePath
    target: StorePath
    side: Side
    origin: StorePath
    is_clash: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """What is where: content_sha256 by path on each side, and every local directory, empty ones included."""

    local: Mapping[StorePath, str]
    remote: Mapping[StorePath, str]
    directories: Collection[StorePath] = frozenset()


@dataclass(slots=True, kw_only=True)
class Plan:
    """Steps in order: ``removals``, each wave of ``renames``, ``contents``. ``waiting`` has its turn next round."""

    bookkeeping: list[Decision] = field(default_factory=list)
    """Adopt and forget: they change nothing but the baseline."""
    removals: list[Decision] = field(default_factory=list)
    renames: list[list[Rename]] = field(default_factory=list)
    contents: list[Decision] = field(default_factory=list)
    waiting: set[StorePath] = field(default_factory=set)


def make_plan(
    decisions: Iterable[Decision],
    renames: Iterable[Rename],
    sides: Sides,
    *,
    deferred: Collection[StorePath] = frozenset(),
) -> Plan:
    """Order ``decisions`` and ``renames``.

    Args:
        decisions: One for each dirty path, also for the paths that a rename touches: they hold if it cannot be made.
        renames: Each a move that the other side made.
        sides: What is where before the plan.
        deferred: Paths whose deletion is decided but not due: what they block waits.
    """
    plan = Plan()
    by_path = {decision.path: decision for decision in decisions}
    renames = list(renames)
    given_up = {path for rename in renames for path in (rename.source, rename.origin)}
    # What sits at a target and is to go, goes first; any other decision about a target is the rename's own.
    given_up |= {rename.target for rename in renames if not _frees(by_path.get(rename.target), rename.side)}
    spaces = _spaces(sides, [one for path, one in by_path.items() if path not in given_up])
    for rename in _order(renames, spaces, sides, plan):
        for path in {rename.source, rename.target, rename.origin} & given_up:
            by_path.pop(path, None)
            plan.waiting.add(path)
    # A rename that could not be ordered leaves its two paths to their own decisions, which free paths like any other.
    for decision in by_path.values():
        _vacate(spaces, decision)
    _clashes(by_path, spaces, sides, frozenset(deferred), plan)
    for path in plan.waiting:
        by_path.pop(path, None)
    for decision in by_path.values():
        _file_under_its_phase(decision, plan)
    return plan


class _Space:
    """The names taken on one side while the plan is carried out.

    What lies below each directory is counted when it is first asked for: most plans need no more than a few look-ups.
    """

    def __init__(self, paths: Iterable[StorePath]) -> None:
        self.paths: set[StorePath] = set(paths)
        self._below: Counter[StorePath] | None = None

    def add(self, path: StorePath) -> None:
        if path not in self.paths:
            self.paths.add(path)
            if self._below is not None:
                self._below.update(ancestors(path))

    def remove(self, path: StorePath) -> None:
        if path in self.paths:
            self.paths.remove(path)
            if self._below is not None:
                self._below.subtract(ancestors(path))

    def above(self, path: StorePath) -> StorePath | None:
        """Return the file that sits where ``path`` needs a directory."""
        return next((one for one in ancestors(path) if one in self.paths), None)

    def has_below(self, path: StorePath) -> bool:
        """Tell whether ``path`` is a directory with something in it."""
        if self._below is None:
            self._below = Counter(above for one in self.paths for above in ancestors(one))
        return self._below[path] > 0

    def is_free(self, path: StorePath) -> bool:
        return path not in self.paths and self.above(path) is None and not self.has_below(path)


_Spaces = dict[Side, _Space]


def _spaces(sides: Sides, settled: Iterable[Decision]) -> _Spaces:
    spaces = {Side.LOCAL: _Space(sides.local), Side.REMOTE: _Space(sides.remote)}
    for decision in settled:
        _vacate(spaces, decision)
    return spaces


def _frees(decision: Decision | None, side: Side) -> bool:
    freeing = Action.REMOVE_LOCAL if side is Side.LOCAL else Action.DELETE_REMOTE
    return decision is not None and decision.action is freeing


def _vacate(spaces: _Spaces, decision: Decision) -> None:
    if decision.action is Action.REMOVE_LOCAL:
        spaces[Side.LOCAL].remove(decision.path)
    if decision.action is Action.DELETE_REMOTE:
        spaces[Side.REMOTE].remove(decision.path)


def _order(renames: list[Rename], spaces: _Spaces, sides: Sides, plan: Plan) -> list[Rename]:
    """Fill the plan's waves with the renames that can be made; return those."""
    accepted: list[Rename] = []
    left = renames
    while left:
        wave = [rename for rename in left if _may_move(rename, spaces[rename.side], sides)]
        if not wave:
            # What is left blocks itself in a circle, or is blocked by something that stays.
            break
        for rename in wave:
            spaces[rename.side].remove(rename.source)
            spaces[rename.side].add(rename.target)
        plan.renames.append(wave)
        accepted += wave
        made = frozenset(wave)
        left = [rename for rename in left if rename not in made]
    return accepted


def _may_move(rename: Rename, space: _Space, sides: Sides) -> bool:
    if rename.side is Side.LOCAL and (rename.target in sides.directories or is_below(rename.target, rename.source)):
        # A local directory may hold what nobody counts, and a file cannot become the directory it moves into.
        return False
    # A memory may move to a path below or above its own: it is not in its own way.
    space.remove(rename.source)
    free = space.is_free(rename.target)
    space.add(rename.source)
    return free


def _clashes(
    by_path: Mapping[StorePath, Decision], spaces: _Spaces, sides: Sides, deferred: frozenset[StorePath], plan: Plan
) -> None:
    moves: dict[StorePath, Rename] = {}
    for path, decision in by_path.items():
        if decision.action is Action.CREATE:
            found = _blocked_create(path, spaces, sides, deferred)
        elif decision.action is Action.PULL and path not in sides.local:
            found = _blocked_pull(path, spaces, sides, deferred)
        else:
            continue
        if found is not None:
            plan.waiting.add(path)
            for rename in found:
                moves[rename.source] = rename
    if moves:
        plan.renames.append(list(moves.values()))
        plan.waiting.update(moves)
        plan.waiting.update(rename.target for rename in moves.values())


def _blocked_create(
    path: StorePath, spaces: _Spaces, sides: Sides, deferred: frozenset[StorePath]
) -> list[Rename] | None:
    """Return the moves that make room for a new memory at ``path``, or None where nothing is in its way."""
    remote = spaces[Side.REMOTE]
    above = remote.above(path)
    if above is not None:
        # At this point we know that a memory sits where our directory is: it moves, unless it is about to go.
        return [] if above in deferred else [_clash(above, sides.remote[above], Side.REMOTE, remote)]
    if remote.has_below(path):
        # At this point we know that the remote has a directory where our file is: the file moves, unless every
        # memory in there is about to go.
        inside = [one for one in remote.paths if is_below(one, path)]
        return (
            []
            if all(one in deferred for one in inside)
            else [_clash(path, sides.local[path], Side.LOCAL, spaces[Side.LOCAL])]
        )
    return None


def _blocked_pull(
    path: StorePath, spaces: _Spaces, sides: Sides, deferred: frozenset[StorePath]
) -> list[Rename] | None:
    """Return the moves that make room for a new file at ``path``, or None where nothing is in its way."""
    local = spaces[Side.LOCAL]
    above = local.above(path)
    if above is not None:
        # At this point we know that a file sits where the memory needs a directory: it moves, unless it is about to go.
        return [] if above in deferred else [_clash(above, sides.local[above], Side.LOCAL, local)]
    if path not in sides.directories:
        return None
    inside = [one for one in sides.local if is_below(one, path)]
    if inside and all(one in deferred for one in inside):
        return []
    if local.has_below(path) or not inside:
        # At this point we know that a directory is there and stays. One that loses its last file in this plan is
        # pruned with it.
        return [_clash(path, sides.remote[path], Side.REMOTE, spaces[Side.REMOTE])]
    return None


def _clash(path: StorePath, content_sha256: str, side: Side, space: _Space) -> Rename:
    names = [conflict_path(path, content_sha256, digits=digits) for digits in DIGITS]
    target = next((name for name in names if space.is_free(name)), names[0])
    return Rename(source=path, target=target, side=side, origin=path, is_clash=True)


def _file_under_its_phase(decision: Decision, plan: Plan) -> None:
    match decision.action:
        case Action.NOTHING:
            pass
        case Action.ADOPT | Action.FORGET:
            plan.bookkeeping.append(decision)
        case Action.DELETE_REMOTE | Action.REMOVE_LOCAL:
            plan.removals.append(decision)
        case (
            Action.PULL | Action.RESTORE | Action.PUSH | Action.CREATE
            | Action.MERGE | Action.CONFLICT | Action.OVERRULE
        ):  # fmt: skip
            plan.contents.append(decision)
        case _:
            assert_never(decision.action)
