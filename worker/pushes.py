"""Actions on the remote: update, create, delete, rename. Each is conditional on what was observed.

Before bytes are sent, their digest is recorded as intended, so that a lost answer heals. Nothing is tried again here:
a refused condition means that the remote has to be looked at again, and the next round decides anew. Runs on the
control thread; files are read in threads.
"""

import asyncio
import logging

from memfs.api.models import Memory, timestamp
from memfs.core.digest import check_content
from memfs.core.errors import (
    ConcurrentChange,
    NotFound,
    PathConflict,
    PreconditionFailed,
    RemoteUnavailable,
)
from memfs.core.paths import StorePath
from memfs.core.plan import Rename, Side
from memfs.state.baseline import Agreed
from worker.braking import carried_out
from worker.outcomes import Outcome
from worker.reading import read_local
from worker.replica import Replica
from worker.views import LocalFile

log = logging.getLogger(__name__)


class Pushes:
    """What a cycle does to the remote side of one store."""

    def __init__(self, replica: Replica) -> None:
        self._replica = replica
        self._remote = replica.remote_side
        self._store_id = replica.attachment.store_id

    async def update(self, path: StorePath) -> Outcome:
        """Send the local bytes to the memory, if it still holds what the view says."""
        memory = self._replica.remote.memories[path]
        text, file = await self._bytes(path)
        if file.content_sha256 == memory.content_sha256:
            raise ConcurrentChange(f"{path} holds by now what the remote has")
        try:
            answer = await self._remote.update_memory(
                self._store_id, memory.memory_id, content=text, expect_sha256=memory.content_sha256
            )
        except (NotFound, PreconditionFailed):
            return await self._ask_again(memory.memory_id, path)
        log.info("pushed %s: %.12s over %.12s", path, file.content_sha256, memory.content_sha256)
        return Outcome(agreed=_agreed(path, file, answer), answered=answer, files=((path, file),))

    async def create(self, path: StorePath) -> Outcome:
        """Make a memory of the local bytes, if nothing is in its way."""
        text, file = await self._bytes(path)
        try:
            answer = await self._remote.create_memory(self._store_id, path, text)
        except PathConflict as error:
            return await self._ask_about(error, path)
        log.debug("created %s: %.12s", path, file.content_sha256)
        return Outcome(agreed=_agreed(path, file, answer), answered=answer, files=((path, file),))

    async def delete(self, path: StorePath) -> Outcome:
        """Delete the memory, if it still holds what the view says and its file is still gone."""
        memory = self._replica.remote.memories[path]
        if await asyncio.to_thread(self._replica.near.identity, path) is not None:
            return Outcome(read_again=(path,), postponed=path)
        try:
            await self._remote.delete_memory(self._store_id, memory.memory_id, expect_sha256=memory.content_sha256)
        except (NotFound, PreconditionFailed):
            return await self._ask_again(memory.memory_id, path)
        log.info("deleted %s on the remote: it held %.12s", path, memory.content_sha256)
        deletion = carried_out(self._replica, path, Side.REMOTE)
        return Outcome(deleted=memory.memory_id, dropped=path, deletion=deletion)

    async def rename(self, rename: Rename) -> Outcome:
        """Give the memory its file's new path; it keeps its id."""
        memory = self._replica.remote.memories[rename.source]
        try:
            answer = await self._remote.update_memory(
                self._store_id, memory.memory_id, path=rename.target, expect_sha256=memory.content_sha256
            )
        except PathConflict as error:
            return await self._ask_about(error, rename.source)
        except (NotFound, PreconditionFailed):
            return await self._ask_again(memory.memory_id, rename.source)
        if rename.is_clash:
            log.info(
                "moved %s on the remote to %s: a directory has its name here (%.12s)",
                rename.source, rename.target, memory.content_sha256,
            )  # fmt: skip
            return Outcome(answered=answer, dropped=rename.source)
        log.info("renamed %s on the remote to %s", rename.source, rename.target)
        return Outcome(answered=answer, agreed=self._renamed(rename, answer))

    def _renamed(self, rename: Rename, answer: Memory) -> Agreed:
        row, file = self._replica.state.baseline.get(rename.origin), self._replica.local.files[rename.target]
        sha256 = row.content_sha256 if row else answer.content_sha256
        return _agreed(rename.target, file if file.content_sha256 == sha256 else None, answer, sha256)

    async def _bytes(self, path: StorePath) -> tuple[str, LocalFile]:
        """Return what is to be sent, recorded as intended, and the file that has it.

        Raises:
            ConcurrentChange: The file is not what was observed any more, or changes while it is read.
            InvalidContent: It is no UTF-8 text.
            ContentTooLarge: It has too many bytes.
        """
        content, file = await asyncio.to_thread(read_local, self._replica, path)
        text = check_content(content, self._replica.limits, path)
        await asyncio.to_thread(self._replica.contents.put, file.content_sha256, content)
        with self._replica.state.transaction():
            self._replica.state.baseline.intend([(path, file.content_sha256)])
        return text, file

    async def _ask_again(self, memory_id: str, path: StorePath) -> Outcome:
        news = await self._replica.far.look_again(memory_id)
        return Outcome(news=frozenset(news | {path}), postponed=None if news else path)

    async def _ask_about(self, error: PathConflict, path: StorePath) -> Outcome:
        if not error.conflicting_memory_id:
            return Outcome(wants_listing=True, postponed=path)
        return await self._ask_again(error.conflicting_memory_id, path)


def _agreed(path: StorePath, file: LocalFile | None, answer: Memory, sha256: str | None = None) -> Agreed:
    wanted = sha256 or (file.content_sha256 if file else answer.content_sha256)
    if sha256 is None and answer.content_sha256 != wanted:
        raise RemoteUnavailable(f"the remote answered with other content than it was sent for {path}")
    return Agreed(
        path=path, memory_id=answer.id, version_id=answer.memory_version_id, content_sha256=wanted,
        size_bytes=answer.content_size_bytes, updated_at=timestamp(answer.updated_at),
        identity=file.identity if file else None, hashed_at=file.hashed_at if file else 0.0,
    )  # fmt: skip
