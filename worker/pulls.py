"""Actions on the tree: pull, restore, conflict, remove, rename. Each is a compare-and-swap by the tree's owner.

New bytes are staged and fsynced first; displaced bytes that exist nowhere else are in trash, or in a conflict copy,
before they leave their place. Runs on the control thread; files are written, and the owner is asked, in threads.
"""

import asyncio
import logging
import os
import time

from memfs.core.conflicts import DIGITS, conflict_path
from memfs.core.digest import content_sha256
from memfs.core.errors import ConcurrentChange, NotFound, RemoteUnavailable
from memfs.core.paths import StorePath, ancestors, relative
from memfs.core.plan import Rename, Side
from memfs.core.tree_requests import Answer, Identity, Move, Remove, Replace
from memfs.core.tree_requests import Outcome as Swapped
from memfs.state.baseline import Agreed
from memfs.state.problems import Conflict
from memfs.tree.atomic import stage
from memfs.tree.trash import trash_name
from worker.outcomes import Outcome, Trouble
from worker.replica import STAGED, Replica
from worker.views import LocalFile, RemoteMemory, described

log = logging.getLogger(__name__)

BUSY_WAIT_S = 0.5
FORCE_AFTER_S = 30.0
"""A file that a program keeps writing is replaced after so long all the same; what is displaced is kept."""
_UNKNOWN = Identity(0, 0, 0, 0)


