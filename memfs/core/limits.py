"""The figures a store is bound by; the server checks them on the wire, the mount at the system call.

Source of the defaults: section 6 of the Memory Stores API as the vendor documents it. A segment's 255 bytes are the
local file system's limit: the wire allows more, no directory entry does.
"""

from dataclasses import dataclass

STORES_PER_ATTACHMENT = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one store and one memory may hold."""

    memory_bytes: int = 102_400
    memories: int = 10_000
    path_bytes: int = 1_024
    segments: int = 20
    segment_bytes: int = 255
