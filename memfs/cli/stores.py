"""``memfs stores``: make, list, look at, archive and delete the remote's memory stores."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from memfs.cli import options
from memfs.cli.output import moment, print_json, print_table, printable
from memfs.cli.remote_access import find_store, run
from memfs.core.errors import UsageError

if TYPE_CHECKING:
    from memfs.api.models import Store
    from memfs.remote.protocol import Remote

app = typer.Typer(help="Make and look after memory stores on the remote.", no_args_is_help=True)

StoreName = Annotated[str, typer.Argument(metavar="STORE", help="Id or exact name of the store.")]


@app.command("create")
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Display name; the directory is named after it.")],
    description: Annotated[str, typer.Option("--description", help="What an agent finds in it.")] = "",
    metadata: Annotated[
        list[str] | None, typer.Option("--metadata", metavar="KEY=VALUE", help="A pair to keep with it. May repeat.")
    ] = None,
    as_json: options.Json = False,
    base_url: options.BaseUrl = None,
    api_key_file: options.ApiKeyFile = None,
    config: options.Config = None,
) -> None:
    """Make a store. Names need not be unique: each call makes another one."""
    pairs = dict(_parse_pair(text) for text in metadata or [])

    async def make(remote: "Remote") -> "Store":
        return await remote.create_store(name, description=description, metadata=pairs)

    _print_store(run(base_url, api_key_file, config, make), as_json=as_json)


@app.command("list")
def list_stores(
    include_archived: Annotated[bool, typer.Option("--include-archived", help="Archived ones too.")] = False,
    as_json: options.Json = False,
    base_url: options.BaseUrl = None,
    api_key_file: options.ApiKeyFile = None,
    config: options.Config = None,
) -> None:
    """List the stores."""

    async def look(remote: "Remote") -> "list[Store]":
        return [store async for store in remote.list_stores(include_archived=include_archived)]

    stores = run(base_url, api_key_file, config, look)
    if as_json:
        print_json([store.model_dump(mode="json") for store in stores])
        return
    print_table(
        ["ID", "NAME", "CREATED", "STATE", "DESCRIPTION"],
        [[one.id, one.name, moment(one.created_at), _state(one), one.description] for one in stores],
    )


@app.command("show")
def show(
    store: StoreName,
    as_json: options.Json = False,
    base_url: options.BaseUrl = None,
    api_key_file: options.ApiKeyFile = None,
    config: options.Config = None,
) -> None:
    """Show one store."""

    async def look(remote: "Remote") -> "Store":
        return await find_store(remote, store)

    _print_store(run(base_url, api_key_file, config, look), as_json=as_json)


@app.command("archive")
def archive(
    store: StoreName,
    as_json: options.Json = False,
    base_url: options.BaseUrl = None,
    api_key_file: options.ApiKeyFile = None,
    config: options.Config = None,
) -> None:
    """Make a store read-only for good. Its memories stay readable; there is no way back."""

    async def put_away(remote: "Remote") -> "Store":
        return await remote.archive_store((await find_store(remote, store)).id)

    _print_store(run(base_url, api_key_file, config, put_away), as_json=as_json)


@app.command("delete")
def delete(
    store: StoreName,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: options.Json = False,
    base_url: options.BaseUrl = None,
    api_key_file: options.ApiKeyFile = None,
    config: options.Config = None,
) -> None:
    """Delete a store, its memories and their whole history, for good."""
    if not yes and not sys.stdin.isatty():
        raise UsageError(f"deleting the store {store!r} cannot be undone, and nobody can be asked", remedy="Add --yes")

    async def look(remote: "Remote") -> "Store":
        return await find_store(remote, store)

    gone = run(base_url, api_key_file, config, look)
    if not yes:
        # Asked outside any event loop, which would keep the first Ctrl-C to itself.
        typer.confirm(f"Delete {gone.name!r} ({gone.id}), its memories and their history?", abort=True, err=True)

    async def remove(remote: "Remote") -> None:
        await remote.delete_store(gone.id)

    run(base_url, api_key_file, config, remove)
    if as_json:
        print_json({"id": gone.id, "type": "memory_store_deleted"})
    else:
        typer.echo(f"deleted {gone.id} ({printable(gone.name)})")


def _parse_pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise UsageError(f"the metadata {text!r} is no KEY=VALUE", remedy="Write it like --metadata team=blue")
    return key, value


def _print_store(store: "Store", *, as_json: bool) -> None:
    if as_json:
        print_json(store.model_dump(mode="json"))
        return
    rows = [
        ["id", store.id],
        ["name", store.name],
        ["description", store.description],
        ["state", _state(store)],
        ["created", moment(store.created_at)],
        ["updated", moment(store.updated_at)],
        *(["metadata", f"{key}={value}"] for key, value in sorted(store.metadata.items())),
    ]
    print_table(["FIELD", "VALUE"], rows)


def _state(store: "Store") -> str:
    return f"archived {moment(store.archived_at)}" if store.archived_at else "live"
