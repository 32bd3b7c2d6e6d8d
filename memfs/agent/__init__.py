"""What an agent touches: the memory tool's six commands as file operations.

`MemoryTool` and `ToolFailure` are plain Python. `MountedMemoryTool` and `AsyncMountedMemoryTool` bring the SDK along,
and are imported only when they are asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from memfs.agent.refusal import ToolFailure
from memfs.agent.tool import MemoryTool

if TYPE_CHECKING:
    from memfs.agent.sdk import AsyncMountedMemoryTool, MountedMemoryTool

__all__ = ["AsyncMountedMemoryTool", "MemoryTool", "MountedMemoryTool", "ToolFailure"]


def __getattr__(name: str) -> object:
    """Load an adapter of the SDK on first use."""
    if name not in {"AsyncMountedMemoryTool", "MountedMemoryTool"}:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("memfs.agent.sdk"), name)
