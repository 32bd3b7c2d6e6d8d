"""``memfs mount`` and ``memfs unmount``: the attached stores of a state directory as directories."""

from pathlib import Path
from typing import Annotated

import typer

from memfs.cli import options

Point = Annotated[Path, typer.Argument(metavar="MOUNTPOINT", help="An empty directory.")]


def mount(
    mount_point: Annotated[Path | None, typer.Argument(metavar="[MOUNTPOINT]", help="An empty directory.")] = None,
    state: options.State = None,
    config: options.Config = None,
    allow_other: Annotated[bool, typer.Option("--allow-other", help="Let other users in.")] = False,
    uid: Annotated[int | None, typer.Option(min=0, help="Owner of every file.")] = None,
    gid: Annotated[int | None, typer.Option(min=0, help="Group of every file.")] = None,
    umask: Annotated[str | None, typer.Option(metavar="OCTAL", help="Permission bits no file shows.")] = None,
    open_upcalls: Annotated[
        bool, typer.Option("--open-upcalls", help="For kernels that cannot open files by themselves.")
    ] = False,
) -> None:
    """Mount the stores of a state directory, in the foreground, until a signal or `memfs unmount`.

    No network is needed: the stores are those that `memfs sync` or `memfs up` attached.
    """
    from memfs import config as settings_room  # noqa: PLC0415  (a command loads its room when it runs)
    from memfs import logs  # noqa: PLC0415
    from memfs.core.errors import UsageError  # noqa: PLC0415

    settings = settings_room.load(config)
    logs.set_up(settings.logging.level)
    point = mount_point or settings.mount.point
    if point is None:
        raise UsageError("no mount point is named", remedy="Say memfs mount MOUNTPOINT, or set mount.point")
    told = {
        "allow_other": allow_other or None,
        "uid": uid,
        "gid": gid,
        "umask": umask,
        "open_upcalls": "always" if open_upcalls else None,
    }
    table = settings.mount.model_validate(
        settings.mount.model_dump() | {name: value for name, value in told.items() if value is not None}
    )
    raise typer.Exit(_run(point, state or settings.state.dir or settings_room.default_state(), table, settings))


def unmount(
    mount_point: Point,
    lazy: Annotated[bool, typer.Option("--lazy", help="Detach even while programs use it.")] = False,
) -> None:
    """Unmount, and wait until the mount's process has ended."""
    from memfs.fuse.mounting import unmount as unmount_point  # noqa: PLC0415

    unmount_point(mount_point, lazy=lazy)
