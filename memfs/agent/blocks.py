"""Content blocks: a `tool_use` block in, a `tool_result` block out, both as plain JSON values.

Used by the command `memfs tool` and by loops without the SDK. What is wrong with the model's input is an answer; what
is wrong with the block around it is the caller's mistake and raised. Pure but for the tool it runs.
"""

from memfs.agent.refusal import ToolFailure
from memfs.agent.tool import MemoryTool
from memfs.core.errors import UsageError

_SHAPE = 'Send {"type": "tool_use", "id": "…", "name": "memory", "input": {…}}, or its input alone'


def answer(tool: MemoryTool, block: object) -> dict[str, object]:
    """Run one `tool_use` block, or its bare input, and return the `tool_result` block for it.

    A bare input has no id, and so has its result. ``is_error`` is there, and true, for errors only.

    Raises:
        UsageError: The block is neither.
    """
    if not isinstance(block, dict):
        raise UsageError("the tool was sent JSON that is no object", remedy=_SHAPE)
    if "type" not in block:
        return {"type": "tool_result", **_outcome(tool, block)}
    return {"type": "tool_result", "tool_use_id": _checked_id(block), **_outcome(tool, block.get("input"))}


def _checked_id(block: dict[str, object]) -> str:
    if block["type"] != "tool_use":
        raise UsageError("the tool was sent a block that is no tool_use", remedy=_SHAPE)
    if block.get("name") != "memory":
        raise UsageError("the tool_use block is for another tool than memory", remedy=_SHAPE)
    use_id = block.get("id")
    if not isinstance(use_id, str) or not use_id:
        raise UsageError("the tool_use block has no id", remedy=_SHAPE)
    return use_id


def _outcome(tool: MemoryTool, sent: object) -> dict[str, object]:
    try:
        return {"content": tool.run(sent)}
    except ToolFailure as failure:
        return {"content": failure.text, "is_error": True}
