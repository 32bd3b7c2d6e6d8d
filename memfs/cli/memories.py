"""``memfs memories``: list, read and change a store's memories on the remote, without a mount.

Every change is conditional on the memory as it was just looked up: somebody else's edit in between is a conflict (exit
code 6), never overwritten. Bytes go in and out exactly as they are.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memfs.cli import options
from memfs.cli.output import moment, print_json, print_table, printable
from memfs.cli.remote_access import find_memory, find_store, run
from memfs.core.errors import InvalidContent, NotFound, UsageError

if TYPE_CHECKING:
    from memfs.api.models import Memory, MemoryPrefix
    from memfs.remote.protocol import Remote

app = typer.Typer(help="Read and change memories on the remote, without a mount.", no_args_is_help=True)

StoreName = Annotated[str, typer.Argument(metavar="STORE", help="Id or exact name of the store.")]
MemoryPath = Annotated[str, typer.Argument(metavar="PATH", help="Path in the store, like /notes/todo.md.")]


@app.command("list")
def list_memories(
    store: StoreName,
    path_prefix: Annotated[str, typer.Option("--path-prefix", metavar="DIR", help="Only below this directory.")] = "",
    depth: Annotated[int, typer.Option("--depth", min=0, max=1, help="1: this directory only; 0: all below.")] = 0,
    as_json: options.Json = False,
    base_url: options.BaseUrl = None,
    api_key_file: options.ApiKeyFile = None,
    config: options.Config = None,
) -> None:
    """List memories."""
    directory = path_prefix.strip("/")
    prefix = f"/{directory}/" if directory else ""

    async def look(remote: "Remote") -> "list[Memory | MemoryPrefix]":
        store_id = (await find_store(remote, store)).id
        return [item async for item in remote.list_memories(store_id, path_prefix=prefix, depth=depth)]

    items = run(base_url, api_key_file, config, look)
    if as_json:
        print_json([item.model_dump(mode="json") for item in items])
    else:
        print_table(["PATH", "BYTES", "UPDATED", "ID"], [_row(item) for item in items])


@app.command("get")
def get(
    store: StoreName,
    path: MemoryPath,
    as_json: options.Json = False,
    base_url: options.BaseUrl = None,
    api_key_file: options.ApiKeyFile = None,
    config: options.Config = None,
) -> None:
    """Print a memory's exact bytes."""

    async def read(remote: "Remote") -> "Memory":
        store_id = (await find_store(remote, store)).id
        return await remote.retrieve_memory(store_id, (await find_memory(remote, store_id, path)).id)

    memory = run(base_url, api_key_file, config, read)
    if as_json:
        print_json(memory.model_dump(mode="json"))
    else:
        typer.echo((memory.content or "").encode(), nl=False)


@app.command("put")
def put(
    store: StoreName,
    path: MemoryPath,
    file: Annotated[str, typer.Argument(metavar="[FILE|-]", help="Where the bytes are; - is standard input.")] = "-",
    as_json: options.Json = False,
    base_url: options.BaseUrl = None,
    api_key_file: options.ApiKeyFile = None,
    config: options.Config = None,
) -> None:
    """Make a memory of exact bytes, or replace one, unless somebody else changes it meanwhile."""
    content = _text(_read(file), path)

    async def write(remote: "Remote") -> "tuple[str, Memory]":
        store_id = (await find_store(remote, store)).id
        try:
            old = await find_memory(remote, store_id, path)
        except NotFound:
            return "created", await remote.create_memory(store_id, path, content)
        new = await remote.update_memory(store_id, old.id, content=content, expect_sha256=old.content_sha256)
        return "unchanged" if new.memory_version_id == old.memory_version_id else "updated", new

    done, memory = run(base_url, api_key_file, config, write)
    _print_change(done, memory, as_json=as_json)


@app.command("mv")
def move(
    store: StoreName,
    old: Annotated[str, typer.Argument(metavar="OLD", help="Path of the memory.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="Its new path; nothing may be there.")],
    as_json: options.Json = False,
    base_url: options.BaseUrl = None,
    api_key_file: options.ApiKeyFile = None,
    config: options.Config = None,
) -> None:
    """Rename a memory; it keeps its id and its history."""

    async def rename(remote: "Remote") -> "Memory":
        store_id = (await find_store(remote, store)).id
        memory = await find_memory(remote, store_id, old)
        return await remote.update_memory(store_id, memory.id, path=new, expect_sha256=memory.content_sha256)

    _print_change("moved", run(base_url, api_key_file, config, rename), as_json=as_json)


@app.command("rm")
def remove(
    store: StoreName,
    path: MemoryPath,
    as_json: options.Json = False,
    base_url: options.BaseUrl = None,
    api_key_file: options.ApiKeyFile = None,
    config: options.Config = None,
) -> None:
    """Delete a memory; its versions stay in the store's history."""

    async def delete(remote: "Remote") -> "Memory":
        store_id = (await find_store(remote, store)).id
        memory = await find_memory(remote, store_id, path)
        await remote.delete_memory(store_id, memory.id, expect_sha256=memory.content_sha256)
        return memory

    gone = run(base_url, api_key_file, config, delete)
    if as_json:
        print_json({"id": gone.id, "type": "memory_deleted"})
    else:
        typer.echo(f"deleted {printable(gone.path)}")


def _read(file: str) -> bytes:
    if file == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise UsageError(f"{file!r} cannot be read: {error.strerror}") from None


def _text(content: bytes, path: str) -> str:
    """Return the text; how long it may be is for the remote to say."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise InvalidContent(f"the bytes for {path!r} are not UTF-8 text (byte {error.start})") from None


def _row(item: "Memory | MemoryPrefix") -> list[str]:
    if item.type == "memory_prefix":
        return [item.path, "", "", ""]
    return [item.path, str(item.content_size_bytes), moment(item.updated_at), item.id]


def _print_change(done: str, memory: "Memory", *, as_json: bool) -> None:
    if as_json:
        print_json(memory.model_dump(mode="json"))
    else:
        typer.echo(f"{done} {printable(memory.path)} ({memory.content_size_bytes} bytes, {memory.memory_version_id})")
