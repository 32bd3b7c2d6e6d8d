"""Agents as processes of their own that edit one file at once."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

EDITS = 40
_AGENT = """
import sys
from memfs.agent import MemoryTool, ToolFailure
root, path, me, edits = sys.argv[1:]
tool = MemoryTool(root)
for number in range(int(edits)):
    try:
        tool.run({"command": "insert", "path": path, "insert_line": 0, "insert_text": f"{me} {number}\\n"})
        print(f"{me} {number}")
    except ToolFailure as failure:
        print(failure.text, file=sys.stderr)
"""


def told(agents: Sequence[tuple[Path, str]]) -> list[str]:
    """Let an agent for each (root, path) edit; return every line that one of them was told is in the file."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", _AGENT, root, path, str(number), str(EDITS)], stdout=subprocess.PIPE, text=True
        )
        for number, (root, path) in enumerate(agents)
    ]
    said = [agent.communicate(timeout=90)[0] for agent in running]
    assert [agent.returncode for agent in running] == [0] * len(running)
    return sorted(line for one in said for line in one.splitlines())
