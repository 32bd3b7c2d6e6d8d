"""Files become memories of a store, byte for byte; used by ``memfs stores import``. One event loop.

Every change is conditional: a memory is made where none is, or replaced if it still is what was looked at.
"""

from typing import TYPE_CHECKING

from memfs.cli.transfer.outcomes import Outcome, Side, Transfer
from memfs.cli.transfer.plans import Plan, Refusal, import_plan
from memfs.cli.transfer.progress import Watch
from memfs.cli.transfer.running import each, in_parallel, listed
from memfs.cli.transfer.surveys import Source, Survey, read_unchanged
from memfs.core.errors import Conflicted, InvalidRequest, StoreFull, StoreReadOnly
from memfs.core.limits import Limits
from memfs.core.names import Names
from memfs.core.paths import StorePath

if TYPE_CHECKING:
    from memfs.api.models import Memory, Store
    from memfs.remote.protocol import Remote


async def import_files(
    remote: "Remote",
    store: "Store",
    source: Source,
    *,
    origin: str,
    names: Names,
    overwrite: bool,
    skip_refused: bool,
    dry_run: bool,
    limits: Limits,
    watch: Watch,
) -> Outcome:
    """Make or replace a memory for each file, unless something is refused and ``skip_refused`` is not given.

    Raises:
        StoreReadOnly: The store is archived.
        StoreFull: The store cannot hold so many; nothing was imported.
        InvalidRequest: The source cannot be read at all.
        RemoteUnavailable: And whatever else `Remote` raises. What is there by then is skipped the next time.
    """
    if store.archived_at is not None:
        raise StoreReadOnly(f"the store {store.name!r} is archived and takes no more memories")
    survey = source.survey(limits, names)
    there = await listed(remote, store.id)
    digests = {path: memory.content_sha256 for path, memory in there.items()}
    plan = import_plan(survey.files, digests, overwrite=overwrite, at_most=limits.memories)
    refused = (*survey.refused, *plan.refused)
    if refused and not skip_refused:
        plan = Plan(create=(), update=(), unchanged=plan.unchanged, refused=plan.refused)
    failed: dict[str, str] = {}
    if not dry_run:
        failed = await _put_all(remote, store.id, source, survey, plan, there, watch)
    return Outcome(
        transfer=Transfer.IMPORT,
        source=Side(origin),
        target=Side(store.name, store.id),
        dry_run=dry_run,
        created=[path for path in plan.create if path not in failed],
        updated=[path for path in plan.update if path not in failed],
        unchanged=plan.unchanged,
        skipped=survey.skipped,
        refused=refused,
        failed=[Refusal(path, reason) for path, reason in sorted(failed.items())],
    )


async def _put_all(
    remote: "Remote",
    store_id: str,
    source: Source,
    survey: Survey,
    plan: Plan,
    there: "dict[StorePath, Memory]",
    watch: Watch,
) -> dict[str, str]:
    """Return what could not be put because somebody else was at it, with the reason."""
    failed: dict[str, str] = {}

    async def put(path: StorePath) -> None:
        try:
            content = read_unchanged(source, path, survey.files[path]).decode()
            if path in there:
                old = there[path]
                await remote.update_memory(store_id, old.id, content=content, expect_sha256=old.content_sha256)
            else:
                await remote.create_memory(store_id, path, content)
        except (StoreFull, StoreReadOnly):  # No other file would fare better.
            raise
        except (Conflicted, InvalidRequest) as error:
            failed[path] = error.message
        advance()

    with watch("importing", len(plan.create) + len(plan.update)) as advance:
        await in_parallel(each((*plan.create, *plan.update)), put)
    return failed
