"""Where else a path can be seen: one file system may be mounted at several places, as a whole or in part. Pure.

Used by `view`, so that what is hidden at one path does not show at another.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

_ESCAPE = re.compile(rb"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Mounted:
    """One line of ``/proc/self/mountinfo``."""

    device: str
    root: str
    """The directory of the file system that is shown."""
    point: str
    """Where it is shown."""
    kind: str


def parse(table: bytes) -> list[Mounted]:
    """Return the mounts of a table, in its order: what is mounted later lies on top."""
    found = []
    for line in table.splitlines():
        before, dash, after = line.partition(b" - ")
        if dash:
            _id, _parent, device, root, point = before.split(b" ")[:5]
            found.append(Mounted(device.decode(), _text(root), _text(point), after.split(b" ")[0].decode()))
    return found


def places(path: str, table: Sequence[Mounted]) -> list[str]:
    """Return every path at which ``path`` (absolute, without links), or a part of it, is shown; itself first."""
    holders = [mount for mount in table if _is_in(path, mount.point)]
    if not holders:
        return [path]
    deepest = max(len(mount.point) for mount in holders)
    on = [mount for mount in holders if len(mount.point) == deepest][-1]
    inside = _joined(on.root, os.path.relpath(path, on.point))
    found = [path]
    for mount in table:
        if mount.device != on.device:
            continue
        if _is_in(inside, mount.root):
            found.append(_joined(mount.point, os.path.relpath(inside, mount.root)))
        elif _is_in(mount.root, inside):
            found.append(mount.point)
    return list(dict.fromkeys(found))


def _is_in(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def _joined(directory: str, rest: str) -> str:
    return directory if rest == "." else os.path.join(directory, rest)  # noqa: PTH118  (text, not files)


def _text(field: bytes) -> str:
    """Undo the kernel's octal escapes of space, tab, newline and backslash."""
    return os.fsdecode(_ESCAPE.sub(lambda match: bytes([int(match[1], 8)]), field))
