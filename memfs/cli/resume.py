"""``memfs resume``: decide about a store that stopped deleting."""

from typing import Annotated

import typer

from memfs.cli import options, state_directory
from memfs.cli.asking import ask_worker, one_store
from memfs.config import default_state, load
from memfs.core.errors import UsageError
from memfs.core.worker_requests import Resume


def resume(
    store: Annotated[str, typer.Argument(metavar="STORE", help="Slug, name or id.")],
    accept: Annotated[bool, typer.Option("--accept", help="The deletions are meant: make them.")] = False,
    restore: Annotated[bool, typer.Option("--restore", help="They are not: bring back what they took.")] = False,
    state: options.State = None,
    config: options.Config = None,
) -> None:
    """Decide about a store that is halted because too much would be deleted.

    Until then nothing is deleted in it, on neither side; everything else syncs.
    """
    if accept == restore:
        raise UsageError("say what is to be done", remedy="Give --accept or --restore")
    layout = state_directory.found(state or load(config).state.dir or default_state())
    found = one_store(layout, store)
    done = ask_worker(layout, Resume(store_id=found.store_id, accept=accept), config=config)
    if not done["was_halted"]:
        typer.echo(f"{found.slug} is not halted")
        return
    what = "deletions are made" if accept else "memories come back"
    typer.echo(f"{found.slug} goes on: {done['count']} {what} with the next sync")
