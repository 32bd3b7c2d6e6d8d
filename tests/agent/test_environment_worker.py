"""The SDK's environment worker beside memfs, as docs/AGENTS.md says to run it."""

import base64
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import anthropic
import pytest
from anthropic.lib.environments import EnvironmentWorker
from anthropic.lib.tools import ToolError
from anthropic.lib.tools.agent_toolset import AgentToolContext, beta_agent_toolset_20260401

PAGE = Path(__file__).parents[2] / "docs/AGENTS.md"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def mount(tmp_path: Path) -> Path:
    """A directory outside the working directory, as a mount is."""
    store = tmp_path / "memory" / "notes"
    store.mkdir(parents=True)
    (store / "acme.md").write_text("prefers e-mail\n")
    (tmp_path / "work").mkdir()
    return store.parent


@pytest.fixture
def documented(mount: Path) -> dict[str, Any]:
    """The names that the page's Python defines."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    found: dict[str, Any] = {"__name__": "documented"}
    exec(code.replace('"/mnt/memory"', repr(str(mount))), found)
    return found


async def read(tools: list[Any], path: Path) -> str:
    (tool,) = (one for one in tools if one.name == "read")
    return str(await tool.call({"file_path": str(path)}))


@pytest.mark.anyio
async def test_its_file_tools_reach_the_mount_by_the_documented_factory_alone(
    documented: dict[str, Any], mount: Path, tmp_path: Path
) -> None:
    work = tmp_path / "work"

    text = await read(documented["tools"](AgentToolContext(workdir=work)), mount / "notes" / "acme.md")

    assert "prefers e-mail" in text
    with pytest.raises(ToolError):
        await read(beta_agent_toolset_20260401(AgentToolContext(workdir=work)), mount / "notes" / "acme.md")


def test_its_own_memory_sync_can_be_switched_off(documented: dict[str, Any]) -> None:
    client = anthropic.AsyncAnthropic(api_key="none")

    worker = EnvironmentWorker(client, tools=documented["tools"], memory_sync_interval=None)

    assert worker._memory_sync_interval is None
    with pytest.raises(ValueError, match="5"):
        EnvironmentWorker(client, memory_sync_interval=0)
    assert "memory_sync_interval=None" in PAGE.read_text()


def test_the_documented_line_finds_the_token_in_a_work_items_secret() -> None:
    (line,) = re.findall(r"python3 -c '(.*?)'\)", PAGE.read_text(), re.DOTALL)
    secret = base64.urlsafe_b64encode(json.dumps({"sessions_token": "t-1"}).encode()).decode().rstrip("=")

    environ = {"ANTHROPIC_WORK_SECRET": secret}
    done = subprocess.run([sys.executable, "-c", line], env=environ, capture_output=True, text=True, check=True)

    assert "t-1\n" == done.stdout
