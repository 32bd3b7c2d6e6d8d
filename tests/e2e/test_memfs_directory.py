"""``.memfs/`` while everything runs: what an agent reads there is so."""

import hashlib
import json
import sqlite3
from pathlib import Path
from typing import Any

from commands import Memfs
from running_up import Up, eventually, running_up


def told(up: Up, path: str) -> Any:
    return json.loads((up.mount / ".memfs" / path).read_text())


def test_what_becomes_of_a_memory_is_read_beside_it(tmp_path: Path) -> None:
    memfs = Memfs.at_home(tmp_path)
    words = ("--serve", "--listen", "127.0.0.1:0", "--data", tmp_path / "data", "--store", "Team Notes")
    info = "info/team-notes/acme.md"

    with running_up(memfs, tmp_path, *words) as up:
        memory = up.mount / "team-notes/acme.md"
        memory.write_text("prefers e-mail\n")
        assert told(up, info)["state"] in {"pending", "synced"}
        eventually(lambda: told(up, info)["state"] == "synced")
        first = told(up, info)
        memory.write_text("prefers the telephone\n")
        eventually(lambda: told(up, info)["version"] != first["version"] and told(up, info)["state"] == "synced")
        second = told(up, info)
        eventually(lambda: told(up, "status.json")["stores"][0]["state"] == "synced")
        status = told(up, "status.json")["stores"][0]

        (up.mount / "team-notes/other.md").write_text("text")
        eventually(lambda: told(up, "status.json")["stores"][0]["memories"] == 2)
        memory.unlink()
        eventually(lambda: told(up, "status.json")["stores"][0]["memories"] == 1)
        readme = (up.mount / ".memfs/README.md").read_text()
        everything = "".join(one.read_text() for one in (up.mount / ".memfs").rglob("*") if one.is_file())
        key = key_of(tmp_path)
        code = up.stop()

    assert code == 0
    assert (first["id"], "/acme.md") == (second["id"], second["path"])
    assert hashlib.sha256(b"prefers the telephone\n").hexdigest() == second["sha256"]
    assert len("prefers the telephone\n") == second["size"]
    assert second["updated_at"].startswith("20")
    facts = ("slug", "name", "access", "memories", "pending", "conflicts", "error")
    assert ("team-notes", "Team Notes", "read_write", 1, 0, 0, None) == tuple(status[fact] for fact in facts)
    assert status["last_sync_at"]
    assert f"Path: {up.mount}/team-notes" in readme
    assert key not in everything
    assert not list((tmp_path / "state").rglob(".memfs"))
    assert [] == paths_on_the_server(tmp_path / "data", ".memfs")


def key_of(home: Path) -> str:
    [file] = [one for one in home.rglob("api-key") if one.is_file()]
    return file.read_text().strip()


def paths_on_the_server(data: Path, part: str) -> list[str]:
    [database] = data.glob("*.db")
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        return [path for (path,) in connection.execute("SELECT path FROM memories") if part in path]
    finally:
        connection.close()
