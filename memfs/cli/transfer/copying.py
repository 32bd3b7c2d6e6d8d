"""A store becomes another one with the same memories; used by ``memfs stores copy``. One event loop.

A copy that was cut short is continued: a store of the new name in which everything is as in the source is taken for
its beginning. Whatever else has the name stays as it is, and the copy is refused.
"""

from typing import TYPE_CHECKING

from memfs.cli.transfer.outcomes import Outcome, Side, Transfer
from memfs.cli.transfer.plans import Plan, import_plan
from memfs.cli.transfer.progress import Watch
from memfs.cli.transfer.running import Content, contents, in_parallel, listed
from memfs.core.errors import ConcurrentChange, Conflicted, UsageError
from memfs.core.limits import Limits

if TYPE_CHECKING:
    from memfs.api.models import Memory, Store
    from memfs.core.paths import StorePath
    from memfs.remote.protocol import Remote


async def copy_store(
    remote: "Remote", source: "Store", new_name: str, *, dry_run: bool, limits: Limits, watch: Watch
) -> Outcome:
    """Make a store with the source's description, metadata and memories, and see that they are the same.

    Raises:
        UsageError: Several stores have the new name.
        Conflicted: A store has it and holds something else.
        ConcurrentChange: The source, or the copy, was changed meanwhile.
        RemoteUnavailable: And whatever else `Remote` raises. What is copied by then is skipped the next time.
    """
    memories = await listed(remote, source.id)
    begun = await _begun(remote, source, new_name)
    there = await listed(remote, begun.id) if begun else {}
    plan = _plan(source, new_name, memories, there, limits)
    target = begun
    if not dry_run:
        target = begun or await remote.create_store(new_name, description=source.description, metadata=source.metadata)
        await _fill(remote, source.id, target.id, memories, plan, watch)
        await _verify(remote, source, target)
    return Outcome(
        transfer=Transfer.COPY,
        source=Side(source.name, source.id),
        target=Side(new_name, target.id if target else None),
        dry_run=dry_run,
        created=plan.create,
        updated=(),
        unchanged=plan.unchanged,
    )


async def _begun(remote: "Remote", source: "Store", new_name: str) -> "Store | None":
    """Return the store that an earlier run of this copy may have made."""
    named = [store async for store in remote.list_stores() if store.name == new_name and store.id != source.id]
    if len(named) > 1:
        raise UsageError(f"{len(named)} stores are named {new_name!r} already", remedy="Choose another name")
    if named and (named[0].description, named[0].metadata) != (source.description, source.metadata):
        raise _taken(new_name)
    return named[0] if named else None


def _plan(
    source: "Store",
    new_name: str,
    memories: "dict[StorePath, Memory]",
    there: "dict[StorePath, Memory]",
    limits: Limits,
) -> Plan:
    digests = {path: memory.content_sha256 for path, memory in memories.items()}
    copied = {path: memory.content_sha256 for path, memory in there.items()}
    if not copied.items() <= digests.items():
        raise _taken(new_name)
    # As many as the source holds, the copy may hold, whatever limit its server was given.
    at_most = max(limits.memories, len(memories))
    plan = import_plan(digests, copied, overwrite=False, at_most=at_most)
    if plan.refused:
        raise ConcurrentChange(f"the store {source.name!r} was changed while it was listed", remedy="Run it again")
    return plan


async def _fill(
    remote: "Remote", source_id: str, target_id: str, memories: "dict[StorePath, Memory]", plan: Plan, watch: Watch
) -> None:
    async def put(item: Content) -> None:
        await remote.create_memory(target_id, item.path, item.content.decode())
        advance()

    wanted = {path: memories[path] for path in plan.create}
    with watch("copying", len(wanted)) as advance:
        if wanted:
            await in_parallel(contents(remote, source_id, wanted, among=len(memories)), put)


async def _verify(remote: "Remote", source: "Store", target: "Store") -> None:
    """Compare both stores as they are now."""
    ours, theirs = await listed(remote, target.id), await listed(remote, source.id)
    differing = {(path, memory.content_sha256) for path, memory in ours.items()} ^ {
        (path, memory.content_sha256) for path, memory in theirs.items()
    }
    if differing:
        paths = sorted({path for path, _ in differing})
        raise ConcurrentChange(
            f"{len(paths)} memories differ between {source.id} and its copy {target.id}, as {paths[0]}: "
            "one of them was changed meanwhile",
            remedy="Delete the copy, and copy again",
        )


def _taken(new_name: str) -> Conflicted:
    return Conflicted(f"another store is named {new_name!r}, and is no copy in progress", remedy="Choose another name")
