"""``memfs mount`` and ``memfs unmount``: the attached stores of a state directory as directories."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memfs.cli import left_links, options, state_directory
from memfs.core.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from memfs.config import Settings

UNMOUNT_S = 15.0
"""What a supervisor is asked to wait: programs in the mount have 5 s to leave, then it is detached."""

# Parsed as it is written: Typer would look at the path, and a look at a dead mount may never return.
Point = Annotated[Path, typer.Argument(metavar="MOUNTPOINT", parser=Path, help="Where memfs is mounted.")]
PointOrConfigured = Annotated[
    Path | None, typer.Argument(metavar="[MOUNTPOINT]", parser=Path, help="An empty directory. (default: mount.point)")
]


def mount(
    mount_point: PointOrConfigured = None,
    state: options.State = None,
    config: options.Config = None,
    allow_other: Annotated[bool, typer.Option("--allow-other", help="Let other users in.")] = False,
    uid: Annotated[int | None, typer.Option("--uid", min=0, metavar="UID", help="Owner of every file.")] = None,
    gid: Annotated[int | None, typer.Option("--gid", min=0, metavar="GID", help="Group of every file.")] = None,
    umask: Annotated[
        str | None, typer.Option("--umask", metavar="OCTAL", help="Bits that new and pulled files go without.")
    ] = None,
    open_upcalls: Annotated[
        bool, typer.Option("--open-upcalls", help="For kernels that cannot open files by themselves.")
    ] = False,
    fuse: options.Fuse = None,
) -> None:
    """Mount the stores of a state directory, in the foreground, until a signal or `memfs unmount`.

    No network is needed: the stores are those that `memfs sync` or `memfs up` attached.
    """
    from memfs import logs
    from memfs.config import default_state, load

    settings = load(config)
    logs.set_up(settings.logging.level)
    told = {
        "point": mount_point,
        "allow_other": allow_other or None,
        "uid": uid,
        "gid": gid,
        "umask": umask,
        "open_upcalls": "always" if open_upcalls else None,
        "fuse": fuse,
    }
    given = {name: value for name, value in told.items() if value is not None}
    settings = settings.model_copy(update={"mount": settings.mount.model_copy(update=given)})
    if settings.mount.point is None:
        raise UsageError("no mount point is named", remedy="Say memfs mount MOUNTPOINT, or set mount.point")
    run = _run if settings.mount.fuse else _link
    raise typer.Exit(run(settings.mount.point, state or settings.state.dir or default_state(), settings))


def unmount(
    mount_point: Point,
    lazy: Annotated[bool, typer.Option("--lazy", help="Detach even while programs use it.")] = False,
) -> None:
    """Unmount, and wait until the mount's process has ended."""
    from memfs.fuse.mounting import unmount as unmount_point
    from memfs.linked.ending import end, state_linked_at

    state = state_linked_at(mount_point)
    if state is None:
        unmount_point(mount_point, lazy=lazy)
    else:
        end(mount_point, state)


def _run(point: Path, state: Path, settings: "Settings") -> int:
    from memfs import health
    from memfs.core.limits import Limits
    from memfs.core.names import Names
    from memfs.fuse.mounting import MountOptions, OpenUpcalls, run
    from memfs.linked.protection import release
    from memfs.state.attachments import attached
    from memfs.vfs.filesystem import FileSystem
    from memfs.vfs.values import Notice, Ownership

    table, layout = settings.mount, state_directory.made(state)
    ownership = Ownership(
        uid=os.getuid() if table.uid is None else table.uid,
        gid=os.getgid() if table.gid is None else table.gid,
        umask=_octal(table.umask),
    )

    def filesystem(invalidate: Callable[[Notice], None]) -> FileSystem:
        for one in attached(layout):
            release(layout.store(one.store_id))
        return FileSystem(
            layout,
            limits=Limits(),
            names=Names(settings.names.local_only, settings.names.held_back),
            ownership=ownership,
            clock_ns=time.time_ns,
            invalidate=invalidate,
            mount_point=str(point.absolute()),
        )

    def say_ready() -> None:
        stores = attached(layout)
        typer.echo(f"mounted {len(stores)} {'store' if len(stores) == 1 else 'stores'} at {point}")
        if not stores and "NOTIFY_SOCKET" not in os.environ:  # A supervisor sees to it.
            typer.echo("no store is attached to this state yet: `memfs sync --store NAME` or `memfs up` does that")
        health.notify(ready=True, status=str(point))

    with left_links.told(point):
        return run(
            filesystem,
            socket_path=layout.mount_socket,
            mount_point=point,
            options=MountOptions(allow_other=table.allow_other, open_upcalls=OpenUpcalls(table.open_upcalls)),
            on_ready=say_ready,
            on_stopping=lambda: health.notify(stopping=True, status=f"unmounting {point}", extend_timeout_s=UNMOUNT_S),
        )


def _link(point: Path, state: Path, _settings: "Settings") -> int:
    from memfs import health
    from memfs.linked.serving import run
    from memfs.state.attachments import attached

    layout = state_directory.made(state)

    def say_ready() -> None:
        stores = attached(layout)
        typer.echo(f"linked {len(stores)} {'store' if len(stores) == 1 else 'stores'} at {point}")
        health.notify(ready=True, status=str(point))

    typer.echo(f"memfs: {options.DIRECTORY_MODE}", err=True)
    return run(layout, point, on_ready=say_ready)


def _octal(text: str) -> int:
    try:
        bits = int(text, 8)
    except ValueError:
        bits = -1
    if not 0 <= bits <= 0o777:  # noqa: PLR2004  (the nine permission bits)
        raise ConfigError(f"the umask {text!r} is not octal", remedy="Write it like 022")
    return bits
