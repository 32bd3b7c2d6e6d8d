"""`memfs tool`: one call on stdin, one result on stdout; the SDK is never loaded."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from memfs.cli.tool import tool
from memfs.core.errors import UsageError

CREATE = {"command": "create", "path": "/memories/é.md", "file_text": "é\n"}


@pytest.fixture
def app() -> typer.Typer:
    app = typer.Typer()
    app.command("tool")(tool)
    return app


def call(app: typer.Typer, root: Path, sent: str | bytes) -> Result:
    return CliRunner().invoke(app, ["--root", str(root)], input=sent)


def test_a_tool_use_block_is_answered_by_one_line_of_json(app: typer.Typer, root: Path) -> None:
    sent = {"type": "tool_use", "id": "toolu_1", "name": "memory", "input": CREATE}

    result = call(app, root, json.dumps(sent))

    assert result.exit_code == 0
    assert result.stdout.count("\n") == 1
    assert json.loads(result.stdout) == {
        "type": "tool_result",
        "tool_use_id": "toolu_1",
        "content": "File created successfully at: /memories/é.md",
    }
    assert (root / "é.md").read_text() == "é\n"


def test_a_bare_input_in_raw_utf8_is_answered_too(app: typer.Typer, root: Path) -> None:
    result = call(app, root, json.dumps(CREATE, ensure_ascii=False).encode())

    assert json.loads(result.stdout) == {
        "type": "tool_result",
        "content": "File created successfully at: /memories/é.md",
    }


def test_an_error_of_the_tool_is_a_result_and_exits_0(app: typer.Typer, root: Path) -> None:
    result = call(app, root, json.dumps({"command": "delete", "path": "/memories/a.md"}))

    assert result.exit_code == 0
    assert json.loads(result.stdout) == {
        "type": "tool_result",
        "content": "Error: The path /memories/a.md does not exist",
        "is_error": True,
    }


@pytest.mark.parametrize(
    ("sent", "where"),
    [
        ("", "line 1 column 1"),
        ("view", "line 1 column 1"),
        ('{"command": "view",\n}', "line 2 column 1"),
        (b'{"command": "\xff"}', "its bytes"),
        ("[" * 100_000, "its bytes"),
    ],
)
def test_what_is_no_json_is_a_usage_error_that_says_where(
    app: typer.Typer, root: Path, sent: str | bytes, where: str
) -> None:
    error = call(app, root, sent).exception

    assert isinstance(error, UsageError)
    assert error.exit_code == 2
    assert str(error) == f"the call on stdin is not valid JSON ({where}). Send one JSON object"


def test_json_that_is_no_object_is_a_usage_error(app: typer.Typer, root: Path) -> None:
    assert isinstance(call(app, root, "[]").exception, UsageError)


def test_a_missing_root_is_a_usage_error_before_stdin_is_read(app: typer.Typer, root: Path) -> None:
    error = call(app, root / "no", "").exception

    assert isinstance(error, UsageError)
    assert str(root / "no") in str(error)


@pytest.mark.parametrize("module", ["memfs.agent", "memfs.cli.tool", "memfs.agent.blocks", "memfs.agent.tool"])
def test_importing_the_tool_does_not_import_the_sdk(module: str) -> None:
    code = f"import sys, {module}; print(sorted({{'anthropic', 'httpx', 'pydantic'}} & set(sys.modules)))"

    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout == "[]\n"


def test_the_adapters_are_loaded_when_they_are_asked_for() -> None:
    code = (
        "import sys, memfs.agent as agent; before = 'anthropic' in sys.modules; "
        "print(before, agent.MountedMemoryTool.__name__, agent.AsyncMountedMemoryTool.__name__, hasattr(agent, 'no'))"
    )

    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout == "False MountedMemoryTool AsyncMountedMemoryTool False\n"
