"""Actions on a path that both sides edited: merge the two, or keep both, by compare-and-swaps of the tree's owner.

A merge is put in place first, from then on the baseline is the remote's text, and then it is pushed like any edit.
Before the owner is asked, the merge is recorded (`memfs.state.merges`): whoever finds the staged file no more in
``staging/`` knows that what is at the path comes from it, so that nothing is merged twice. The local text goes to trash
before it is displaced. Runs on the control thread; files are written, and the owner is asked, in threads.
"""

import asyncio
import logging
import os
import time

from memfs.core.conflicts import DIGITS, conflict_path
from memfs.core.digest import content_sha256
from memfs.core.errors import ConcurrentChange, MemfsError, NotFound
from memfs.core.merge import merge, nearest_base
from memfs.core.paths import StorePath
from memfs.core.tree_requests import Answer, Identity, Remove, Replace
from memfs.state.baseline import Agreed
from memfs.state.merges import Merging
from memfs.state.problems import Conflict
from memfs.tree.atomic import fsync_directory, stage
from memfs.tree.trash import keep_in_trash, trash_name
from worker.merging import MERGED, settle_merge
from worker.outcomes import Outcome
from worker.placing import UNKNOWN, Placing, agreed, is_applied, placed
from worker.reading import read_local
from worker.replica import Replica
from worker.views import LocalFile, RemoteMemory

log = logging.getLogger(__name__)


