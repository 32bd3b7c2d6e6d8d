"""``memfs drain``: prove that everything written before is on the remote, or say what is not."""

from typing import Annotated

import typer

from memfs.cli import options, state_directory
from memfs.cli.asking import ask_worker
from memfs.config import default_state, load
from memfs.core.errors import Unsynced
from memfs.core.worker_requests import Drain


def drain(
    timeout: Annotated[float, typer.Option("--timeout", metavar="SECONDS", min=0, help="Longest time to wait.")] = 60.0,
    state: options.State = None,
    config: options.Config = None,
) -> None:
    """Wait until everything that was written before is on the remote.

    Exits 0 when it is, and 1, naming what is not, otherwise.
    """
    from memfs.cli.output import printable

    layout = state_directory.found(state or load(config).state.dir or default_state())
    left = ask_worker(layout, Drain(timeout_s=timeout), config=config, timeout_s=timeout)["unsynced"]
    for path in left:
        typer.echo(printable(path))
    if left:
        raise Unsynced(f"{len(left)} {'path is' if len(left) == 1 else 'paths are'} not synced")
    typer.echo("everything is on the remote")
