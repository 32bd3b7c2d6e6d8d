"""How a mount is made; who owns what is in it is the file system's business (`memfs.vfs.values.Ownership`)."""

from dataclasses import dataclass
from enum import StrEnum


class OpenUpcalls(StrEnum):
    """When the kernel asks about each open."""

    AUTO = "auto"
    """Only where it cannot open by itself."""
    ALWAYS = "always"


@dataclass(frozen=True, slots=True, kw_only=True)
class MountOptions:
    """What the binding is told of a mount."""

    allow_other: bool = False
    open_upcalls: OpenUpcalls = OpenUpcalls.AUTO
