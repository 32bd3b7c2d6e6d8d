"""The command ``memfs``: every command's name and help, and the one place where an error becomes an exit code.

Each command imports its room when it runs, so that ``memfs --help`` and the small commands start at once.
"""

import sys
import traceback
from contextlib import suppress
from typing import Annotated, NoReturn

import typer

import memfs
from memfs.cli import (
    backup,
    conflicts,
    demo,
    drain,
    keys,
    memories,
    mount,
    resume,
    serve,
    status,
    stores,
    sync,
    tool,
    transferring,
    trash,
    up,
    versions,
)
from memfs.cli.run import run as run_command
from memfs.core.errors import MemfsError, StateUnavailable

app = typer.Typer(
    name="memfs",
    help="Agents' memory stores as ordinary directories.",
    epilog="Two commands to begin: `memfs demo` shows everything at work; `memfs up` mounts your stores.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_RUN, _LOOK, _PARTS = "Run", "Look and change", "The parts, each useful alone"

app.command("up", rich_help_panel=_RUN)(up.up)
app.command("run", rich_help_panel=_RUN, context_settings={"allow_interspersed_args": False})(run_command)
app.command("demo", rich_help_panel=_RUN)(demo.demo)
app.command("status", rich_help_panel=_LOOK)(status.status)
app.command("conflicts", rich_help_panel=_LOOK)(conflicts.conflicts)
app.command("resolve", rich_help_panel=_LOOK)(conflicts.resolve)
app.command("resume", rich_help_panel=_LOOK)(resume.resume)
app.add_typer(trash.app, name="trash", rich_help_panel=_LOOK)
stores.app.command("export")(transferring.export)
stores.app.command("import")(transferring.import_)
stores.app.command("copy")(transferring.copy)
app.add_typer(stores.app, name="stores", rich_help_panel=_LOOK)
app.add_typer(memories.app, name="memories", rich_help_panel=_LOOK)
app.add_typer(versions.app, name="versions", rich_help_panel=_LOOK)
app.command("tool", rich_help_panel=_LOOK)(tool.tool)
app.command("serve", rich_help_panel=_PARTS)(serve.serve)
app.add_typer(keys.app, name="keys", rich_help_panel=_PARTS)
app.command("backup", rich_help_panel=_PARTS)(backup.backup)
app.command("restore", rich_help_panel=_PARTS)(backup.restore)
app.command("mount", rich_help_panel=_PARTS)(mount.mount)
app.command("unmount", rich_help_panel=_PARTS)(mount.unmount)
app.command("sync", rich_help_panel=_PARTS)(sync.sync)
app.command("drain", rich_help_panel=_PARTS)(drain.drain)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"memfs {memfs.__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Agents' memory stores as ordinary directories."""


def run() -> None:
    """Run the command line: what memfs foresees, and what this host refuses, is one line and an exit code.

    A traceback is for bugs, with an exit code of its own.
    """
    try:
        app()
    except MemfsError as error:
        _fail(str(error), error.exit_code)
    except OSError as error:
        what = f"{error.filename}: " if error.filename else ""
        _fail(f"{what}{error.strerror or error}", StateUnavailable.exit_code)
    except Exception:  # noqa: BLE001  (the last one to see it)
        traceback.print_exc()
        sys.exit(MemfsError.exit_code)


def _fail(message: str, exit_code: int) -> NoReturn:
    with suppress(OSError):
        sys.stdout.flush()
    typer.echo(f"memfs: {message}", err=True)
    sys.exit(exit_code)
