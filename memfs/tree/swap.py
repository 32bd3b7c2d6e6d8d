"""The one place that changes a file under a program's feet: compare-and-swap replace, remove and move.

Used by `memfs.vfs` (under its mutation lock) and by `memfs.tree.owner.DirectOwner` (under ``owner.lock``): callers
exclude each other, so nothing happens between the comparison and the rename. What is slow, fsyncing directories, is
left to `settle`, which needs no lock. Displaced bytes go to trash before they go from the tree. All that may fail
comes before the one rename or unlink that is the change.
"""

import os
import stat
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import assert_never

from memfs.core.errors import InvalidRequest
from memfs.core.paths import check_local, parse, segments
from memfs.core.tree_requests import Answer, Identity, Move, Outcome, Remove, Replace
from memfs.tree import descent, exchange
from memfs.tree.atomic import write_all
from memfs.tree.local import identity_of
from memfs.tree.places import Places
from memfs.tree.trash import link_to_trash, trash_name

UMASK = 0o022
"""Bits that pulled files and made directories go without, where no mount says otherwise."""

Judge = Callable[[Identity, Identity], Outcome]
"""Says of (expected, found) whether to go on. APPLIED for two that differ means: only O_APPEND writes lie between."""

_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """What was done. Whoever gets it hands it to `settle` and closes ``displaced``."""

    outcome: Outcome
    identity: Identity | None = None
    made: tuple[str, ...] = ()
    pruned: tuple[str, ...] = ()
    appended_bytes: int = 0
    displaced: int = -1
    """A descriptor of the file that was at the path, -1 where none was."""
    unsynced: tuple[int, ...] = ()
    """Descriptors of the directories whose names changed."""


_CHANGED = Swap(outcome=Outcome.CHANGED)


def unchanged(expected: Identity, found: Identity) -> Outcome:
    """Judge by identity alone: whoever saw no write itself knows nothing of appends."""
    return Outcome.APPLIED if expected == found else Outcome.CHANGED


def perform(
    places: Places,
    request: Replace | Remove | Move,
    *,
    judge: Judge = unchanged,
    at_most: int | None = None,
    umask: int = UMASK,
    is_shared: bool = False,
) -> Swap:
    """Do what is asked if the file is what was expected.

    Args:
        places: The store's directories.
        request: What to do.
        judge: Decides on a file that is, or is not, the expected one.
        at_most: Bytes that a file may have after appended bytes were carried over.
        umask: Bits that new files and directories go without.
        is_shared: Programs change the tree too, behind the owner's back: each displaced file is kept in trash.

    Raises:
        InvalidPath: A path is no store path.
        PathTooLong: It is too long or too deep.
        InvalidRequest: The name of a staged or kept file is not a plain name.
        OSError: The disk refuses; nothing was changed.
    """
    match request:
        case Replace():
            _check_plain(request.staged)
            if request.expect is None:
                return _put(places, request, umask)
            return _replace(places, request, request.expect, judge, at_most, is_shared=is_shared)
        case Remove():
            _check_plain(request.trash)
            _check_paths(request.prune)
            return _remove(places, request, judge, is_shared=is_shared)
        case Move():
            _check_paths(request.prune)
            return _move(places, request, umask)
        case _ as never:
            assert_never(never)


def settle(swap: Swap) -> Answer:
    """Make the changed names durable and return the answer."""
    try:
        for directory in swap.unsynced:
            os.fsync(directory)
    finally:
        for directory in swap.unsynced:
            os.close(directory)
    return Answer(outcome=swap.outcome, identity=swap.identity, made=swap.made, appended_bytes=swap.appended_bytes)


def _put(places: Places, wanted: Replace, umask: int) -> Swap:
    *above, name = _way(wanted.path)
    with ExitStack() as held:
        way = descent.make_way(places.tree, above, 0o777 & ~umask)
        if way is None:
            return _CHANGED
        held.callback(way.undo)
        os.chmod(wanted.staged, 0o666 & ~umask, dir_fd=places.staging)
        if not exchange.move_onto_nothing(places.staging, wanted.staged, way.end, name):
            return _CHANGED
        held.pop_all()
    return Swap(outcome=Outcome.APPLIED, identity=_identity(way.end, name), made=way.made, unsynced=way.descriptors)


def _replace(
    places: Places, wanted: Replace, expect: Identity, judge: Judge, at_most: int | None, *, is_shared: bool
) -> Swap:
    *above, name = _way(wanted.path)
    with ExitStack() as held:
        parent, old = _open_file(held, places.tree, above, name)
        if old < 0:
            return _CHANGED
        found = os.fstat(old)
        verdict = judge(expect, identity_of(found))
        if verdict is not Outcome.APPLIED:
            return Swap(outcome=verdict)
        # What differs from the expected file is known to have been appended: it follows the new bytes.
        tail = os.pread(old, found.st_size - expect.size, expect.size) if identity_of(found) != expect else b""
        if not _prepare(places, wanted.staged, stat.S_IMODE(found.st_mode), tail, at_most):
            return _CHANGED
        kept = (_copy(held, places.trash),) if wanted.force or is_shared else ()
        name_in_trash = trash_name(wanted.path, found.st_mtime_ns)
        if is_shared:
            if not exchange.replace(
                parent, name, places.staging, wanted.staged, expect=expect, trash=places.trash, kept=name_in_trash
            ):
                return _CHANGED
        else:
            if wanted.force:
                link_to_trash(parent, name, places.trash, name_in_trash)
            os.rename(wanted.staged, name, src_dir_fd=places.staging, dst_dir_fd=parent)
        held.pop_all()
    return Swap(
        outcome=Outcome.APPLIED,
        identity=_identity(parent, name),
        appended_bytes=len(tail),
        displaced=old,
        unsynced=(parent, *kept),
    )


