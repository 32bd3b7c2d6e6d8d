"""``memfs trash``: what was displaced in the trees of the attached stores, kept here for 30 days."""

from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from memfs.cli import options, state_directory
from memfs.cli.asking import ask_worker, one_store, some_stores
from memfs.config import default_state, load
from memfs.core.errors import NotFound, UsageError
from memfs.core.worker_requests import EmptyTrash, RestoreTrash

if TYPE_CHECKING:
    from memfs.core.attachment import Attachment
    from memfs.state.layout import Layout
    from memfs.tree.trash import Displaced

_DAY_S = 86_400

app = typer.Typer(no_args_is_help=True, help="Texts that were displaced here: listed, put back, deleted for good.")

Store = Annotated[str | None, typer.Argument(metavar="[STORE]", help="Slug, name or id. (default: all)")]


@app.command("list")
def list_(
    store: Store = None, state: options.State = None, config: options.Config = None, as_json: options.Json = False
) -> None:
    """List what is in trash, the newest first."""
    from memfs.cli.output import moment, print_json, print_table

    layout = state_directory.found(state or load(config).state.dir or default_state())
    found = [(one, kept) for one in some_stores(layout, store) for kept in _kept(layout, one)]
    if as_json:
        print_json([{"store": one.slug, **asdict(kept)} for one, kept in found])
        return
    print_table(
        ["STORE", "SINCE", "BYTES", "PATH", "NAME"],
        [
            [one.slug, moment(datetime.fromtimestamp(kept.since, UTC)), str(kept.size_bytes), kept.path, kept.name]
            for one, kept in found
        ],
    )


@app.command()
def restore(
    store: Annotated[str, typer.Argument(metavar="STORE", help="Slug, name or id.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="As `memfs trash list` shows it.")],
    to: Annotated[str | None, typer.Option("--to", metavar="PATH", help="Where. (default: where it was)")] = None,
    state: options.State = None,
    config: options.Config = None,
) -> None:
    """Put a text back at its path, where nothing may be by now."""
    layout = state_directory.found(state or load(config).state.dir or default_state())
    found = one_store(layout, store)
    kept = next((one for one in _kept(layout, found) if one.name == name), None)
    if kept is None:
        raise NotFound(f"{name} is not in the trash of {found.slug}", remedy="See `memfs trash list`")
    path = to or kept.path
    if not path:
        raise UsageError(f"{name} does not tell the whole path that it had", remedy="Name one by --to")
    path = path if path.startswith("/") else f"/{path}"
    done = ask_worker(layout, RestoreTrash(store_id=found.store_id, name=name, path=path), config=config)
    typer.echo(f"restored: {found.slug}{done['path']}")


@app.command()
def empty(
    store: Store = None,
    older_than: Annotated[
        float, typer.Option("--older-than", metavar="DAYS", min=0, help="Only what is in trash for so long.")
    ] = 0.0,
    state: options.State = None,
    config: options.Config = None,
) -> None:
    """Delete what is in trash for good."""
    layout = state_directory.found(state or load(config).state.dir or default_state())
    for one in some_stores(layout, store):
        request = EmptyTrash(store_id=one.store_id, older_than_s=older_than * _DAY_S)
        typer.echo(f"{one.slug}: {ask_worker(layout, request, config=config)['count']} deleted for good")


def _kept(layout: "Layout", store: "Attachment") -> "list[Displaced]":
    from memfs.tree.trash import displaced

    trash = layout.store(store.store_id).trash
    return displaced(trash) if trash.is_dir() else []