class Pulls:
    """What a cycle does to the tree of one store."""

    def __init__(self, replica: Replica) -> None:
        self._replica = replica
        self._store_id = replica.attachment.store_id

    async def pull(self, path: StorePath) -> Outcome:
        """Put the remote's bytes at the path, in place of bytes that the remote's history knows, or of nothing."""
        return await self._put_remote(path, force=self._is_overdue(path))

    async def restore(self, path: StorePath) -> Outcome:
        """Put the remote's bytes back; those that are there go to trash."""
        return await self._put_remote(path, force=True)

    async def conflict(self, path: StorePath) -> Outcome:
        """Keep the local bytes in a conflict copy, then put the remote's bytes at the path."""
        file, memory = self._replica.local.files[path], self._replica.remote.memories[path]
        content = await self._content(path, memory)
        if content is None:
            return Outcome(news=frozenset({path}))
        ours = await asyncio.to_thread(self._replica.near.read, path, file)
        copy, made = await asyncio.to_thread(self._keep_copy, path, file, ours)
        answer = await self._replace(path, file, memory.content_sha256, content, force=self._is_overdue(path))
        if not _is_applied(answer):
            if made is not None:
                # Nothing has lost its place yet, and by the next try the file may hold something else.
                await asyncio.to_thread(self._take_back, copy, made.identity)
            return self._not_done(path, answer)
        log.info(
            "conflict about %s: the remote's %.12s keeps the name, the local %.12s is at %s",
            path, memory.content_sha256, file.content_sha256, copy,
        )  # fmt: skip
        now = self._replica.clock.time()
        kept = () if made is None else ((copy, file._replace(identity=made.identity or _UNKNOWN)),)
        return Outcome(
            agreed=_agreed(path, memory, answer, now),
            files=((path, _placed(memory, answer, now)), *kept),
            made=answer.made + (made.made if made else ()),
            read_again=(copy, path) if answer.appended_bytes else (copy,),
            conflict=Conflict(
                path=path, copy_path=copy, local_sha256=file.content_sha256, remote_sha256=memory.content_sha256,
                since=self._replica.clock.time(),
            ),
        )  # fmt: skip

    async def remove(self, path: StorePath) -> Outcome:
        """Move the file to trash, and prune the directories that the worker made for it."""
        file = self._replica.local.files[path]
        kept = trash_name(path, time.time_ns())
        prune = self._prunable(path)
        request = Remove(
            store_id=self._store_id, path=path, expect=file.identity, trash=kept, prune=prune,
            force=self._is_overdue(path),
        )  # fmt: skip
        answer = await asyncio.to_thread(self._replica.owner.ask, request)
        if not _is_applied(answer):
            return self._not_done(path, answer)
        log.info("removed %s: %.12s is in trash as %s", path, file.content_sha256, kept)
        pruned = await asyncio.to_thread(self._missing, prune)
        return Outcome(dropped=path, files=((path, None),), pruned=pruned)

    async def rename(self, rename: Rename) -> Outcome:
        """Move the file to where its memory is now, or out of a directory's way."""
        file = self._replica.local.files[rename.source]
        prune = self._prunable(rename.source)
        request = Move(
            store_id=self._store_id, path=rename.source, target=rename.target, expect=file.identity, prune=prune
        )
        answer = await asyncio.to_thread(self._replica.owner.ask, request)
        if not _is_applied(answer) or answer.identity is None:
            return self._not_done(rename.source, answer)
        moved = file._replace(identity=answer.identity)
        outcome = Outcome(
            files=((rename.source, None), (rename.target, moved)), made=answer.made,
            pruned=await asyncio.to_thread(self._missing, prune), dropped=rename.origin,
            agreed=None if rename.is_clash else self._renamed(rename, moved),
        )  # fmt: skip
        why = "a directory has its name on the remote" if rename.is_clash else "as on the remote"
        log.info("renamed %s to %s: %s (%.12s)", rename.source, rename.target, why, file.content_sha256)
        return outcome

    def _renamed(self, rename: Rename, moved: LocalFile) -> Agreed | None:
        row, memory = (
            self._replica.state.baseline.get(rename.origin),
            self._replica.remote.memories.get(rename.target),
        )
        if row is None or memory is None:
            return None
        is_same = moved.content_sha256 == row.content_sha256
        return Agreed(
            path=rename.target, memory_id=row.memory_id, version_id=memory.version_id,
            content_sha256=row.content_sha256, size_bytes=row.size_bytes, updated_at=memory.updated_at,
            identity=moved.identity if is_same else None, hashed_at=moved.hashed_at,
        )  # fmt: skip

    async def _put_remote(self, path: StorePath, *, force: bool) -> Outcome:
        file, memory = self._replica.local.files.get(path), self._replica.remote.memories[path]
        content = await self._content(path, memory)
        if content is None:
            return Outcome(news=frozenset({path}))
        answer = await self._replace(path, file, memory.content_sha256, content, force=force and file is not None)
        if not _is_applied(answer):
            return self._not_done(path, answer)
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
            agreed=_agreed(path, memory, answer, now),
            files=((path, _placed(memory, answer, now)),),
            made=answer.made,
            read_again=(path,) if answer.appended_bytes else (),
        )

    async def _content(self, path: StorePath, memory: RemoteMemory) -> bytes | None:
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

    async def _replace(
        self, path: StorePath, file: LocalFile | None, sha256: str, content: bytes, *, force: bool
    ) -> Answer:
        return await asyncio.to_thread(self._stage_and_ask, path, file and file.identity, sha256, content, force)

    def _stage_and_ask(
        self, path: StorePath, expect: Identity | None, sha256: str, content: bytes, force: bool
    ) -> Answer:
        name = f"{STAGED}{sha256[:16]}.{os.urandom(6).hex()}"
        staged = stage(self._replica.layout.staging, name, content)
        try:
            return self._replica.owner.ask(
                Replace(store_id=self._store_id, path=path, staged=name, expect=expect, force=force)
            )
        finally:
            staged.unlink(missing_ok=True)

    def _keep_copy(self, path: StorePath, file: LocalFile, ours: bytes) -> tuple[StorePath, Answer | None]:
        """Return where the local bytes are kept, and the owner's answer where they were put there just now."""
        for digits in DIGITS:
            copy = conflict_path(path, file.content_sha256, self._replica.limits, digits=digits)
            answer = self._stage_and_ask(copy, None, file.content_sha256, ours, force=False)
            if _is_applied(answer):
                return copy, answer
            if answer.error:
                raise OSError(answer.errno, f"the conflict copy {copy} cannot be made: {answer.error}")
            try:
                there, _ = self._replica.tree.read(copy)
            except (FileNotFoundError, ConcurrentChange):
                continue
            if there == ours:
                return copy, None
        raise ConcurrentChange(f"no name is free for the conflict copy of {path}")

    def _take_back(self, copy: StorePath, identity: Identity | None) -> None:
        if identity is None:
            return
        kept, prune = trash_name(copy, time.time_ns()), self._prunable(copy)
        self._replica.owner.ask(Remove(store_id=self._store_id, path=copy, expect=identity, trash=kept, prune=prune))

    def _not_done(self, path: StorePath, answer: Answer) -> Outcome:
        if answer.error:
            trouble = Trouble(path=path, side=Side.REMOTE, code="not_written", message=f"{path}: {answer.error}")
            return Outcome(trouble=trouble, read_again=(path,), postponed=path)
        if answer.outcome is Swapped.BUSY:
            return Outcome(busy=path, wait_s=BUSY_WAIT_S)
        return Outcome(read_again=(path,), postponed=path)

    def _is_overdue(self, path: StorePath) -> bool:
        since = self._replica.busy_since.get(path)
        return since is not None and self._replica.clock.monotonic() - since >= FORCE_AFTER_S

    def _prunable(self, path: StorePath) -> tuple[str, ...]:
        """Return the directories above that may go when they are empty: made by us, or wanted as a file."""
        made, wanted = self._replica.state.directories, self._replica.remote.memories
        return tuple(one for one in ancestors(path) if one in made or one in wanted)

    def _missing(self, directories: tuple[str, ...]) -> tuple[str, ...]:
        root = self._replica.layout.tree
        return tuple(one for one in directories if not (root / relative(StorePath(one))).is_dir())


def _is_applied(answer: Answer) -> bool:
    return answer.outcome is Swapped.APPLIED and not answer.error


def _placed(memory: RemoteMemory, answer: Answer, now: float) -> LocalFile:
    # Bytes that were appended meanwhile came along: what the file has now is not known until it is read.
    identity = _UNKNOWN if answer.appended_bytes or answer.identity is None else answer.identity
    return LocalFile(memory.content_sha256, memory.size_bytes, identity, now)


def _agreed(path: StorePath, memory: RemoteMemory, answer: Answer, now: float) -> Agreed:
    return Agreed(
        path=path, memory_id=memory.memory_id, version_id=memory.version_id, content_sha256=memory.content_sha256,
        size_bytes=memory.size_bytes, updated_at=memory.updated_at, hashed_at=now,
        identity=None if answer.appended_bytes else answer.identity,
    )  # fmt: skip
