"""A tool_use block, or its bare input, becomes a tool_result block."""

from pathlib import Path

import pytest

from memfs.agent.blocks import answer
from memfs.agent.tool import MemoryTool
from memfs.core.errors import UsageError


def test_a_tool_use_block_is_answered_with_its_id(tool: MemoryTool) -> None:
    sent = {"command": "create", "path": "/memories/a.md", "file_text": "x"}

    assert answer(tool, {"type": "tool_use", "id": "toolu_1", "name": "memory", "input": sent}) == {
        "type": "tool_result",
        "tool_use_id": "toolu_1",
        "content": "File created successfully at: /memories/a.md",
    }


def test_an_error_is_marked_as_one(tool: MemoryTool) -> None:
    sent = {"command": "delete", "path": "/memories/a.md"}

    assert answer(tool, {"type": "tool_use", "id": "toolu_2", "name": "memory", "input": sent}) == {
        "type": "tool_result",
        "tool_use_id": "toolu_2",
        "content": "Error: The path /memories/a.md does not exist",
        "is_error": True,
    }


def test_a_bare_input_is_answered_without_an_id(tool: MemoryTool, root: Path) -> None:
    (root / "a.md").write_bytes(b"x")

    assert answer(tool, {"command": "delete", "path": "/memories/a.md"}) == {
        "type": "tool_result",
        "content": "Successfully deleted /memories/a.md",
    }


@pytest.mark.parametrize("sent", [None, "view", [], 1])
def test_an_input_that_is_no_object_is_the_mistake_of_the_model(tool: MemoryTool, sent: object) -> None:
    result = answer(tool, {"type": "tool_use", "id": "toolu_3", "name": "memory", "input": sent})

    assert result["is_error"] is True
    assert str(result["content"]).startswith("Error: The input of the memory tool must be an object, not ")


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (None, "the tool was sent JSON that is no object"),
        ([], "the tool was sent JSON that is no object"),
        ("view", "the tool was sent JSON that is no object"),
        ({"type": "text", "text": "x"}, "the tool was sent a block that is no tool_use"),
        (
            {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {}},
            "the tool_use block is for another tool than memory",
        ),
        ({"type": "tool_use", "name": "memory", "input": {}}, "the tool_use block has no id"),
        ({"type": "tool_use", "id": 5, "name": "memory", "input": {}}, "the tool_use block has no id"),
    ],
)
def test_what_is_no_call_is_the_mistake_of_the_caller(tool: MemoryTool, block: object, message: str) -> None:
    with pytest.raises(UsageError) as error:
        answer(tool, block)

    assert message == error.value.message
