"""Memories become files in a directory, byte for byte; used by ``memfs stores export``. One event loop.

What lies there and is equal is not fetched again, so a run that was cut short goes on where it stopped.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from memfs.cli.transfer.directories import DirectoryTarget, present
from memfs.cli.transfer.outcomes import Outcome, Side, Transfer
from memfs.cli.transfer.plans import Plan, Refusal, export_plan
from memfs.cli.transfer.progress import Watch
from memfs.cli.transfer.running import GONE, contents, listed
from memfs.core.errors import ConcurrentChange, PathTooLong
from memfs.core.limits import Limits
from memfs.core.names import Names
from memfs.core.paths import StorePath, check_local

if TYPE_CHECKING:
    from memfs.api.models import Memory, Store
    from memfs.remote.protocol import Remote


async def export_to_directory(
    remote: "Remote",
    store: "Store",
    root: Path,
    *,
    names: Names,
    overwrite: bool,
    dry_run: bool,
    limits: Limits,
    watch: Watch,
) -> Outcome:
    """Write each memory to its path below ``root``, unless something is refused: then nothing.

    Raises:
        OSError: The disk refuses. What is written by then is skipped the next time.
        RemoteUnavailable: And whatever else `Remote` raises; the same holds.
    """
    memories = await listed(remote, store.id)
    digests = {path: memory.content_sha256 for path, memory in memories.items()}
    plan = export_plan(digests, present(root, memories, limits, names), overwrite=overwrite)
    refused = (*_too_long(memories, limits), *plan.refused)
    if refused:
        plan = Plan(create=(), update=(), unchanged=plan.unchanged, refused=plan.refused)
    failed: dict[StorePath, str] = {}
    if not dry_run and not refused:
        failed = await _write_all(remote, store.id, DirectoryTarget(root), memories, plan, watch)
    return Outcome(
        transfer=Transfer.EXPORT,
        source=Side(store.name, store.id),
        target=Side(str(root)),
        dry_run=dry_run,
        created=[path for path in plan.create if path not in failed],
        updated=[path for path in plan.update if path not in failed],
        unchanged=plan.unchanged,
        refused=refused,
        failed=[Refusal(path, reason) for path, reason in sorted(failed.items())],
    )


async def _write_all(
    remote: "Remote",
    store_id: str,
    target: DirectoryTarget,
    memories: "dict[StorePath, Memory]",
    plan: Plan,
    watch: Watch,
) -> dict[StorePath, str]:
    """Return what could not be written because somebody else was at it, with the reason."""
    wanted = {path: memories[path] for path in (*plan.create, *plan.update)}
    over = frozenset(plan.update)
    failed = dict.fromkeys(wanted, GONE)
    with watch("exporting", len(wanted)) as advance:
        async for _, path, content in contents(remote, store_id, wanted, among=len(memories)):
            del failed[path]
            try:
                target.write(path, content, over=path in over)
            except ConcurrentChange as error:
                failed[path] = error.message
            advance()
    return failed


def _too_long(memories: "dict[StorePath, Memory]", limits: Limits) -> list[Refusal]:
    refused = []
    for path in memories:
        try:
            check_local(path, limits)
        except PathTooLong as error:
            refused.append(Refusal(path, f"{error.message}; a tar file can hold it"))
    return refused
