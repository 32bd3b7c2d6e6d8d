"""Who uses a mount: the processes whose directory, program or open files lie in it, and the one that serves it.

Read from /proc by link text, so a dead mount is never touched. An ordinary user sees only the own processes.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

SHOWN = 3
"""How many holders a message names."""


def holders(mount_point: Path) -> list[str]:
    """Return ``NAME (PID)`` of each process that uses the mount."""
    inside = f"{mount_point}/"
    return [
        f"{_name(process)} ({process.name})"
        for process in _processes()
        if any(link == str(mount_point) or link.startswith(inside) for link in _links(process))
    ]


def told(mount_point: Path) -> str:
    """Return a clause for a message: who holds the mount."""
    found = holders(mount_point)
    if not found:
        return "held by a program of another user, or by one that comes and goes"
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return f"held by {', '.join(found[:SHOWN])}{more}"


def server_of(mount_point: Path, lock_name: str) -> int | None:
    """Return the process that serves the mount: it holds a lock file that names the mount point."""
    inside = f"{mount_point}/"
    for process in _processes():
        for link in _links(process):
            if link.startswith(inside) or not link.endswith(f"/{lock_name}"):
                continue
            if _text(Path(link)) == f"{process.name} {mount_point}":
                return int(process.name)
    return None


def _processes() -> Iterator[Path]:
    return (process for process in Path("/proc").iterdir() if process.name.isdecimal())


def _links(process: Path) -> Iterator[str]:
    try:
        names = [process / "cwd", process / "root", process / "exe", *(process / "fd").iterdir()]
    except OSError:
        return  # It ended, or it is another user's.
    for name in names:
        with suppress(OSError):
            yield os.readlink(name)  # noqa: PTH115  (Path.readlink makes a path of "pipe:[42]")


def _name(process: Path) -> str:
    return _text(process / "comm") or "a process"


def _text(file: Path) -> str:
    try:
        return file.read_text(errors="replace").strip()
    except OSError:
        return ""
