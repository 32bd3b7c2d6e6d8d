"""``memfs run``: a command in namespaces of its own, with the stores at /mnt/memory and nothing else of memfs.

What can be refused is refused before the command begins. `memfs.cli.running` runs the processes, `memfs.sandbox` is
what is put around the command.
"""

import os
import random
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from memfs.cli import concealed, options, state_directory
from memfs.cli.running import Running, RunOptions, RunSupervisor
from memfs.config import RemoteSettings, Wanted, default_state, load, remote_settings, wanted
from memfs.core.errors import RemoteUnavailable
from memfs.sandbox.plan import Plan

_ATTEMPTS = 2


class Network(StrEnum):
    """What the command reaches."""

    HOST = "host"
    NONE = "none"


def run(
    command: Annotated[list[str], typer.Argument(metavar="COMMAND", help="What to run, after `--`.")],
    store: options.Stores = None,
    session: options.Session = None,
    session_token_file: options.SessionTokenFile = None,
    network: Annotated[
        Network, typer.Option("--network", help="`none` leaves the command without any network.")
    ] = Network.HOST,
    state: options.State = None,
    base_url: options.BaseUrl = None,
    api_key_file: options.ApiKeyFile = None,
    config: options.Config = None,
) -> None:
    """Run a command with stores at /mnt/memory.

    It sees neither memfs's state and keys nor any process outside. No privilege is needed where the kernel allows user
    namespaces. At its end, what it wrote is pushed; the exit code is its own, or 1 if it is 0 and not all was synced.
    """
    import memfs.fuse.operations  # noqa: F401  (raises LibfuseMissing)

    settings = load(config)
    asked = wanted(session, store, settings)
    asked.check()
    remote = remote_settings(
        base_url,
        api_key_file,
        settings=settings,
        session_id=asked.session_id,
        session_token_file=session_token_file,
    )
    layout = state_directory.made((state or settings.state.dir or default_state()).absolute())
    given = RunOptions(
        plan=_plan(
            command,
            network,
            concealed.paths(layout.root, settings, os.environ, config, api_key_file, session_token_file),
        ),
        environ=concealed.environment(os.environ, remote.api_key),
        layout=layout,
        named_by_flags=options.named(session, store),
        remote=remote,
        config=config.absolute() if config else None,
        drain_timeout_s=settings.worker.drain_timeout_s,
    )
    supervisor = RunSupervisor(_say, random.random)
    raise typer.Exit(Running(given, supervisor, _say).run(lambda: _check(remote, asked)))


def _plan(command: list[str], network: Network, hidden: list[str]) -> Plan:
    return Plan(
        command=command,
        directory=_here(),
        hidden=hidden,
        has_network=network is Network.HOST,
        has_terminal=False,
        uid=os.geteuid(),
        gid=os.getegid(),
    )


def _check(settings: RemoteSettings, asked: Wanted) -> None:
    """Ask the remote once about every store: an unknown one or a wrong key ends the command here."""
    import asyncio

    from memfs.remote.attach import resolve, resolve_session
    from memfs.remote.http import HttpRemote
    from memfs.remote.retrying import Retrying

    async def ask() -> None:
        remote = Retrying(
            HttpRemote(settings.base_url, settings.api_key, is_session_token=settings.is_session_token),
            attempts=_ATTEMPTS,
        )
        try:
            if asked.session_id:
                await resolve_session(remote, asked.session_id)
            else:
                await resolve(remote, asked.stores)
        finally:
            await remote.aclose()

    try:
        asyncio.run(ask())
    except RemoteUnavailable as error:
        _say(f"{error}; going on with what is known of the stores, and trying again")


def _here() -> str:
    try:
        return str(Path.cwd())
    except OSError:
        return "/"


def _say(message: str) -> None:
    typer.echo(f"memfs: {message}", err=True)
