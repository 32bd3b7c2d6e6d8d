"""``memfs versions``: the history of a store's memories, which outlives the memories themselves."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memfs.cli import options

if TYPE_CHECKING:
    from memfs.api.models import Actor, MemoryVersion

app = typer.Typer(help="Look at the history of memories.", no_args_is_help=True)

Store = Annotated[str, typer.Argument(metavar="STORE", help="Id or name of the store.")]


@app.command("list")
def list_versions(
    store: Store,
    path: Annotated[
        str | None, typer.Option("--path", metavar="PATH", help="Only of memories ever at this path.")
    ] = None,
    as_json: options.Json = False,
    base_url: options.BaseUrl = None,
    api_key_file: options.ApiKeyFile = None,
) -> None:
    """List versions, newest first: what changed, when, and by whom."""
    versions = asyncio.run(_versions(store, path, base_url, api_key_file))
    from memfs.cli.output import print_json, print_table  # noqa: PLC0415  (a command loads its rooms when it runs)

    if as_json:
        print_json([version.model_dump(mode="json") for version in versions])
        return
    print_table(
        ["VERSION", "OPERATION", "PATH", "BYTES", "WHEN", "BY"],
        [
            [
                v.id,
                v.operation,
                v.path or "(redacted)",
                str(v.content_size_bytes or ""),
                str(v.created_at),
                _who(v.created_by),
            ]
            for v in versions
        ],
    )


@app.command("show")
def show_version(
    store: Store,
    version: Annotated[str, typer.Argument(metavar="VERSION", help="Id of the version (`memver_…`).")],
    base_url: options.BaseUrl = None,
    api_key_file: options.ApiKeyFile = None,
) -> None:
    """Print the exact bytes that a memory had in a version."""
    content = asyncio.run(_content(store, version, base_url, api_key_file))
    typer.get_binary_stream("stdout").write(content)


async def _versions(store: str, path: str | None, base_url: str | None, key_file: Path | None) -> "list[MemoryVersion]":
    from memfs.cli.remote_access import find_store, open_remote  # noqa: PLC0415

    remote = open_remote(base_url, key_file)
    try:
        store_id = (await find_store(remote, store)).id
        found = [version async for version in remote.list_versions(store_id)]
    finally:
        await remote.aclose()
    # A memory keeps its history under its id: one that was renamed is shown under every name it had.
    ids = {version.memory_id for version in found if version.path == path}
    return [version for version in found if path is None or version.memory_id in ids]


async def _content(store: str, version_id: str, base_url: str | None, key_file: Path | None) -> bytes:
    from memfs.cli.remote_access import find_store, open_remote  # noqa: PLC0415
    from memfs.core.errors import NotFound  # noqa: PLC0415

    remote = open_remote(base_url, key_file)
    try:
        version = await remote.retrieve_version((await find_store(remote, store)).id, version_id)
    finally:
        await remote.aclose()
    if version.content is None:
        why = "is redacted" if version.redacted_at else "records a deletion"
        raise NotFound(f"the version {version_id} {why}: it has no content")
    return version.content.encode()


def _who(actor: "Actor | None") -> str:
    if actor is None:
        return ""
    return next((str(value) for name, value in actor.model_dump().items() if name != "type"), actor.type)
