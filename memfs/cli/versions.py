"""``memfs versions``: the history of a store's memories, which outlives the memories themselves."""

from typing import TYPE_CHECKING, Annotated

import typer

from memfs.cli import options, remote_access, versions_change, versions_diff, versions_prune
from memfs.cli.versions_lookup import Store, Version, find_version, text_of

if TYPE_CHECKING:
    from memfs.api.models import Actor, MemoryVersion
    from memfs.remote.protocol import Remote

app = typer.Typer(help="Look at the history of memories, bring it back, or clear it.", no_args_is_help=True)

Path = Annotated[
    str | None, typer.Option("--path", metavar="PATH", help="Only of memories that were ever at this path.")
]


@app.command("list")
def list_versions(
    store: Store,
    path: Path = None,
    as_json: options.Json = False,
    base_url: options.BaseUrl = None,
    api_key_file: options.ApiKeyFile = None,
    config: options.Config = None,
) -> None:
    """List versions, newest first: what changed, when, and by whom."""
    from memfs.cli.output import moment, print_json, print_table

    async def history(remote: "Remote") -> "list[MemoryVersion]":
        store_id = (await remote_access.find_store(remote, store)).id
        return [version async for version in remote.list_versions(store_id)]

    found = remote_access.run(base_url, api_key_file, config, history)
    # A memory keeps its history under its id: one that was renamed is shown under every name it had.
    ids = {version.memory_id for version in found if version.path == path}
    shown = [version for version in found if path is None or version.memory_id in ids]
    if as_json:
        print_json([version.model_dump(mode="json") for version in shown])
        return
    print_table(
        ["VERSION", "OPERATION", "PATH", "BYTES", "WHEN", "BY"],
        [
            [v.id, v.operation, v.path or "(redacted)", _size(v), moment(v.created_at), _author(v.created_by)]
            for v in shown
        ],
    )


@app.command("show")
def show_version(
    store: Store,
    version: Version,
    as_json: options.Json = False,
    base_url: options.BaseUrl = None,
    api_key_file: options.ApiKeyFile = None,
    config: options.Config = None,
) -> None:
    """Print the exact bytes that a memory had in a version."""
    from memfs.cli.output import print_json

    async def retrieve(remote: "Remote") -> "MemoryVersion":
        return (await find_version(remote, store, version))[1]

    found = remote_access.run(base_url, api_key_file, config, retrieve)
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        typer.get_binary_stream("stdout").write(text_of(found).encode())


app.command("diff")(versions_diff.diff)
app.command("restore")(versions_change.restore)
app.command("redact")(versions_change.redact)
app.command("prune")(versions_prune.prune)


def _size(version: "MemoryVersion") -> str:
    return "" if version.content_size_bytes is None else str(version.content_size_bytes)


def _author(actor: "Actor | None") -> str:
    if actor is None:
        return ""
    return next((str(value) for name, value in actor.model_dump().items() if name != "type"), actor.type)
