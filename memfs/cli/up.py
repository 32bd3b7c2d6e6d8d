"""``memfs up``: server if asked, worker and mount as supervised children, in the foreground, until Ctrl-C.

What can be refused is refused before anything starts: settings, the number of stores, the key, an unknown store. A
remote that cannot be reached is no refusal: the mount serves what is known of the stores, and the worker tries on.
"""

import random
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from memfs.cli import options
from memfs.cli.children import Child, Supervisor, memfs_command, worker_command
from memfs.config import RemoteSettings, Settings, default_server_data, default_state, load, remote_settings
from memfs.core.attachment import Attachment, WantedStore, check_wanted, parse_wanted
from memfs.core.errors import RemoteUnavailable, UsageError
from memfs.health import notify
from memfs.state.layout import Layout

READY_TIMEOUT_S = 15.0
FIRST_SYNC_TIMEOUT_S = 60.0
UNMOUNT_TIMEOUT_S = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What this call runs, every default filled in."""

    wanted: list[WantedStore]
    named_by_flags: list[str]
    mount_point: Path
    state: Path
    embedded: bool
    listen: str
    data: Path
    config: Path | None
    settings: Settings


def up(  # noqa: PLR0917  (one parameter per option of the command)
    store: options.Stores = None,
    mount: Annotated[Path | None, typer.Option("--mount", metavar="DIR", help="Where the stores appear.")] = None,
    state: options.State = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Run the store server too; a store missing on it is made.")
    ] = False,
    listen: options.Listen = None,
    data: options.Data = None,
    base_url: options.BaseUrl = None,
    api_key_file: options.ApiKeyFile = None,
    config: options.Config = None,
) -> None:
    """Mount stores and keep them in sync, in the foreground.

    Ctrl-C unmounts, pushes what is left and tells what is not yet synced.
    """
    from memfs.fuse.mounting import check

    settings = load(config)
    embedded = serve or settings.server.embedded
    if embedded and base_url:
        raise UsageError("--serve and --base-url exclude each other", remedy="The embedded server is its own remote")
    plan = Plan(
        wanted=[parse_wanted(text) for text in store] if store else settings.wanted_stores(),
        named_by_flags=store or [],
        mount_point=_mount_point(mount, settings),
        state=state or settings.state.dir or default_state(),
        embedded=embedded,
        listen=listen or settings.server.listen,
        data=data or settings.server.data or default_server_data(),
        config=config,
        settings=settings,
    )
    check_wanted(plan.wanted)
    check(plan.mount_point, state=plan.state, allow_other=settings.mount.allow_other)
    supervisor = Supervisor(_say, random.random)
    with tempfile.TemporaryDirectory(prefix="memfs-up-") as directory:
        raise typer.Exit(_run(plan, supervisor, Path(directory), base_url, api_key_file))


def _run(plan: Plan, supervisor: Supervisor, directory: Path, base_url: str | None, api_key_file: Path | None) -> int:
    children: list[Child] = []
    try:
        if plan.embedded:
            server = Child("server", _server_command(plan), directory)
            children.append(server)
            if code := _start(server, supervisor, READY_TIMEOUT_S):
                return code
            base_url, api_key_file = server.status, plan.data / "api-key"
        remote = remote_settings(base_url, api_key_file, settings=plan.settings)
        _check_remote(plan, remote)
        worker = Child("worker", _worker_command(plan, remote), directory, {"MEMFS_API_KEY": remote.api_key})
        mount = Child("mount", _mount_command(plan), directory)
        children += [worker, mount]
        if code := _start(worker, supervisor, FIRST_SYNC_TIMEOUT_S) or _start(mount, supervisor, READY_TIMEOUT_S):
            return code
        if not supervisor.is_stopping:
            _say_serving(plan, worker)
            notify(ready=True, status=str(plan.mount_point))
        supervisor.watch(children)
    finally:
        code = _stop(children, supervisor, plan)
    return code


def _start(child: Child, supervisor: Supervisor, timeout_s: float) -> int:
    """Start the child and wait until it serves; returns its exit code when it ended instead, otherwise 0."""
    child.start()
    if not child.wait_ready(timeout_s, is_stopping=lambda: supervisor.is_stopping):
        return child.ended() or 0  # It said why on standard error.
    return 0


def _check_remote(plan: Plan, remote: RemoteSettings) -> None:
    """Ask the remote once about every store: an unknown one or a wrong key ends the command here.

    On the embedded server a store that is named but missing is made.
    """
    import asyncio

    from memfs.remote.attach import resolve
    from memfs.remote.http import HttpRemote
    from memfs.remote.retrying import Retrying

    async def ask() -> list[Attachment]:
        far = Retrying(HttpRemote(remote.base_url, remote.api_key), attempts=2)
        try:
            if plan.embedded:
                known = {one.name for one in [each async for each in far.list_stores(include_archived=True)]}
                for one in plan.wanted:
                    if one.store not in known and not one.store.startswith("memstore_"):
                        await far.create_store(one.store)
                        _say(f"made the store {one.store!r}")
            return await resolve(far, plan.wanted)
        finally:
            await far.aclose()

    try:
        asyncio.run(ask())
    except RemoteUnavailable as error:
        _say(f"{error}; going on with what is known of the stores, and trying again")


def _stop(children: list[Child], supervisor: Supervisor, plan: Plan) -> int:
    """Unmount first, so that nothing new comes in; then the worker drains; the server ends last."""
    by_name = {child.name: child for child in children}
    if mount := by_name.get("mount"):
        mount.stop(UNMOUNT_TIMEOUT_S, hurry=lambda: supervisor.is_hurried)
    if worker := by_name.get("worker"):
        if worker.ended() is None:
            _say("pushing what is not yet synced …")
        worker.stop(plan.settings.worker.drain_timeout_s + 5.0, hurry=lambda: supervisor.is_hurried)
        _say_unsynced(plan)
    if server := by_name.get("server"):
        server.stop(READY_TIMEOUT_S)
    for child in children:
        child.close()
    return 0


def _say_serving(plan: Plan, worker: Child) -> None:
    from memfs.state.attachments import attached

    stores = attached(Layout(plan.state))
    for one in stores:
        access = "read_write" if one.is_writable else "read_only"
        typer.echo(f"  {plan.mount_point / one.slug}  {access}  ({one.name})")
    if not worker.ready and worker.status:
        _say(f"the worker: {worker.status}")
    _say("Ctrl-C drains, unmounts and tells what is not yet synced" if stores else "no store is known yet")


def _say_unsynced(plan: Plan) -> None:
    from memfs.state.summary import summaries

    owed = [one for one in summaries(Layout(plan.state)) if one.pending]
    if not owed:
        _say("everything is synced")
    for one in owed:
        _say(f"{one.attachment.name}: {one.pending} not yet synced; kept in {plan.state}, pushed at the next start")


def _mount_point(told: Path | None, settings: Settings) -> Path:
    point = told or settings.mount.point
    if point is None:
        raise UsageError("no mount point is named", remedy="Say --mount DIR, or set mount.point in memfs.toml")
    return point


def _server_command(plan: Plan) -> list[str]:
    return memfs_command("serve", "--listen", plan.listen, "--data", str(plan.data), *_config(plan))


def _mount_command(plan: Plan) -> list[str]:
    return memfs_command("mount", str(plan.mount_point), "--state", str(plan.state), *_config(plan))


def _worker_command(plan: Plan, remote: RemoteSettings) -> list[str]:
    named = [word for text in plan.named_by_flags for word in ("--store", text)]
    return worker_command("--state", str(plan.state), "--base-url", remote.base_url, *named, *_config(plan))


def _config(plan: Plan) -> list[str]:
    return ["--config", str(plan.config)] if plan.config else []


def _say(message: str) -> None:
    typer.echo(f"memfs: {message}", err=True)