def _remove(places: Places, wanted: Remove, judge: Judge, *, is_shared: bool) -> Swap:
    *above, name = _way(wanted.path)
    with ExitStack() as held:
        parent, old = _open_file(held, places.tree, above, name)
        if old < 0:
            return _CHANGED
        found = identity_of(os.fstat(old))
        verdict = judge(wanted.expect, found) if found == wanted.expect else Outcome.CHANGED
        if verdict is not Outcome.APPLIED:
            return Swap(outcome=verdict)
        trash = _copy(held, places.trash)
        if is_shared:
            if not exchange.remove(parent, name, wanted.expect, places.trash, wanted.trash):
                return _CHANGED
        else:
            _keep(places, parent, name, wanted.trash)
            os.unlink(name, dir_fd=parent)
        held.pop_all()
    pruned = _prune(places, wanted.prune)
    return Swap(outcome=Outcome.APPLIED, pruned=pruned, displaced=old, unsynced=(parent, trash))


def _move(places: Places, wanted: Move, umask: int) -> Swap:
    *above, name = _way(wanted.path)
    *target_above, target = _way(wanted.target)
    with ExitStack() as held:
        parent, old = _open_file(held, places.tree, above, name)
        if old < 0 or identity_of(os.fstat(old)) != wanted.expect:
            return _CHANGED
        way = descent.make_way(places.tree, target_above, 0o777 & ~umask)
        if way is None:
            return _CHANGED
        held.callback(way.undo)
        if not exchange.move_onto_nothing(parent, name, way.end, target):
            return _CHANGED
        held.pop_all()
    os.close(old)
    return Swap(
        outcome=Outcome.APPLIED,
        identity=_identity(way.end, target),
        made=way.made,
        pruned=_prune(places, wanted.prune),
        unsynced=(*way.descriptors, parent),
    )


def _check_plain(name: str) -> None:
    if not name or "/" in name or "\0" in name or name in {".", ".."}:
        raise InvalidRequest(f"{name!r} is not the name of a file in staging or trash")


def _check_paths(paths: Sequence[str]) -> None:
    for path in paths:
        _way(path)


def _copy(held: ExitStack, directory: int) -> int:
    copy = os.dup(directory)
    held.callback(os.close, copy)
    return copy


def _way(path: str) -> list[str]:
    return segments(check_local(parse(path)))


def _open_file(held: ExitStack, root: int, above: Sequence[str], name: str) -> tuple[int, int]:
    """Open the directory ``above`` and the regular file in it; the file is -1 where there is none."""
    parent = descent.descend(root, above)
    if parent is None:
        return -1, -1
    held.callback(os.close, parent)
    try:
        file = os.open(name, _FILE_FLAGS, dir_fd=parent)
    except OSError as error:
        if descent.leads_nowhere(error):
            return parent, -1
        raise
    held.callback(os.close, file)
    return parent, file if stat.S_ISREG(os.fstat(file).st_mode) else -1


def _prepare(places: Places, staged: str, mode: int, tail: bytes, at_most: int | None) -> bool:
    """Give the staged file its mode and the appended bytes; False where they are more than it may hold."""
    descriptor = os.open(staged, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=places.staging)
    try:
        os.fchmod(descriptor, mode)
        size = os.fstat(descriptor).st_size
        if tail and at_most is not None and size + len(tail) > at_most:
            return False
        if tail:
            write_all(descriptor, tail, size)
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return True


def _keep(places: Places, parent: int, name: str, kept: str) -> None:
    """Give the file a second name in trash; the same file may be there already, from an interrupted action."""
    try:
        os.link(name, kept, src_dir_fd=parent, dst_dir_fd=places.trash, follow_symlinks=False)
    except FileExistsError:
        if _identity(parent, name).inode != _identity(places.trash, kept).inode:
            raise


def _prune(places: Places, directories: Sequence[str]) -> tuple[str, ...]:
    """Remove each directory that is empty, the deepest first; return those that are gone."""
    pruned = []
    for path in sorted(directories, key=lambda path: path.count("/"), reverse=True):
        with suppress(OSError):  # It is in use, or gone: the change that was asked for is made all the same.
            _remove_directory(places, path)
            pruned.append(path)
    return tuple(pruned)


def _remove_directory(places: Places, path: str) -> None:
    *above, name = _way(path)
    parent = descent.descend(places.tree, above)
    if parent is None:
        raise FileNotFoundError(path)
    try:
        os.rmdir(name, dir_fd=parent)
    finally:
        os.close(parent)


def _identity(parent: int, name: str) -> Identity:
    return identity_of(os.stat(name, dir_fd=parent, follow_symlinks=False))
