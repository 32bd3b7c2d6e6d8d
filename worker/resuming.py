"""What ends a halt: the deletions are allowed, or what they took is brought back from the other side and from trash.

Called by `worker.control` on the control thread, between two cycles.
"""

import asyncio
import logging
from math import inf

from memfs.core.errors import NotFound, StoreReadOnly
from memfs.core.paths import StorePath
from memfs.core.plan import Side
from memfs.state.braking import Deletion
from worker.braking import HALTED
from worker.placing import Placing, is_applied
from worker.replica import Replica

log = logging.getLogger(__name__)


def accept(replica: Replica) -> int:
    """Let the store go on with the deletions that it was halted for; return how many there are."""
    wanted = set(replica.deletions_seen) | {(side, path) for path in _halted(replica) for side in Side}
    with replica.state.transaction():
        replica.state.braking.accept(wanted)
        _go_on(replica)
    count = len({path for _, path in wanted})
    log.info("the store %s goes on: %d deletions were accepted", replica.attachment.name, count)
    replica.suspect(path for _, path in wanted)
    return count


async def restore(replica: Replica) -> int:
    """Bring back what the store was halted for, and what was deleted before; return how many memories that is.

    Raises:
        StoreReadOnly: What the remote deleted cannot be made there again.
        RemoteUnavailable: A memory's text is not here, and the remote does not give it.
    """
    if not replica.attachment.is_writable:
        raise StoreReadOnly(
            f"the store {replica.attachment.name} is read-only: it follows its remote",
            remedy="Give --accept; what is removed here goes to trash",
        )
    wanted = _halted(replica) | {path for (_, path), one in replica.deletions_seen.items() if not one.is_move}
    count = len(wanted)
    for deletion in replica.state.braking.deletions:
        count += await _bring_back(replica, deletion)
    with replica.state.transaction():
        for path in wanted:
            # Without a baseline, what is left on one side is new there, and comes to the other.
            replica.state.baseline.drop(path)
        _go_on(replica)
    log.info("the store %s goes on: %d memories are brought back", replica.attachment.name, count)
    replica.suspect(wanted)
    return count


def _halted(replica: Replica) -> set[StorePath]:
    """Return the paths whose deletion waits, as they were recorded."""
    return {StorePath(path) for path, state in replica.state.pending.items() if state == HALTED}


def _go_on(replica: Replica) -> None:
    braking = replica.state.braking
    braking.set_halt(None)
    braking.forget_deletions(inf)
    braking.set_root(*replica.root)


async def _bring_back(replica: Replica, deletion: Deletion) -> bool:
    """Put a deleted memory's text at its path again, unless something is there; tell whether it was."""
    path = deletion.path
    if path in replica.local.files or path in replica.remote.memories:
        return False
    content = await _text(replica, deletion)
    if content is None:
        log.warning("%s is not brought back: its text is nowhere", path)
        return False
    answer = await Placing(replica).replace(path, None, deletion.content_sha256, content, force=False)
    replica.look_again(path)
    return is_applied(answer)


async def _text(replica: Replica, deletion: Deletion) -> bytes | None:
    kept = await asyncio.to_thread(replica.contents.get, deletion.content_sha256)
    if kept is not None:
        return kept
    if deletion.side is Side.LOCAL:
        try:
            return await asyncio.to_thread((replica.layout.trash / deletion.kept).read_bytes)
        except FileNotFoundError:
            return None
    try:
        version = await replica.remote_side.retrieve_version(replica.attachment.store_id, deletion.version_id)
    except NotFound:
        return None
    return None if version.content is None else version.content.encode()
