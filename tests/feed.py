"""Following a store's change feed over plain HTTP."""

import time
from typing import Any

import httpx

LONG_S = 30
"""Longer than any test waits for a change that comes."""


def cursor(client: httpx.Client, base: str) -> str:
    """Return the cursor of now."""
    found: str = asked(client, base)["next"]
    return found


def asked(client: httpx.Client, base: str, **query: Any) -> dict[str, Any]:
    """Return an answer of the feed of the store at ``base``."""
    answer = client.get(f"{base}/changes", params=query)
    answer.raise_for_status()
    found: dict[str, Any] = answer.json()
    return found


def waits_for(client: httpx.Client, count: int) -> None:
    """Return once as many requests wait at a server as are wanted."""
    deadline = time.monotonic() + LONG_S
    while f"memfs_waiters {count}.0" not in client.get("/metrics").text.splitlines():
        assert time.monotonic() < deadline
        time.sleep(0.01)  # a server tells nobody when somebody begins to wait


def replica(client: httpx.Client, base: str) -> dict[str, tuple[str, str]]:
    """Return path and digest of each memory by its id, as a listing shows them."""
    found: dict[str, tuple[str, str]] = {}
    page: dict[str, str] = {}
    while True:
        answer = client.get(f"{base}/memories", params={"limit": "100"} | page).raise_for_status().json()
        found |= {one["id"]: (one["path"], one["content_sha256"]) for one in answer["data"]}
        if not answer["next_page"]:
            return found
        page = {"page": answer["next_page"]}


def applied(memories: dict[str, tuple[str, str]], changes: list[dict[str, Any]]) -> None:
    """Apply changes to a replica as a follower would that knows nothing else."""
    for change in changes:
        match change["kind"]:
            case "deleted":
                memories.pop(change["memory_id"], None)
            case "created" | "modified" if change["path"] is not None:
                memories[change["memory_id"]] = (change["path"], change["content_sha256"])
