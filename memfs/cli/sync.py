"""``memfs sync``: the sync worker, started as the process it is."""

import os
import sys
from typing import Annotated

import typer

from memfs.cli import options
from memfs.cli.asking import ask_running_worker
from memfs.cli.children import worker_command
from memfs.config import Settings, default_state, load
from memfs.core.errors import Unsynced
from memfs.core.worker_requests import Drain
from memfs.state.layout import Layout


def sync(
    once: Annotated[bool, typer.Option("--once", help="Sync until nothing is left to do, then exit.")] = False,
    store: options.Stores = None,
    session: options.Session = None,
    session_token_file: options.SessionTokenFile = None,
    state: options.State = None,
    base_url: options.BaseUrl = None,
    api_key_file: options.ApiKeyFile = None,
    config: options.Config = None,
) -> None:
    """Mirror local edits to the remote and bring remote edits in, in the foreground.

    With --once, exits 0 when everything is on both sides and 1, naming what is not, otherwise. A worker that runs
    already does that itself.
    """
    settings = load(config)
    if once and _is_done_by_the_worker(Layout((state or settings.state.dir or default_state()).absolute()), settings):
        return
    arguments = ["--once"] if once else []
    for name, value in (
        ("--config", config),
        ("--state", state),
        ("--base-url", base_url),
        ("--api-key-file", api_key_file),
        ("--session", session),
        ("--session-token-file", session_token_file),
    ):
        arguments += [name, str(value)] if value is not None else []
    for one in store or []:
        arguments += ["--store", one]
    sys.stdout.flush()
    command = worker_command(*arguments)
    os.execv(command[0], command)  # noqa: S606  (this process becomes the worker)


def _is_done_by_the_worker(layout: Layout, settings: Settings) -> bool:
    """Have the worker that runs sync; False where none does.

    Raises:
        Unsynced: It did not get everything to both sides.
    """
    timeout_s = settings.worker.drain_timeout_s
    answer = ask_running_worker(layout, Drain(timeout_s=timeout_s), timeout_s=timeout_s)
    if answer is not None and answer["unsynced"]:
        raise Unsynced(f"not synced: {', '.join(answer['unsynced'])}", remedy="See `memfs status`")
    return answer is not None
