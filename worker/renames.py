"""Find renames: a memory that one side knows at another path than the baseline.

Used by `worker.cycle`. A local rename is the same backing inode *and* the same bytes, the old path gone and the new one
without a baseline: inodes are used again at once, and equal bytes alone may be a copy. A remote rename is told by the
memory's id. Both answer only for paths that are suspects.
"""

from collections import defaultdict
from dataclasses import dataclass

from memfs.core.paths import StorePath
from memfs.core.plan import Rename, Side
from memfs.state.baseline import Agreed
from worker.replica import Replica


@dataclass(frozen=True, slots=True, kw_only=True)
class Renames:
    """What `find_renames` found."""

    to_make: list[Rename]
    """Moves that one side made and the other has yet to make."""
    made: list[tuple[Agreed, StorePath]]
    """Baseline rows whose memory both sides renamed to the same path."""


def find_renames(replica: Replica) -> Renames:
    """Look for renames among the suspects."""
    found = Renames(to_make=[], made=[])
    moved = _moved_locally(replica)
    for row, target in moved:
        remote_path = replica.remote.path_of(row.memory_id)
        if remote_path == target:
            found.made.append((row, target))
        elif remote_path == row.path and target not in replica.remote.memories:
            found.to_make.append(Rename(source=row.path, target=target, side=Side.REMOTE, origin=row.path))
        elif remote_path is not None and remote_path != row.path:
            # Both sides renamed it: the remote's name is the memory's, the file follows.
            found.to_make.append(Rename(source=target, target=remote_path, side=Side.LOCAL, origin=row.path))
        # Otherwise the memory is gone, or another one sits where the file went: creates and deletes tell it all.
    moved_away = {row.path for row, _ in moved}
    for row in _rows(replica):
        remote_path = replica.remote.path_of(row.memory_id)
        if remote_path in {None, row.path} or row.path in moved_away or row.path not in replica.local.files:
            continue
        found.to_make.append(
            Rename(source=row.path, target=StorePath(remote_path or ""), side=Side.LOCAL, origin=row.path)
        )
    return found


def _moved_locally(replica: Replica) -> list[tuple[Agreed, StorePath]]:
    """Return each baseline row whose file is now at another path, which has no baseline of its own."""
    fresh: defaultdict[int, list[StorePath]] = defaultdict(list)
    for path in sorted(replica.suspects):
        if path in replica.local.files and path not in replica.state.baseline:
            fresh[replica.local.files[path].identity.inode].append(path)
    found = []
    for row in _rows(replica) if fresh else []:
        if row.path in replica.local.files or row.path in replica.local.blocked:
            continue
        last = replica.local.gone.get(row.path)
        contents = {row.content_sha256, last.content_sha256} if last else {row.content_sha256}
        for inode in {identity.inode for identity in (row.identity, last and last.identity) if identity}:
            target = next((one for one in fresh[inode] if replica.local.sha256(one) in contents), None)
            if target is not None:
                fresh[inode].remove(target)
                found.append((row, target))
                break
    return found


def _rows(replica: Replica) -> list[Agreed]:
    return [row for path in sorted(replica.suspects) if (row := replica.state.baseline.get(path)) is not None]
