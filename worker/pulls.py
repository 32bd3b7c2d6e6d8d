"""Actions on the tree: pull, restore, remove, rename. Each is a compare-and-swap by the tree's owner.

New bytes are staged and fsynced first; displaced bytes that exist nowhere else are in trash before they leave their
place. Runs on the control thread; files are written, and the owner is asked, in threads.
"""

import asyncio
import logging
import time

from memfs.core.paths import StorePath, relative
from memfs.core.plan import Rename, Side
from memfs.core.tree_requests import Move, Remove
from memfs.state.baseline import Agreed
from memfs.tree.trash import trash_name
from worker.braking import carried_out
from worker.outcomes import Outcome
from worker.placing import Placing, agreed, is_applied, placed
from worker.replica import Replica
from worker.views import LocalFile, RemoteMemory

log = logging.getLogger(__name__)


class Pulls:
    """What a cycle does to the tree of one store."""

    def __init__(self, replica: Replica, placing: Placing) -> None:
        self._replica = replica
        self._placing = placing
        self._store_id = replica.attachment.store_id

    async def pull(self, path: StorePath) -> Outcome:
        """Put the remote's bytes at the path, in place of bytes that the remote's history knows, or of nothing."""
        return await self._put_remote(path, force=self._placing.is_overdue(path))

    async def restore(self, path: StorePath) -> Outcome:
        """Put the remote's bytes back; those that are there go to trash."""
        return await self._put_remote(path, force=True)

    async def remove(self, path: StorePath) -> Outcome:
        """Move the file to trash, and prune the directories that the worker made for it."""
        file = self._replica.local.files[path]
        kept = trash_name(path, time.time_ns())
        prune = self._placing.prunable(path)
        request = Remove(
            store_id=self._store_id, path=path, expect=file.identity, trash=kept, prune=prune,
            force=self._placing.is_overdue(path),
        )  # fmt: skip
        answer = await asyncio.to_thread(self._replica.owner.ask, request)
        if not is_applied(answer):
            return self._placing.not_done(path, answer)
        log.info("removed %s: %.12s is in trash as %s", path, file.content_sha256, kept)
        pruned = await asyncio.to_thread(self._missing, prune)
        deletion = carried_out(self._replica, path, Side.LOCAL, kept)
        return Outcome(dropped=path, files=((path, None),), pruned=pruned, deletion=deletion)

    async def rename(self, rename: Rename) -> Outcome:
        """Move the file to where its memory is now, or out of a directory's way."""
        file = self._replica.local.files[rename.source]
        # Looked up before the wait: a memory that is deleted meanwhile was renamed all the same.
        row, memory = self._replica.state.baseline.get(rename.origin), self._replica.remote.memories.get(rename.target)
        prune = self._placing.prunable(rename.source)
        request = Move(
            store_id=self._store_id, path=rename.source, target=rename.target, expect=file.identity, prune=prune
        )
        answer = await asyncio.to_thread(self._replica.owner.ask, request)
        if not is_applied(answer) or answer.identity is None:
            return self._placing.not_done(rename.source, answer)
        moved = file._replace(identity=answer.identity)
        outcome = Outcome(
            files=((rename.source, None), (rename.target, moved)), made=answer.made,
            pruned=await asyncio.to_thread(self._missing, prune), dropped=rename.origin,
            agreed=None if rename.is_clash else _renamed(rename, moved, row, memory),
        )  # fmt: skip
        why = "a directory has its name on the remote" if rename.is_clash else "as on the remote"
        log.info("renamed %s to %s: %s (%.12s)", rename.source, rename.target, why, file.content_sha256)
        return outcome

    async def _put_remote(self, path: StorePath, *, force: bool) -> Outcome:
        file, memory = self._replica.local.files.get(path), self._replica.remote.memories[path]
        content = await self._placing.content(path, memory)
        if content is None:
            return Outcome(news=frozenset({path}))
        answer = await self._placing.replace(
            path, file, memory.content_sha256, content, force=force and file is not None
        )
        if not is_applied(answer):
            return self._placing.not_done(path, answer)
        if file is None:
            log.debug("pulled %s: %.12s", path, memory.content_sha256)
        else:
            kept = "trash" if force else "the remote's history"
            log.info(
                "pulled %s: %.12s over %.12s, which is in %s",
                path, memory.content_sha256, file.content_sha256, kept,
            )  # fmt: skip
        now = self._replica.clock.time()
        return Outcome(
            agreed=agreed(path, memory, answer, now),
            files=((path, placed(memory, answer, now)),),
            made=answer.made,
            read_again=(path,) if answer.appended_bytes else (),
        )

    def _missing(self, directories: tuple[str, ...]) -> tuple[str, ...]:
        root = self._replica.layout.tree
        return tuple(one for one in directories if not (root / relative(StorePath(one))).is_dir())


def _renamed(rename: Rename, moved: LocalFile, row: Agreed | None, memory: RemoteMemory | None) -> Agreed | None:
    if row is None or memory is None:
        return None
    is_same = moved.content_sha256 == row.content_sha256
    return Agreed(
        path=rename.target, memory_id=row.memory_id, version_id=memory.version_id,
        content_sha256=row.content_sha256, size_bytes=row.size_bytes, updated_at=memory.updated_at,
        identity=moved.identity if is_same else None, hashed_at=moved.hashed_at,
    )  # fmt: skip
