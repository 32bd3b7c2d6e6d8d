"""The memory tool for the SDK's tool runner, sync and async. The only importer of `anthropic`.

Used as `tools=[MountedMemoryTool("/mnt/memory")]`; `memfs.agent` loads it on first use, because importing
`anthropic` costs seconds. The input is checked before the SDK makes a model of it, so that a bad one is a clear text;
then each command goes through the method of its name, which a subclass may override. The async tool works in a thread.
"""

import os
from typing import cast

from anthropic.lib.tools import (
    BetaAbstractMemoryTool,
    BetaAsyncAbstractMemoryTool,
    BetaFunctionToolResultType,
    ToolError,
)
from anthropic.types.beta import (
    BetaCacheControlEphemeralParam,
    BetaMemoryTool20250818Command,
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)
from anyio.to_thread import run_sync
from typing_extensions import override

from memfs.agent.commands import command_of
from memfs.agent.refusal import ToolFailure
from memfs.agent.tool import MemoryTool


class MountedMemoryTool(BetaAbstractMemoryTool):
    """The memory tool over a directory, for `client.beta.messages.tool_runner`.

    Args:
        root: What the model sees as `/memories`; it must exist.
        overwrite_on_create: As `MemoryTool`.
        cache_control: As the SDK's own tool.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        overwrite_on_create: bool = False,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._tool = MemoryTool(root, overwrite_on_create=overwrite_on_create)

    @override
    def call(self, input: object) -> BetaFunctionToolResultType:
        """Run a command that a model sent."""
        _check(input)
        return super().call(input)

    @override
    def view(self, command: BetaMemoryTool20250818ViewCommand) -> BetaFunctionToolResultType:
        """Show a file or list a directory."""
        return _run(self._tool, command)

    @override
    def create(self, command: BetaMemoryTool20250818CreateCommand) -> BetaFunctionToolResultType:
        """Make a file."""
        return _run(self._tool, command)

    @override
    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> BetaFunctionToolResultType:
        """Replace a text that occurs once."""
        return _run(self._tool, command)

    @override
    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> BetaFunctionToolResultType:
        """Insert text after a line."""
        return _run(self._tool, command)

    @override
    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> BetaFunctionToolResultType:
        """Delete a file or a directory."""
        return _run(self._tool, command)

    @override
    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> BetaFunctionToolResultType:
        """Rename a file or a directory."""
        return _run(self._tool, command)


class AsyncMountedMemoryTool(BetaAsyncAbstractMemoryTool):
    """`MountedMemoryTool` for the async client."""

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        overwrite_on_create: bool = False,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._tool = MemoryTool(root, overwrite_on_create=overwrite_on_create)

    @override
    async def call(self, input: object) -> BetaFunctionToolResultType:
        """Run a command that a model sent."""
        _check(input)
        return await super().call(input)

    @override
    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> BetaFunctionToolResultType:
        """Show a file or list a directory."""
        return await run_sync(_run, self._tool, command)

    @override
    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> BetaFunctionToolResultType:
        """Make a file."""
        return await run_sync(_run, self._tool, command)

    @override
    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> BetaFunctionToolResultType:
        """Replace a text that occurs once."""
        return await run_sync(_run, self._tool, command)

    @override
    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> BetaFunctionToolResultType:
        """Insert text after a line."""
        return await run_sync(_run, self._tool, command)

    @override
    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> BetaFunctionToolResultType:
        """Delete a file or a directory."""
        return await run_sync(_run, self._tool, command)

    @override
    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> BetaFunctionToolResultType:
        """Rename a file or a directory."""
        return await run_sync(_run, self._tool, command)


def _check(sent: object) -> None:
    try:
        command_of(sent)
    except ToolFailure as failure:
        raise ToolError(failure.text) from failure


def _run(tool: MemoryTool, command: BetaMemoryTool20250818Command) -> BetaFunctionToolResultType:
    try:
        content = tool.run(command.to_dict())
    except ToolFailure as failure:
        raise ToolError(failure.text) from failure
    return cast("BetaFunctionToolResultType", content)
