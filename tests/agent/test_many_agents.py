"""Many agents on one host edit one file: every edit that was answered as made is in the file."""

import fcntl
import os
from pathlib import Path

import many_agents
import pytest

from memfs.agent import MemoryTool, ToolFailure


def test_every_edit_of_many_agents_is_kept(tmp_path: Path) -> None:
    (tmp_path / "log.md").touch()

    told = many_agents.told([(tmp_path, "/memories/log.md")] * 4)

    assert len(told) == 4 * many_agents.EDITS
    assert sorted((tmp_path / "log.md").read_text().splitlines()) == told


def test_an_agent_that_never_ends_its_turn_does_not_hold_the_others_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memfs.agent.directory.TURN_S", 0.01)
    (tmp_path / "log.md").write_text("text\n")
    held = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)

    with pytest.raises(ToolFailure, match="another program keeps changing it"):
        MemoryTool(tmp_path).run(
            {"command": "insert", "path": "/memories/log.md", "insert_line": 0, "insert_text": "x\n"}
        )
    os.close(held)
    assert (tmp_path / "log.md").read_text() == "text\n"
