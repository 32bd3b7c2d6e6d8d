"""``memfs backup`` and ``memfs restore``: a server's whole database as one file, and back, beside running servers."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memfs.cli import options

if TYPE_CHECKING:
    from memfs.server.store.backup import Copied

_KEYS = (
    "API keys work as before. The file api-key is in no backup: put the old one beside the database before the first"
    " `memfs serve`, or make another key with `memfs keys create`."
)


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What is made, readable by its owner only.")],
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    data: options.Data = None,
    database: options.Database = None,
    as_json: options.Json = False,
    config: options.Config = None,
) -> None:
    """Write all of a server's stores, histories, keys and sessions to one file, as they are at one moment.

    The server may run. Every content is in the file, in the clear: keep it as you keep the server.
    """
    from memfs.cli.server_database import opened
    from memfs.server.store.backup import back_up

    with opened(data, database, config) as source, _progress("backup") as watch:
        copied = back_up(source, file, overwrite=force, watch=watch)
    _print("backed up", copied, file, as_json=as_json)


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", readable=False, help="What `memfs backup` made.")],
    data: options.Data = None,
    database: options.Database = None,
    as_json: options.Json = False,
    config: options.Config = None,
) -> None:
    """Copy a backup into an empty database, of either kind; all of it or, on a failure, nothing.

    Keys and sessions work as before; the file api-key is in no backup.
    """
    from memfs.cli.server_database import opened
    from memfs.server.store import backup as room

    room.check(file)  # before a database is made for it
    with opened(data, database, config, make=True) as target, _progress("restore") as watch:
        copied = room.restore(file, target, watch=watch)
    _print("restored", copied, file, as_json=as_json)
    if not as_json:
        typer.echo(_KEYS)


def _print(done: str, copied: "Copied", file: Path, *, as_json: bool) -> None:
    from memfs.cli.output import print_json, printable

    size = file.stat().st_size
    if as_json:
        print_json({"file": str(file), "bytes": size, **asdict(copied)})
        return
    counts = f"{copied.stores} stores, {copied.memories} memories, {copied.versions} versions"
    typer.echo(f"{done} {printable(str(file))} ({size} bytes): {counts}")


@contextmanager
def _progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show how far it is on standard error, if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _done, _all: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(what, total=None)
        yield lambda done, all_: shown.update(task, completed=done, total=all_)
