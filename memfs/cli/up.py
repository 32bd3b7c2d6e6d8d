"""``memfs up``: server if asked, worker and mount as supervised children, in the foreground, until Ctrl-C.

What can be refused is refused before anything starts: settings, the mount point, the number of stores, the key, an
unknown store. A remote that cannot be reached is no refusal: the mount serves what is known of the stores, and the
worker tries on. `memfs.cli.lifecycle` runs the processes.
"""

import random
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memfs.cli import left_links, options, state_directory
from memfs.cli.children import Supervisor
from memfs.cli.lifecycle import Hosting, UpOptions
from memfs.config import RemoteSettings, Settings, default_server_data, default_state, load, wanted
from memfs.core.errors import RemoteUnavailable, UsageError

if TYPE_CHECKING:
    from memfs.remote.protocol import Remote

_ATTEMPTS = 2


def up(
    store: options.Stores = None,
    session: options.Session = None,
    session_token_file: options.SessionTokenFile = None,
    mount: Annotated[
        Path | None, typer.Option("--mount", metavar="DIR", parser=Path, help="Where the stores appear.")
    ] = None,
    state: options.State = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Run the store server too; a store missing on it is made.")
    ] = False,
    listen: options.Listen = None,
    data: options.Data = None,
    base_url: options.BaseUrl = None,
    api_key_file: options.ApiKeyFile = None,
    config: options.Config = None,
    fuse: options.Fuse = None,
) -> None:
    """Mount stores and keep them in sync, in the foreground.

    Ctrl-C unmounts, pushes what is left and tells what is not yet synced.
    """
    settings = load(config)
    embedded = serve or settings.server.embedded
    if embedded and base_url:
        raise UsageError("--serve and --base-url exclude each other", remedy="The embedded server is its own remote")
    given = UpOptions(
        wanted=wanted(session, store, settings),
        named_by_flags=options.named(session, store),
        session_token_file=session_token_file,
        mount_point=_mount_point(mount, settings),
        state=state or settings.state.dir or default_state(),
        embedded=embedded,
        listen=listen or settings.server.listen,
        data=data or settings.server.data or default_server_data(),
        base_url=base_url,
        api_key_file=api_key_file,
        config=config,
        settings=settings,
        fuse=settings.mount.fuse if fuse is None else fuse,
    )
    given.wanted.check()
    _check_mount(given)
    state_directory.made(given.state)
    supervisor = Supervisor(_say, random.random)
    with tempfile.TemporaryDirectory(prefix="memfs-up-") as directory:
        raise typer.Exit(Hosting(given, supervisor, Path(directory), _say).run(lambda remote: _check(given, remote)))


def _check_mount(given: UpOptions) -> None:
    if given.fuse:
        from memfs.fuse.mounting import check

        with left_links.told(given.mount_point):
            check(given.mount_point, state=given.state, allow_other=given.settings.mount.allow_other)
        return
    from memfs.linked.serving import check as check_linked
    from memfs.state.layout import Layout

    check_linked(Layout(given.state), given.mount_point)


def _check(given: UpOptions, settings: RemoteSettings) -> None:
    """Ask the remote once about every store: an unknown one or a wrong key ends the command here."""
    import asyncio

    from memfs.remote.http import HttpRemote
    from memfs.remote.retrying import Retrying

    async def ask() -> None:
        remote = Retrying(
            HttpRemote(settings.base_url, settings.api_key, is_session_token=settings.is_session_token),
            attempts=_ATTEMPTS,
        )
        try:
            await _find_stores(given, remote)
        finally:
            await remote.aclose()

    try:
        asyncio.run(ask())
    except RemoteUnavailable as error:
        _say(f"{error}; going on with what is known of the stores, and trying again")


async def _find_stores(given: UpOptions, remote: "Remote") -> None:
    from memfs.remote.attach import resolve, resolve_session

    if given.wanted.session_id:
        await resolve_session(remote, given.wanted.session_id)
        return
    stores = given.wanted.stores
    if given.embedded:
        known = {one.name for one in [each async for each in remote.list_stores(include_archived=True)]}
        for one in stores:
            if one.store not in known and not one.store.startswith("memstore_"):
                await remote.create_store(one.store)
                _say(f"made the store {one.store!r}")
    await resolve(remote, stores)


def _mount_point(told: Path | None, settings: Settings) -> Path:
    point = told or settings.mount.point
    if point is None:
        raise UsageError("no mount point is named", remedy="Say --mount DIR, or set mount.point in memfs.toml")
    return point


def _say(message: str) -> None:
    typer.echo(f"memfs: {message}", err=True)
