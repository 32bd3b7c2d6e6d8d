"""What is mounted where, read from ``/proc/self/mountinfo``: a dead mount is read about, never touched.

Used by the checks before a mount, by unmounting and by `remounts`. Pure but for `read`.
"""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

SOURCE = "memfs"
"""``fsname`` and ``subtype`` of every mount of ours."""

_TABLE = Path("/proc/self/mountinfo")
_ESCAPE = re.compile(rb"\\([0-7]{3})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """One line of the table."""

    mount_id: int
    device: str
    """``0:42``: the minor number also names the connection below /sys/fs/fuse/connections."""
    mount_point: Path
    kind: str
    source: str
    root: str = "/"
    """The directory of the file system that is mounted; another one than ``/`` for a bind mount."""
    options: str = field(default="", compare=False)
    """Of this mount point, then of the file system; they may change while it lives."""
    parent_id: int = field(default=0, compare=False)
    """The mount that the mount point is a directory of."""

    @property
    def is_read_only(self) -> bool:
        """Tell whether the kernel refuses every change at this mount point."""
        return "ro" in self.options.split(" ", 1)[0].split(",")

    @property
    def is_ours(self) -> bool:
        """Tell whether memfs made it."""
        return self.kind == f"fuse.{SOURCE}" or (self.kind == "fuse" and self.source == SOURCE)


def parse(table: bytes) -> list[Mount]:
    """Return the mounts of a table; where mount points are equal, the later one lies on top."""
    return [_mount(line) for line in table.splitlines() if b" - " in line]


def read() -> list[Mount]:
    """Return what is mounted in this process's namespace."""
    return parse(_TABLE.read_bytes())


def at(mount_point: Path) -> Mount | None:
    """Return what is mounted exactly at ``mount_point`` (absolute, without symbolic links), the topmost.

    What lies below a directory that was mounted over since is there no more, though the table goes on listing it.
    """
    table = read()
    found = [mount for mount in table if mount.mount_point == mount_point and not _is_covered(mount, table)]
    return found[-1] if found else None


def inside(whole: Mount) -> list[Mount]:
    """Return the directories at a mount's root that are mounted once more over themselves, in the order of mounting."""
    return [mount for mount in read() if mount.is_ours and _is_directory_of(mount, whole)]


def _is_directory_of(mount: Mount, whole: Mount) -> bool:
    name = mount.mount_point.name
    return mount.device == whole.device and mount.mount_point == whole.mount_point / name and mount.root == f"/{name}"


def _is_covered(mount: Mount, table: list[Mount]) -> bool:
    """Tell whether a way to the mount point leads through a directory that something else is mounted on."""
    beside = [one for one in table if one.parent_id == mount.parent_id and one.mount_point != mount.mount_point]
    if any(mount.mount_point.is_relative_to(one.mount_point) for one in beside):
        return True
    parents = [one for one in table if one.mount_id == mount.parent_id != mount.mount_id]
    return any(_is_covered(one, table) for one in parents)


def _mount(line: bytes) -> Mount:
    # 36 35 0:42 / /mnt/memory rw,nosuid shared:1 - fuse.memfs memfs rw,user_id=0
    before, _, after = line.partition(b" - ")
    mount_id, parent_id, device, root, mount_point, options = before.split(b" ")[:6]
    kind, source, *whole = after.split(b" ")
    return Mount(
        mount_id=int(mount_id),
        device=device.decode(),
        mount_point=Path(os.fsdecode(_unescaped(mount_point))),
        kind=kind.decode(),
        source=os.fsdecode(_unescaped(source)),
        root=os.fsdecode(_unescaped(root)),
        options=b" ".join([options, *whole]).decode(errors="replace"),
        parent_id=int(parent_id),
    )


def _unescaped(field: bytes) -> bytes:
    """Undo the kernel's octal escapes of space, tab, newline and backslash."""
    return _ESCAPE.sub(lambda match: bytes([int(match[1], 8)]), field)
