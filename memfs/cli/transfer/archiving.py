"""Memories become one tar file, the same for the same memories; used by ``memfs stores export``. One event loop.

The archive is whole or not there. What an older one of that name holds and is equal is taken from it.
"""

import os
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING

from memfs.cli.transfer.archives import ArchiveSource, ArchiveWriter, replacing
from memfs.cli.transfer.outcomes import Outcome, Side, Transfer
from memfs.cli.transfer.plans import Refusal
from memfs.cli.transfer.progress import Watch
from memfs.cli.transfer.running import GONE, contents, listed
from memfs.cli.transfer.surveys import Survey, read_unchanged
from memfs.core.errors import InvalidRequest
from memfs.core.limits import Limits
from memfs.core.paths import StorePath

if TYPE_CHECKING:
    from datetime import datetime

    from memfs.api.models import Memory, Store
    from memfs.remote.protocol import Remote


async def export_to_archive(
    remote: "Remote",
    store: "Store",
    target: Path,
    *,
    overwrite: bool,
    dry_run: bool,
    limits: Limits,
    watch: Watch,
) -> Outcome:
    """Write a tar file with each memory; one that holds exactly these already is left as it is.

    Raises:
        OSError: The disk refuses; an older archive is still there.
        RemoteUnavailable: And whatever else `Remote` raises; the same holds.
    """
    memories = await listed(remote, store.id)
    is_there = _is_there(target)
    gone: list[StorePath] = []
    with _opened(target) as file:
        old = ArchiveSource(file, str(target))
        held = _held(old, limits)
        is_equal = is_there and held == {path: memory.content_sha256 for path, memory in memories.items()}
        is_refused = is_there and not is_equal and not overwrite
        is_written = not is_equal and not is_refused
        if is_written and not dry_run:
            gone = await _write(remote, store.id, target, memories, old, held or {}, watch)
    return Outcome(
        transfer=Transfer.EXPORT,
        source=Side(store.name, store.id),
        target=Side(str(target)),
        dry_run=dry_run,
        created=[path for path in memories if path not in gone] if is_written else (),
        updated=(),
        unchanged=tuple(memories) if is_equal else (),
        refused=(Refusal(str(target), "it is there and holds something else"),) if is_refused else (),
        failed=[Refusal(path, GONE) for path in gone],
    )


def _is_there(target: Path) -> bool:
    return os.path.lexists(target)


def _opened(target: Path) -> IO[bytes]:
    """Open the archive that is there, an empty file where none is. A symbolic link is none: it will be replaced."""
    if target.is_file() and not target.is_symlink():
        return target.open("rb")
    return TemporaryFile()  # The caller closes it.


def _held(old: ArchiveSource, limits: Limits) -> dict[StorePath, str] | None:
    """Return the digests of what an archive holds, None where it holds anything that is no memory."""
    try:
        survey: Survey = old.survey(limits, names=None)
    except InvalidRequest:
        return None
    return None if survey.refused else survey.files


async def _write(
    remote: "Remote",
    store_id: str,
    target: Path,
    memories: "dict[StorePath, Memory]",
    old: ArchiveSource,
    held: dict[StorePath, str],
    watch: Watch,
) -> list[StorePath]:
    """Write the archive and return the paths of memories that were gone when their turn came."""
    wanted = {path: memory for path, memory in memories.items() if held.get(path) != memory.content_sha256}
    gone = []
    with watch("exporting", len(wanted)) as advance, TemporaryFile(dir=target.parent) as spool:
        # The remote's order is its own business, an archive's is that of the paths: contents wait on the disk.
        waiting: dict[StorePath, tuple[int, int, datetime]] = {}
        async for memory, path, content in contents(remote, store_id, wanted, among=len(memories)):
            waiting[path] = spool.tell(), len(content), memory.updated_at
            spool.write(content)
            advance()
        with replacing(target) as file:
            archive = ArchiveWriter(file)
            for path, memory in memories.items():
                if path in waiting:
                    start, size, updated_at = waiting[path]
                    spool.seek(start)
                    archive.add(path, spool.read(size), updated_at)
                elif path in wanted:
                    gone.append(path)
                else:
                    archive.add(path, read_unchanged(old, path, held[path]), memory.updated_at)
            archive.close()
    return gone
