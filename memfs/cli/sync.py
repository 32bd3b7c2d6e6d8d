"""``memfs sync``: the sync worker, started as the process it is."""

import os
import sys
from typing import Annotated

import typer

from memfs.cli import options
from memfs.cli.children import worker_command


def sync(
    once: Annotated[bool, typer.Option("--once", help="Sync until nothing is left to do, then exit.")] = False,
    store: options.Stores = None,
    state: options.State = None,
    base_url: options.BaseUrl = None,
    api_key_file: options.ApiKeyFile = None,
    config: options.Config = None,
) -> None:
    """Mirror local edits to the remote and bring remote edits in, in the foreground.

    With --once, exits 0 when everything is on both sides and 1, naming what is not, otherwise.
    """
    arguments = ["--once"] if once else []
    for name, value in (
        ("--config", config),
        ("--state", state),
        ("--base-url", base_url),
        ("--api-key-file", api_key_file),
    ):
        arguments += [name, str(value)] if value is not None else []
    for one in store or []:
        arguments += ["--store", one]
    sys.stdout.flush()
    command = worker_command(*arguments)
    os.execv(command[0], command)  # noqa: S606  (this process becomes the worker)
