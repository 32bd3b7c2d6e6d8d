"""``memfs versions diff``: what changed between two versions, as a unified diff.

In a pipe its lines are the exact bytes, so that `patch` takes them; a terminal is shown colours, and no control
character of a text that others wrote.
"""

import difflib
import re
from typing import TYPE_CHECKING, Annotated

import typer

from memfs.cli import options
from memfs.cli.output import moment, print_json, printable
from memfs.cli.remote_access import run
from memfs.cli.versions_lookup import Store, find_version, text_of
from memfs.core.errors import NotFound

if TYPE_CHECKING:
    from memfs.api.models import MemoryVersion
    from memfs.remote.protocol import Remote

First = Annotated[str, typer.Argument(metavar="A", help="Id of a version (`memver_…`).")]
Second = Annotated[
    str | None, typer.Argument(metavar="B", help="Id of another. Without it, A and the version before it.")
]

_LINE = re.compile("[^\n]*\n|[^\n]+")
_NOWHERE = "/dev/null"
_COLOURS = {"-": "red", "+": "green", "@": "cyan"}
_HEADING = 2


def diff(
    store: Store,
    first: First,
    second: Second = None,
    as_json: options.Json = False,
    base_url: options.BaseUrl = None,
    api_key_file: options.ApiKeyFile = None,
    config: options.Config = None,
) -> None:
    """Show what changed from version A to version B, or to A from the version before it."""

    async def look(remote: "Remote") -> "tuple[MemoryVersion | None, MemoryVersion]":
        store_id, one = await find_version(remote, store, first)
        if second is not None:
            return one, await remote.retrieve_version(store_id, second)
        return await _before(remote, store_id, one), one

    old, new = run(base_url, api_key_file, config, look)
    found = unified(old, new)
    if as_json:
        print_json({"from": _described(old), "to": _described(new), "diff": found})
    else:
        _print(found)


def unified(old: "MemoryVersion | None", new: "MemoryVersion") -> str:
    """Return the unified diff of two versions, empty where they are alike; None stands for nothing.

    Raises:
        NotFound: One of them is redacted.
    """
    before, after = (_LINE.findall(_text(version)) for version in (old, new))
    (from_path, from_date), (to_path, to_date) = _label(old), _label(new)
    lines = difflib.unified_diff(before, after, from_path, to_path, from_date, to_date)
    found = "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
    is_rename = not found and _NOWHERE not in {from_path, to_path} and from_path != to_path
    return f"rename from {from_path}\nrename to {to_path}\n" if is_rename else found


async def _before(remote: "Remote", store_id: str, version: "MemoryVersion") -> "MemoryVersion | None":
    """Return the version that the memory had before, or None where it was made by this one."""
    if version.operation == "created":
        return None
    is_next = False
    async for one in remote.list_versions(store_id, memory_id=version.memory_id):
        if is_next:
            return await remote.retrieve_version(store_id, one.id)
        is_next = one.id == version.id
    raise NotFound(f"the version before {version.id} is not kept any more", remedy="Name two versions")


def _text(version: "MemoryVersion | None") -> str:
    return "" if version is None or _is_deletion(version) else text_of(version)


def _label(version: "MemoryVersion | None") -> tuple[str, str]:
    if version is None:
        return _NOWHERE, ""
    path = _NOWHERE if _is_deletion(version) else printable(version.path or "")
    return path, f"{version.id} {moment(version.created_at)}"


def _is_deletion(version: "MemoryVersion") -> bool:
    # A redacted one is none here: what it recorded is not known any more.
    return version.operation == "deleted" and version.redacted_at is None


def _described(version: "MemoryVersion | None") -> dict[str, object] | None:
    return None if version is None else version.model_dump(mode="json", exclude={"content"})


def _print(found: str) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    if not console.is_terminal:
        typer.echo(found.encode(), nl=False)
        return
    for number, line in enumerate(_LINE.findall(found)):
        shown = "\t".join(printable(part) for part in line.removesuffix("\n").split("\t"))
        console.print(Text(shown, style="bold" if number < _HEADING else _COLOURS.get(line[0], "")), soft_wrap=True)
