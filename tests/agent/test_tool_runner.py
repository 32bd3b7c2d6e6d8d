"""The adapters, driven by the SDK's own tool runner against a model that follows a script."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anthropic
import pytest
from anthropic.lib.tools import ToolError

from memfs.agent import AsyncMountedMemoryTool, MountedMemoryTool

Run = Callable[..., str]

HEADER = (
    "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n"
)
SIX_COMMANDS = [
    ({"command": "view", "path": "/memories"}, HEADER + "0.5K\t/memories"),
    (
        {"command": "create", "path": "/memories/todo.md", "file_text": "- one\n- two\n"},
        "File created successfully at: /memories/todo.md",
    ),
    (
        {"command": "str_replace", "path": "/memories/todo.md", "old_str": "one", "new_str": "1"},
        "The memory file has been edited.\n     1\t- 1\n     2\t- two",
    ),
    (
        {"command": "insert", "path": "/memories/todo.md", "insert_line": 2, "insert_text": "- three\n"},
        "The file /memories/todo.md has been edited.",
    ),
    (
        {"command": "view", "path": "/memories/todo.md"},
        ("Here's the content of /memories/todo.md with line numbers:\n     1\t- 1\n     2\t- two\n     3\t- three"),
    ),
    (
        {"command": "rename", "old_path": "/memories/todo.md", "new_path": "/memories/work/todo.md"},
        "Successfully renamed /memories/todo.md to /memories/work/todo.md",
    ),
    ({"command": "delete", "path": "/memories/work"}, "Successfully deleted /memories/work"),
]
ERRORS = [
    (
        {"command": "view", "path": "/memories/no.md"},
        "The path /memories/no.md does not exist. Please provide a valid path.",
    ),
    ({"command": "delete", "path": "/memories"}, "Error: Cannot delete the /memories directory itself"),
    (
        {"command": "view", "path": "/memories/../secret.md"},
        "Error: The path /memories/../secret.md cannot be used: the path '/memories/../secret.md' has the segment ..",
    ),
    (
        {"command": "undo"},
        "Error: Unknown command `undo`. The commands are: view, create, str_replace, insert, delete, rename",
    ),
    ({"command": "create", "path": "/memories/a"}, "Error: The command `create` needs the parameter `file_text`"),
    (
        {"command": "insert", "path": "/memories/a", "insert_line": "x", "insert_text": "y"},
        "Error: The parameter `insert_line` of `insert` must be an integer, not a string",
    ),
    (
        {"command": "view", "path": "/memories", "view_range": [1]},
        "Error: Invalid `view_range` parameter. It should be two integers: [start_line, end_line]",
    ),
    (
        {},
        (
            "Error: The parameter `command` is missing. "
            "The commands are: view, create, str_replace, insert, delete, rename"
        ),
    ),
]


@pytest.fixture(params=["sync", "async"])
def run(request: pytest.FixtureRequest, model: Any, root: Path) -> Run:
    """Return a function that runs the script to its end and returns the model's last words."""
    asked = {
        "model": "claude-opus-5-5",
        "max_tokens": 1024,
        "messages": [{"role": "user", "content": "Remember."}],
    }
    reached = {"base_url": model.base_url, "api_key": "scripted", "max_retries": 0}

    def run_sync(**options: Any) -> str:
        with anthropic.Anthropic(**reached) as client:
            runner = client.beta.messages.tool_runner(tools=[MountedMemoryTool(root, **options)], **asked)
            return str(runner.until_done().content[0].text)

    async def conversation(**options: Any) -> str:
        async with anthropic.AsyncAnthropic(**reached) as client:
            runner = client.beta.messages.tool_runner(tools=[AsyncMountedMemoryTool(root, **options)], **asked)
            return str((await runner.until_done()).content[0].text)

    return run_sync if request.param == "sync" else lambda **options: asyncio.run(conversation(**options))


def test_all_six_commands_run_through_the_tool_runner(run: Run, model: Any, root: Path) -> None:
    model.script = [[sent] for sent, _ in SIX_COMMANDS]

    assert run() == "done"

    assert model.results == [
        {"type": "tool_result", "tool_use_id": f"toolu_{turn}_0", "content": content}
        for turn, (_, content) in enumerate(SIX_COMMANDS)
    ]
    assert list(root.iterdir()) == []


def test_the_tool_is_announced_by_its_type_and_name_alone(run: Run, model: Any) -> None:
    run()

    assert model.requests[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]


def test_a_cache_mark_is_passed_on(run: Run, model: Any) -> None:
    run(cache_control={"type": "ephemeral"})

    assert model.requests[0]["tools"] == [
        {"type": "memory_20250818", "name": "memory", "cache_control": {"type": "ephemeral"}}
    ]


def test_errors_reach_the_model_as_text_and_are_marked(run: Run, model: Any) -> None:
    model.script = [[sent for sent, _ in ERRORS]]

    assert run() == "done"

    assert model.results == [
        {"type": "tool_result", "tool_use_id": f"toolu_0_{number}", "content": content, "is_error": True}
        for number, (_, content) in enumerate(ERRORS)
    ]


def test_an_edit_without_new_str_deletes_the_text(run: Run, model: Any, root: Path) -> None:
    (root / "a.md").write_bytes(b"keep drop\r\n")
    model.script = [[{"command": "str_replace", "path": "/memories/a.md", "old_str": " drop"}]]

    run()

    assert (root / "a.md").read_bytes() == b"keep\r\n"
    assert "is_error" not in model.results[0]


def test_an_image_reaches_the_model_as_an_image(run: Run, model: Any, root: Path) -> None:
    (root / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    model.script = [[{"command": "view", "path": "/memories/a.png"}]]

    run()

    assert model.results[0]["content"] == [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    ]


def test_create_overwrites_where_the_adapter_was_told_to(run: Run, model: Any, root: Path) -> None:
    (root / "a.md").write_bytes(b"old")
    model.script = [[{"command": "create", "path": "/memories/a.md", "file_text": "new"}]]

    run(overwrite_on_create=True)

    assert (root / "a.md").read_bytes() == b"new"


def test_a_second_conversation_remembers_the_first(run: Run, model: Any) -> None:
    model.script = [[{"command": "create", "path": "/memories/a.md", "file_text": "acme: email\n"}]]
    run()
    model.requests.clear()
    model.script = [[{"command": "view", "path": "/memories/a.md"}]]
    run()

    assert model.results[0]["content"] == (
        "Here's the content of /memories/a.md with line numbers:\n     1\tacme: email"
    )


def test_a_subclass_may_override_a_command(root: Path) -> None:
    class Counting(MountedMemoryTool):
        views = 0

        def view(self, command: Any) -> Any:
            self.views += 1
            return super().view(command)

    tool = Counting(root)
    tool.call({"command": "view", "path": "/memories"})

    assert tool.views == 1


def test_a_failure_is_a_tool_error_of_the_sdk(root: Path) -> None:
    with pytest.raises(ToolError) as error:
        MountedMemoryTool(root).call({"command": "delete", "path": "/memories/a.md"})

    assert error.value.content == "Error: The path /memories/a.md does not exist"
