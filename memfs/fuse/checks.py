"""What can be refused before mounting: each cause is an error class of its own, with its remedy.

A mount that is already there may be dead: it is read about in `mountinfo` and looked at from `outside`, never touched
here. A dead one of ours is cleared away; a foreign one never is. Used by `mounting`, `unmounting` and `memfs up`.
"""

import os
import shutil
from contextlib import suppress
from pathlib import Path

from memfs.core.errors import (
    DeviceMissing,
    FusermountMissing,
    MountPointBusy,
    MountPointMissing,
    MountPointNotEmpty,
    MountRefused,
    StaleMount,
    StateBelowMount,
)
from memfs.fuse import mountinfo, outside
from memfs.fuse.mountinfo import Mount
from memfs.fuse.outside import Pulse

DEVICE = Path("/dev/fuse")
FUSE_CONF = Path("/etc/fuse.conf")
LOOK_TIMEOUT_S = 5.0
_LINKS = 40


def locate(mount_point: Path) -> Path:
    """Return the mount point absolute and without symbolic links, not touching what is mounted there."""
    point = Path(os.path.abspath(mount_point))  # noqa: PTH100  (Path.absolute keeps "..")
    for _ in range(_LINKS):
        point = Path(os.path.realpath(point.parent)) / point.name
        if mountinfo.at(point) or not point.is_symlink():
            return point
        point = point.parent / point.readlink()
    raise MountPointMissing(f"the mount point {mount_point} is a loop of symbolic links")


def check_host(*, allow_other: bool, device: Path = DEVICE, fuse_conf: Path = FUSE_CONF) -> None:
    """Check that this process may mount at all.

    Raises:
        DeviceMissing: /dev/fuse is missing or may not be opened.
        FusermountMissing: An ordinary user has no fusermount.
        MountRefused: An ordinary user may not let others in.
    """
    try:
        os.close(os.open(device, os.O_RDWR | os.O_CLOEXEC))
    except FileNotFoundError:
        raise DeviceMissing(
            f"{device} is missing",
            remedy="Load the module (modprobe fuse); in a container add --device /dev/fuse --cap-add SYS_ADMIN",
        ) from None
    except OSError as error:
        raise DeviceMissing(
            f"{device} cannot be opened: {error.strerror}",
            remedy="Run as root or let this user open it; in a container add --device /dev/fuse --cap-add SYS_ADMIN",
        ) from None
    if os.geteuid() == 0:
        return
    if shutil.which("fusermount") is None:
        raise FusermountMissing(
            "fusermount is not installed, and an ordinary user needs it to mount",
            remedy="Install it: apt-get install fuse",
        )
    if allow_other and "user_allow_other" not in _settings(fuse_conf):
        raise MountRefused(
            "an ordinary user may not let other users in",
            remedy=f"Add the line user_allow_other to {fuse_conf}, or mount as root",
        )


def check_state(state: Path, mount_point: Path) -> None:
    """Check that the mount will hide neither its own state nor a part of it.

    Raises:
        StateBelowMount: The state directory is the mount point or lies below it.
        MountRefused: The mount point lies in the state directory.
    """
    for spelling in (Path(os.path.abspath(state)), Path(os.path.realpath(state))):  # noqa: PTH100  (".." too)
        if mount_point != spelling and mount_point.is_relative_to(spelling):
            raise MountRefused(
                f"the mount point {mount_point} lies in the state directory {state}",
                remedy="Name a mount point elsewhere",
            )
        if spelling.is_relative_to(mount_point):
            raise StateBelowMount(
                f"the state directory {state} lies below the mount point {mount_point}",
                remedy="Name a state directory elsewhere (--state)",
            )


def check_mount_point(mount_point: Path) -> None:
    """Check that the mount point (see `locate`) is a free, empty directory; clears a dead mount of ours away.

    Raises:
        MountPointBusy: Something living is mounted there.
        StaleMount: A dead mount of ours could not be cleared.
        MountPointMissing: There is no such directory.
        MountPointNotEmpty: The mount would hide files.
    """
    while found := mountinfo.at(mount_point):
        _clear(found)
    try:
        names = list(mount_point.iterdir())
    except FileNotFoundError:
        raise MountPointMissing(
            f"the mount point {mount_point} does not exist", remedy=f"Make it: mkdir -p {mount_point}"
        ) from None
    except NotADirectoryError:
        raise MountPointMissing(
            f"the mount point {mount_point} is not a directory", remedy="Choose an empty directory"
        ) from None
    except PermissionError:
        raise MountRefused(f"the mount point {mount_point} may not be read by this user") from None
    if os.geteuid() not in {0, mount_point.stat().st_uid} and not os.access(mount_point, os.W_OK):
        raise MountRefused(
            f"the mount point {mount_point} is not this user's to write", remedy="Mount on a directory of your own"
        )
    if names:
        raise MountPointNotEmpty(
            f"the mount point {mount_point} is not empty: the mount would hide {names[0].name!r}"
            + (f" and {len(names) - 1} more" if len(names) > 1 else ""),
            remedy="Choose an empty directory",
        )


def clear_stale(mount_point: Path) -> None:
    """Clear away what a process of ours that is gone left mounted; what is alive, or is not ours, stays.

    Raises:
        MountRefused: It could not be cleared, or it does not answer and somebody else may serve it.
    """
    point = locate(mount_point)
    while (found := mountinfo.at(point)) is not None and found.is_ours:
        if outside.look(point, LOOK_TIMEOUT_S) is Pulse.ALIVE:
            return
        _clear(found)


def _clear(found: Mount) -> None:
    point = found.mount_point
    if not found.is_ours:
        raise MountPointBusy(
            f"{found.source} ({found.kind}) is mounted at {point}", remedy="Unmount it, or choose another directory"
        )
    match outside.look(point, LOOK_TIMEOUT_S):
        case Pulse.ALIVE:
            raise MountPointBusy(
                f"memfs is already mounted at {point}", remedy=f"Unmount it first: memfs unmount {point}"
            )
        case Pulse.SILENT:
            raise MountPointBusy(
                f"memfs is mounted at {point} and its process does not answer",
                remedy=f"End that process, then say memfs unmount --lazy {point}",
            )
        case Pulse.DEAD:
            outside.clear(point, found.device)
    left = mountinfo.at(point)
    if left is not None and left.mount_id == found.mount_id:
        raise StaleMount(
            f"a mount of memfs without a process is left at {point} and could not be cleared",
            remedy=f"As root: umount --lazy {point}",
        )


def _settings(file: Path) -> list[str]:
    with suppress(OSError):
        return [line.strip() for line in file.read_text().splitlines()]
    return []
