"""Forget displaced bytes: for good after their time, and at once where the remote redacted the version that held them.

Called by the runner on the control thread; files are read and deleted in threads.
"""

import asyncio
import logging
from pathlib import Path

from memfs.core.digest import content_sha256
from memfs.state.baseline import Agreed
from memfs.tree.trash import displaced, empty
from worker.replica import Replica

log = logging.getLogger(__name__)

KEPT_S = 30 * 86_400.0
"""So long displaced bytes are kept."""


async def forget_old(replica: Replica) -> None:
    """Delete what has been in trash for its time, and the texts of which nothing needs to know any more."""
    until = replica.clock.time() - KEPT_S
    await asyncio.to_thread(replica.contents.prune, replica.kept_contents())
    count = await asyncio.to_thread(empty, replica.layout.trash, until)
    if count:
        log.info("deleted %d files of %s for good: they were there for 30 days", count, replica.layout.trash)
    with replica.state.transaction():
        replica.state.replaced.forget(until)


async def forget_redacted(replica: Replica) -> None:
    """Forget what the versions held of which the feed told that they were redacted.

    One that is still the baseline of its memory waits until what came after it is here: that may displace its bytes.
    """
    if not replica.far.redacted:
        return
    for version_id in replica.far.redacted - {row.version_id for row in _rows(replica)}:
        await forget_version(replica, version_id)
        replica.far.redacted.discard(version_id)


async def forget_version(replica: Replica, version_id: str) -> None:
    """Delete what a redacted version held, unless it is what a memory holds now.

    May be called for any version, and again. What a version held is known here if it was the baseline within 30 days.
    """
    sha256 = replica.state.replaced.content_sha256(version_id)
    if sha256 is None:
        return
    if not any(row.content_sha256 == sha256 for row in _rows(replica)):
        await asyncio.to_thread(replica.contents.drop, sha256)
    count = await asyncio.to_thread(_delete, replica.layout.trash, sha256)
    with replica.state.transaction():
        replica.state.replaced.drop(version_id)
    log.info("forgot what the redacted version %s held (%.12s): %d files of the trash", version_id, sha256, count)


def _rows(replica: Replica) -> list[Agreed]:
    baseline = replica.state.baseline
    return [row for path in baseline.paths if (row := baseline.get(path)) is not None]


def _delete(trash: Path, sha256: str) -> int:
    """Delete each file in trash with the digest; return how many went."""
    gone = [one for one in displaced(trash) if content_sha256((trash / one.name).read_bytes()) == sha256]
    for one in gone:
        (trash / one.name).unlink(missing_ok=True)
    return len(gone)
