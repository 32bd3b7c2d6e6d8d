"""How bytes get to a path of the tree: fetched, staged and fsynced, then put in place by the tree's owner.

Used by `worker.pulls` and `worker.conflicting`. Every change is a compare-and-swap against the file that was observed.
Runs on the control thread; files are written, and the owner is asked, in threads.
"""

import asyncio
import os

from memfs.core.digest import content_sha256
from memfs.core.errors import NotFound, RemoteUnavailable
from memfs.core.paths import StorePath, ancestors
from memfs.core.plan import Side
from memfs.core.tree_requests import Answer, Identity, Replace
from memfs.core.tree_requests import Outcome as Swapped
from memfs.state.baseline import Agreed
from memfs.tree.atomic import stage
from worker.outcomes import Outcome, Trouble
from worker.replica import NOT_WRITTEN, STAGED, Replica
from worker.views import LocalFile, RemoteMemory, described

BUSY_WAIT_S = 0.5
CHANGED_WAIT_S = 0.25
"""A file that was another one when its turn came: one that is written all the time is so however long it waits."""
FORCE_AFTER_S = 30.0
"""A file that a program keeps writing is replaced after so long all the same; what is displaced is kept."""
UNKNOWN = Identity(0, 0, 0, 0)
"""Of a file that has to be read again before anything is known of it."""


class Placing:
    """Puts bytes at paths of one store's tree."""

    def __init__(self, replica: Replica) -> None:
        self._replica = replica
        self._store_id = replica.attachment.store_id

    async def content(self, path: StorePath, memory: RemoteMemory) -> bytes | None:
        """Return the bytes of a memory; None where it is another one by now, which the view then says."""
        kept = await asyncio.to_thread(self._replica.contents.get, memory.content_sha256)
        if kept is not None:
            return kept
        try:
            found = await self._replica.remote_side.retrieve_memory(self._store_id, memory.memory_id)
        except NotFound:
            await self._replica.far.look_again(memory.memory_id)
            return None
        content = (found.content or "").encode()
        if found.content_sha256 != memory.content_sha256 or found.path != path:
            self._replica.far.take(found.path, described(found))
            return None
        if content_sha256(content) != memory.content_sha256:
            raise RemoteUnavailable(f"the remote's content of {path} is not what its content_sha256 says")
        await asyncio.to_thread(self._replica.contents.put, memory.content_sha256, content)
        return content

    async def replace(
        self, path: StorePath, file: LocalFile | None, sha256: str, content: bytes, *, force: bool
    ) -> Answer:
        """Put ``content`` at the path, in place of ``file`` or of nothing."""
        return await asyncio.to_thread(self.stage_and_ask, path, file and file.identity, sha256, content, force)

    def stage_and_ask(
        self, path: StorePath, expect: Identity | None, sha256: str, content: bytes, force: bool
    ) -> Answer:
        """Do what `replace` does, in the thread that calls."""
        name = f"{STAGED}{sha256[:16]}.{os.urandom(6).hex()}"
        staged = stage(self._replica.layout.staging, name, content)
        try:
            return self._replica.owner.ask(
                Replace(store_id=self._store_id, path=path, staged=name, expect=expect, force=force)
            )
        finally:
            staged.unlink(missing_ok=True)

    def not_done(self, path: StorePath, answer: Answer) -> Outcome:
        """Return what a change comes to that the owner did not make."""
        if answer.error:
            trouble = Trouble(path=path, side=Side.REMOTE, code=NOT_WRITTEN, message=f"{path}: {answer.error}")
            return Outcome(trouble=trouble, read_again=(path,), postponed=path)
        if answer.outcome is Swapped.BUSY:
            return Outcome(busy=path, wait_s=BUSY_WAIT_S)
        return Outcome(read_again=(path,), postponed=path)

    def is_overdue(self, path: StorePath) -> bool:
        """Tell whether a program has kept writing the file for so long that it is not waited for."""
        since = self._replica.busy_since.get(path)
        return since is not None and self._replica.clock.monotonic() - since >= FORCE_AFTER_S

    def prunable(self, path: StorePath) -> tuple[str, ...]:
        """Return the directories above that may go when they are empty: made by us, or wanted as a file."""
        made, wanted = self._replica.state.directories, self._replica.remote.memories
        return tuple(one for one in ancestors(path) if one in made or one in wanted)


def is_applied(answer: Answer) -> bool:
    """Tell whether the owner made the change."""
    return answer.outcome is Swapped.APPLIED and not answer.error


def placed(memory: RemoteMemory, answer: Answer, now: float) -> LocalFile:
    """Return the file that a memory's bytes became."""
    # Bytes that were appended meanwhile came along: what the file has now is not known until it is read.
    identity = UNKNOWN if answer.appended_bytes or answer.identity is None else answer.identity
    return LocalFile(memory.content_sha256, memory.size_bytes, identity, now)


def agreed(path: StorePath, memory: RemoteMemory, answer: Answer, now: float) -> Agreed:
    """Return the baseline of a path at which a memory's bytes were put."""
    return Agreed(
        path=path, memory_id=memory.memory_id, version_id=memory.version_id, content_sha256=memory.content_sha256,
        size_bytes=memory.size_bytes, updated_at=memory.updated_at, hashed_at=now,
        identity=None if answer.appended_bytes else answer.identity,
    )  # fmt: skip