class Conflicting:
    """What a cycle does about two edits of one path."""

    def __init__(self, replica: Replica, placing: Placing) -> None:
        self._replica = replica
        self._placing = placing
        self._store_id = replica.attachment.store_id

    async def merge(self, path: StorePath) -> Outcome:
        """Put a merge of both edits at the path, or keep both where they overlap or nothing is known of the base."""
        memory = self._replica.remote.memories[path]
        theirs = await self._placing.content(path, memory)
        if theirs is None:
            return Outcome(news=frozenset({path}))
        ours, file = await asyncio.to_thread(read_local, self._replica, path)
        merged = await asyncio.to_thread(self._merged, await self._bases(path), theirs, ours)
        if merged is None:
            return await self.conflict(path)
        if merged == ours:
            log.info("merged %s: the local %.12s has what the remote's %.12s changed",
                     path, file.content_sha256, memory.content_sha256)  # fmt: skip
            return Outcome(agreed=_from(path, memory), files=((path, file),))
        return await self._put_merge(path, file, memory, ours, merged)

    async def conflict(self, path: StorePath) -> Outcome:
        """Keep the local bytes in a conflict copy, then put the remote's bytes at the path."""
        memory = self._replica.remote.memories[path]
        content = await self._placing.content(path, memory)
        if content is None:
            return Outcome(news=frozenset({path}))
        ours, file = await asyncio.to_thread(read_local, self._replica, path)
        if file.content_sha256 == memory.content_sha256:
            raise ConcurrentChange(f"{path} holds by now what the remote has")
        copy, made = await asyncio.to_thread(self._keep_copy, path, file.content_sha256, ours)
        force = self._placing.is_overdue(path)
        answer = await self._placing.replace(path, file, memory.content_sha256, content, force=force)
        if not is_applied(answer):
            if made is not None:
                # Nothing has lost its place yet, and by the next try the file may hold something else.
                await asyncio.to_thread(self._take_back, copy, made.identity)
            return self._placing.not_done(path, answer)
        log.info(
            "conflict about %s: the remote's %.12s keeps the name, the local %.12s is at %s",
            path, memory.content_sha256, file.content_sha256, copy,
        )  # fmt: skip
        now = self._replica.clock.time()
        kept = () if made is None else ((copy, file._replace(identity=made.identity or UNKNOWN)),)
        return Outcome(
            agreed=agreed(path, memory, answer, now),
            files=((path, placed(memory, answer, now)), *kept),
            made=answer.made + (made.made if made else ()),
            read_again=(copy, path) if answer.appended_bytes else (copy,),
            conflict=Conflict(
                path=path, copy_path=copy, local_sha256=file.content_sha256, remote_sha256=memory.content_sha256,
                since=now,
            ),
        )  # fmt: skip

    async def overrule(self, path: StorePath) -> Outcome:
        """Keep the remote's bytes in a conflict copy; from then on the local ones are an edit of them."""
        file, memory = self._replica.local.files[path], self._replica.remote.memories[path]
        theirs = await self._placing.content(path, memory)
        if theirs is None:
            return Outcome(news=frozenset({path}))
        copy, made = await asyncio.to_thread(self._keep_copy, path, memory.content_sha256, theirs)
        log.info(
            "conflict about %s: the local %.12s keeps the name, the remote's %.12s is at %s",
            path, file.content_sha256, memory.content_sha256, copy,
        )  # fmt: skip
        return Outcome(
            agreed=_from(path, memory),
            files=() if made is None else ((copy, placed(memory, made, self._replica.clock.time())),),
            made=made.made if made else (),
            read_again=(copy,),
            conflict=Conflict(
                path=path, copy_path=copy, local_sha256=file.content_sha256, remote_sha256=memory.content_sha256,
                since=self._replica.clock.time(),
            ),
        )  # fmt: skip

    # -------------------------------------------------------------------------------------------------------- merges

    async def _bases(self, path: StorePath) -> list[bytes]:
        """Return the texts that both sides may come from, the baseline's first; none where that is nowhere any more."""
        row, contents = self._replica.state.baseline.get(path), self._replica.contents
        if row is None:
            return []
        base = await asyncio.to_thread(contents.get, row.content_sha256) or await self._from_history(row)
        sent = [await asyncio.to_thread(contents.get, sha256) for sha256 in self._replica.state.baseline.intended(path)]
        return [] if base is None else [base, *(one for one in sent if one is not None)]

    async def _from_history(self, row: Agreed) -> bytes | None:
        try:
            version = await self._replica.remote_side.retrieve_version(self._store_id, row.version_id)
        except NotFound:
            return None
        content = (version.content or "").encode()
        return content if content_sha256(content) == row.content_sha256 else None

    def _merged(self, bases: list[bytes], theirs: bytes, ours: bytes) -> bytes | None:
        if not bases:
            return None
        return merge(nearest_base(bases, theirs, ours), theirs, ours, self._replica.limits)

    async def _put_merge(
        self, path: StorePath, file: LocalFile, memory: RemoteMemory, ours: bytes, merged: bytes
    ) -> Outcome:
        merging = Merging(staged=f"{MERGED}{os.urandom(9).hex()}", agreed=_from(path, memory))
        kept = await asyncio.to_thread(self._prepare, merging.staged, file, path, ours, merged)
        with self._replica.state.transaction():
            self._replica.state.merges.put(merging)
        force = self._placing.is_overdue(path)
        request = Replace(store_id=self._store_id, path=path, staged=merging.staged, expect=file.identity, force=force)
        try:
            answer = await asyncio.to_thread(self._replica.owner.ask, request)
        except (MemfsError, OSError):
            if not settle_merge(self._replica, merging):
                await asyncio.to_thread(self._clear, kept)
            raise
        if not settle_merge(self._replica, merging):
            await asyncio.to_thread(self._clear, kept)
            return self._placing.not_done(path, answer)
        sha256 = content_sha256(merged)
        log.info(
            "merged %s: %.12s of the remote's %.12s and the local %.12s, which is in trash as %s",
            path, sha256, memory.content_sha256, file.content_sha256, kept,
        )  # fmt: skip
        is_known = is_applied(answer) and not answer.appended_bytes and answer.identity is not None
        identity = answer.identity if is_known and answer.identity else UNKNOWN
        now_there = LocalFile(sha256, len(merged), identity, self._replica.clock.time())
        return Outcome(
            agreed=merging.agreed, files=((path, now_there),), made=answer.made, read_again=() if is_known else (path,)
        )

    def _prepare(self, staged: str, file: LocalFile, path: StorePath, ours: bytes, merged: bytes) -> str:
        """Stage the merge and keep the local text; return its name in trash."""
        stage(self._replica.layout.staging, staged, merged)
        fsync_directory(self._replica.layout.staging)
        try:
            return keep_in_trash(self._replica.layout.trash, trash_name(path, file.identity.mtime_ns), ours)
        except OSError:
            (self._replica.layout.staging / staged).unlink(missing_ok=True)
            raise

    def _clear(self, kept: str) -> None:
        (self._replica.layout.trash / kept).unlink(missing_ok=True)

    # -------------------------------------------------------------------------------------------------------- copies

    def _keep_copy(self, path: StorePath, sha256: str, losing: bytes) -> tuple[StorePath, Answer | None]:
        """Return where the losing bytes are kept, and the owner's answer where they were put there just now."""
        for digits in DIGITS:
            copy = conflict_path(path, sha256, self._replica.limits, digits=digits)
            answer = self._placing.stage_and_ask(copy, None, sha256, losing, force=False)
            if is_applied(answer):
                return copy, answer
            if answer.error:
                raise OSError(answer.errno, f"the conflict copy {copy} cannot be made: {answer.error}")
            try:
                there, _ = self._replica.tree.read(copy)
            except (FileNotFoundError, ConcurrentChange):
                continue
            if there == losing:
                return copy, None
        raise ConcurrentChange(f"no name is free for the conflict copy of {path}")

    def _take_back(self, copy: StorePath, identity: Identity | None) -> None:
        if identity is None:
            return
        kept, prune = trash_name(copy, time.time_ns()), self._placing.prunable(copy)
        self._replica.owner.ask(Remove(store_id=self._store_id, path=copy, expect=identity, trash=kept, prune=prune))


def _from(path: StorePath, memory: RemoteMemory) -> Agreed:
    """Return the baseline of a file that comes from a memory's text and has another by now."""
    return Agreed(
        path=path, memory_id=memory.memory_id, version_id=memory.version_id, content_sha256=memory.content_sha256,
        size_bytes=memory.size_bytes, updated_at=memory.updated_at,
    )  # fmt: skip
