"""``memfs versions prune``: remove a server's versions that have had their time, on its database itself."""

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from memfs.cli import options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memfs.server.store.pruning import Pruned
    from memfs.server.store.retention import Retention


def prune(
    store: Annotated[
        str | None, typer.Option("--store", metavar="NAME_OR_ID", help="Only this store's. (default: every store's)")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be removed, and remove nothing.")] = False,
    retention_days: Annotated[
        int | None,
        typer.Option("--retention-days", metavar="N", help="Remove what is older than N days, 30 or more."),
    ] = None,
    keep_newest: Annotated[
        int | None,
        typer.Option("--keep-newest", metavar="N", help="Keep the newest N versions of a living memory, 10 or more."),
    ] = None,
    data: options.Data = None,
    database: options.Database = None,
    as_json: options.Json = False,
    config: options.Config = None,
) -> None:
    """Remove old versions for good, never the newest of a living memory; the server may run.

    Of a deleted memory everything stays until the deletion is as old. Old entries of the change feed go with them.
    """
    from memfs.cli.server_database import opened
    from memfs.server.store import pruning

    rule = _rule(retention_days, keep_newest, config)
    with opened(data, database, config) as server:
        act = pruning.planned if dry_run else pruning.prune
        done = act(server, rule, time.time_ns() // 1_000, only=store)
    _print(done, rule, dry_run=dry_run, as_json=as_json)


def _rule(days: int | None, keep_newest: int | None, config: options.Config) -> "Retention":
    from memfs.config import load
    from memfs.server.store.retention import Retention

    server = load(config).server
    return Retention(
        days=server.retention_days if days is None else days,
        keep_newest=server.keep_newest if keep_newest is None else keep_newest,
    )


def _print(done: "Sequence[Pruned]", rule: "Retention", *, dry_run: bool, as_json: bool) -> None:
    from memfs.cli.output import print_json, print_table

    some = [pruned for pruned in done if pruned]
    totals = {name: sum(getattr(pruned, name) for pruned in some) for name in ("versions", "bytes", "changes")}
    if as_json:
        kept = {"retention_days": rule.days, "keep_newest": rule.keep_newest}
        print_json({"dry_run": dry_run, **kept, **totals, "stores": [asdict(pruned) for pruned in done]})
        return
    if some:
        print_table(
            ["STORE", "NAME", "VERSIONS", "BYTES", "CHANGES"],
            [[p.store_id, p.name, str(p.versions), str(p.bytes), str(p.changes)] for p in some],
        )
    did = "would remove" if dry_run else "removed"
    typer.echo(f"{did} {totals['versions']} versions ({totals['bytes']} bytes) and {totals['changes']} changes")
