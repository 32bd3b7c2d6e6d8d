"""What tests leave behind, read from the kernel's tables."""

import re
from pathlib import Path


def mounts_below(directory: Path, mountinfo: str) -> list[str]:
    """Return the mount points below ``directory``, outermost first; a dead mount is only read about, never touched."""
    mount_points = [_unescaped(line.split(" ")[4]) for line in mountinfo.splitlines()]
    return [point for point in mount_points if point.startswith(f"{directory}/")]


def _unescaped(field: str) -> str:
    """Undo the kernel's octal escapes of space, tab, newline and backslash."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), field)
