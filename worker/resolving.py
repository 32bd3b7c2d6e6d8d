"""What a person decides about single files: which text of a conflict keeps the name, what comes back from trash.

Called by `worker.control` on the control thread. Everything is a change of the tree like a program's: the next cycle
syncs it. Each change is a compare-and-swap, and what it displaces goes to trash.
"""

import asyncio
import logging
import time

from memfs.core.conflicts import is_conflict_copy, original_name
from memfs.core.digest import check_content, content_sha256
from memfs.core.errors import (
    ConcurrentChange,
    InvalidRequest,
    NotFound,
    PathConflict,
    StateUnavailable,
    StoreReadOnly,
    UsageError,
)
from memfs.core.paths import StorePath, check_local, parse
from memfs.core.tree_requests import Answer, Remove
from memfs.core.worker_requests import Resolve, RestoreTrash, Take
from memfs.tree.trash import trash_name
from worker.placing import Placing, is_applied
from worker.replica import Replica
from worker.views import LocalFile

log = logging.getLogger(__name__)


async def resolve(replica: Replica, request: Resolve) -> dict[str, str]:
    """End a conflict; return the path that keeps the name and whose text it has.

    Raises:
        NotFound: There is no conflict about the path.
        UsageError: There is more than one copy to take.
        StoreReadOnly: Nothing may be changed.
        ConcurrentChange: A file changed meanwhile.
    """
    _check_writable(replica)
    named = _path(replica, request.path)
    path = _original(replica, named) if _is_copy(replica, named) else named
    copies = [named] if named != path else await asyncio.to_thread(_copies, replica, path)
    if not copies:
        raise NotFound(f"there is no conflict about {named}", remedy="See `memfs conflicts`")
    if len(copies) > 1 and request.take is not Take.GIVEN and _holder(replica, copies[0]) is request.take:
        raise UsageError(f"there are {len(copies)} conflict copies of {path}", remedy="Name the one to take")
    if request.take is Take.GIVEN:
        content: bytes | None = request.content.encode()
    elif _holder(replica, copies[0]) is request.take:
        content, _ = await asyncio.to_thread(_read, replica, copies[0])
    else:
        # The text that is wanted has the name already.
        content = None
    if content is not None:
        await _write(replica, path, content)
    for copy in copies:
        await _remove(replica, copy)
    log.info("the conflict about %s is resolved: the %s text keeps the name", path, request.take.value)
    return {"path": path, "take": request.take.value}


async def restore_trash(replica: Replica, request: RestoreTrash) -> dict[str, str]:
    """Put a file of the trash at a path again.

    Raises:
        NotFound: It is not in trash.
        PathConflict: Something is at the path.
        StoreReadOnly: Nothing may be changed.
    """
    _check_writable(replica)
    path = _path(replica, request.path)
    kept = replica.layout.trash / request.name
    if kept.parent != replica.layout.trash or request.name in {".", ".."}:
        raise InvalidRequest(f"{request.name!r} is not the name of a file in trash")
    try:
        content = await asyncio.to_thread(kept.read_bytes)
    except FileNotFoundError:
        raise NotFound(f"{request.name} is not in trash", remedy="See `memfs trash list`") from None
    answer = await Placing(replica).replace(path, None, content_sha256(content), content, force=False)
    if not is_applied(answer):
        _raise_for(answer)
        raise PathConflict(f"something is at {path}", remedy="Name another path by --to")
    await asyncio.to_thread(kept.unlink, missing_ok=True)
    replica.look_again(path)
    log.info("%s is back from trash (%.12s)", path, content_sha256(content))
    return {"path": path}


def _check_writable(replica: Replica) -> None:
    if not replica.attachment.is_writable:
        raise StoreReadOnly(f"the store {replica.attachment.name} is read-only", remedy="Attach it read_write")


def _path(replica: Replica, text: str) -> StorePath:
    return check_local(parse(text, replica.limits), replica.limits)


def _is_copy(replica: Replica, path: StorePath) -> bool:
    return path in replica.state.conflicts or (is_conflict_copy(path) and replica.local.sha256(path) is not None)


def _original(replica: Replica, copy: StorePath) -> StorePath:
    known = next((one.path for one in replica.state.conflicts if one.copy_path == copy), None)
    return StorePath(known or f"{copy.rpartition('/')[0]}/{original_name(copy)}")


def _copies(replica: Replica, path: StorePath) -> list[StorePath]:
    """Return the conflict copies of a path, whichever host made them."""
    ours = {StorePath(one.copy_path) for one in replica.state.conflicts if one.path == path}
    named = {one for one in replica.local.files if is_conflict_copy(one) and _original(replica, one) == path}
    return sorted(one for one in ours | named if replica.near.identity(one) is not None)


def _holder(replica: Replica, copy: StorePath) -> Take:
    """Return whose text a copy holds: the local one, unless the local one was to keep the name."""
    known = next((one for one in replica.state.conflicts if one.copy_path == copy), None)
    if known is not None and f".conflict-{known.remote_sha256[:8]}" in copy:
        return Take.REMOTE
    return Take.LOCAL


def _read(replica: Replica, path: StorePath) -> tuple[bytes, LocalFile]:
    return replica.near.read_now(path)


async def _write(replica: Replica, path: StorePath, content: bytes) -> None:
    check_content(content, replica.limits, path)
    there = None
    if await asyncio.to_thread(replica.near.identity, path) is not None:
        _, there = await asyncio.to_thread(_read, replica, path)
    sha256 = content_sha256(content)
    if there is None or there.content_sha256 != sha256:
        answer = await Placing(replica).replace(path, there, sha256, content, force=there is not None)
        _check_made(answer, path)
    replica.look_again(path)


async def _remove(replica: Replica, copy: StorePath) -> None:
    _, file = await asyncio.to_thread(_read, replica, copy)
    request = Remove(
        store_id=replica.attachment.store_id, path=copy, expect=file.identity, trash=trash_name(copy, time.time_ns()),
        prune=Placing(replica).prunable(copy), force=True,
    )  # fmt: skip
    _check_made(await asyncio.to_thread(replica.owner.ask, request), copy)
    replica.look_again(copy)
    log.info("removed the conflict copy %s: %.12s is in trash as %s", copy, file.content_sha256, request.trash)


def _check_made(answer: Answer, path: StorePath) -> None:
    _raise_for(answer)
    if not is_applied(answer):
        raise ConcurrentChange(f"{path} changed meanwhile", remedy="Say it again")


def _raise_for(answer: Answer) -> None:
    if answer.error:
        raise StateUnavailable(answer.error)
