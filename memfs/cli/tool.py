"""`memfs tool`: one call of the memory tool, JSON in and JSON out, for agents in any language.

Registered by memfs.cli.app. A failed command of the model is a result (exit 0); what is no call at all is a usage
error. Needs neither mount nor network; never imports the SDK.
"""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from memfs.core.errors import UsageError


def tool(
    root: Annotated[
        Path, typer.Option("--root", metavar="DIR", help="The directory that the model sees as /memories.")
    ],
) -> None:
    """Run one memory tool call: a tool_use block (or its input) on stdin, its tool_result on stdout."""
    from memfs.agent.blocks import answer
    from memfs.agent.tool import MemoryTool

    memory = MemoryTool(root)
    # ASCII escapes: what the model gets is the same whatever the locale of this process is.
    typer.echo(json.dumps(answer(memory, _parsed(sys.stdin.buffer.read()))))


def _parsed(sent: bytes) -> object:
    try:
        parsed: object = json.loads(sent)
    except (ValueError, RecursionError) as error:
        where = f"line {error.lineno} column {error.colno}" if isinstance(error, json.JSONDecodeError) else "its bytes"
        raise UsageError(f"the call on stdin is not valid JSON ({where})", remedy="Send one JSON object") from None
    return parsed
