"""``memfs versions restore`` and ``redact``: bring back what a memory was, or clear it for good.

A restore is a new version on top, conditional on the memory as it was just looked up. A redaction has no way back, so
it is asked for twice.
"""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from memfs.cli import options
from memfs.cli.output import moment, print_json, printable
from memfs.cli.remote_access import run
from memfs.cli.versions_lookup import Store, Version, find_version, text_of
from memfs.core.errors import NotFound, UsageError

if TYPE_CHECKING:
    from memfs.api.models import Memory, MemoryVersion
    from memfs.remote.protocol import Remote


def restore(
    store: Store,
    version: Version,
    path: Annotated[
        str | None, typer.Option("--path", metavar="PATH", help="Where to make a deleted memory again.")
    ] = None,
    as_json: options.Json = False,
    base_url: options.BaseUrl = None,
    api_key_file: options.ApiKeyFile = None,
    config: options.Config = None,
) -> None:
    """Give a memory the content of a version; a deleted one is made again at the path it had."""

    async def write(remote: "Remote") -> "tuple[str, Memory]":
        store_id, old = await find_version(remote, store, version)
        content = text_of(old)
        try:
            now = await remote.retrieve_memory(store_id, old.memory_id)
        except NotFound:
            return "made again", await remote.create_memory(store_id, path or old.path or "", content)
        if path not in {None, now.path}:
            raise UsageError(
                f"the memory is not deleted, it is at {now.path!r}: --path is for one that is",
                remedy="Leave --path out, and rename it with `memfs memories mv`",
            )
        new = await remote.update_memory(store_id, now.id, content=content, expect_sha256=now.content_sha256)
        return "unchanged" if new.memory_version_id == now.memory_version_id else "restored", new

    done, memory = run(base_url, api_key_file, config, write)
    if as_json:
        print_json(memory.model_dump(mode="json"))
    else:
        typer.echo(f"{done} {printable(memory.path)} ({memory.content_size_bytes} bytes, {memory.memory_version_id})")


def redact(
    store: Store,
    version: Version,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: options.Json = False,
    base_url: options.BaseUrl = None,
    api_key_file: options.ApiKeyFile = None,
    config: options.Config = None,
) -> None:
    """Clear a version's content and path for good, so that only who changed something, and when, is left."""
    if not yes and not sys.stdin.isatty():
        raise UsageError(f"redacting {version!r} cannot be undone, and nobody can be asked", remedy="Add --yes")

    async def look(remote: "Remote") -> "tuple[str, MemoryVersion]":
        return await find_version(remote, store, version)

    store_id, found = run(base_url, api_key_file, config, look)
    if not yes:
        # Asked outside any event loop, which would keep the first Ctrl-C to itself.
        what = f"{printable(found.path or '(redacted)')} of {moment(found.created_at)}"
        typer.confirm(f"Clear {what} ({found.id}) for good?", abort=True, err=True)

    async def clear(remote: "Remote") -> "MemoryVersion":
        return await remote.redact_version(store_id, found.id)

    redacted = run(base_url, api_key_file, config, clear)
    if as_json:
        print_json(redacted.model_dump(mode="json"))
    else:
        typer.echo(f"redacted {redacted.id}")
