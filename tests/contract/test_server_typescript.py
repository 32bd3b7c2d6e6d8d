"""The TypeScript SDK as the client of the server: one script of Node.js does each thing once, and says what it saw."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

NODE = Path(sys.executable).parent / "node"
PLACE = Path(__file__).parents[1] / "typescript"


def ran(script: str, server_url: str, api_key: str) -> dict[str, Any]:
    """Run a script and return what it printed."""
    assert (PLACE / "node_modules").is_dir(), "the TypeScript SDK is missing; run: .ci/test-tools"
    done = subprocess.run(
        [NODE, script],
        cwd=PLACE,
        env={"MEMFS_URL": server_url, "MEMFS_KEY": api_key},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def seen(server_url: str, api_key: str) -> dict[str, Any]:
    return ran("contract.mjs", server_url, api_key)


def test_a_store_is_made_changed_archived_and_deleted(seen: dict[str, Any]) -> None:
    store, changed, archived = seen["store"], seen["changed"], seen["archived"]

    assert (store["name"], store["description"], store["metadata"]) == (
        "From Node.js",
        "é\u2028",
        {"kept": "1", "gone": "2"},
    )
    assert (changed["name"], changed["metadata"], changed["archived_at"]) == ("Renamed", {"kept": "1"}, None)
    assert archived["archived_at"] == archived["updated_at"]
    assert seen["gone"] == {"type": "memory_store_deleted", "id": store["id"]}
    assert seen["requestId"].startswith("req_01")


def test_a_memory_keeps_its_bytes_its_id_and_its_history(seen: dict[str, Any]) -> None:
    made, edited, moved, read = (seen[name] for name in ("made", "edited", "moved", "read"))

    assert made["content"] == "één\r\n\x00\u2028"
    assert made["content_sha256"] == hashlib.sha256(made["content"].encode()).hexdigest()
    assert {one["id"] for one in (made, edited, moved, read)} == {made["id"]}
    assert (read["path"], read["content"], edited["content"]) == ("/notes/b.md", "two", None)
    assert seen["deleted"] == {"type": "memory_deleted", "id": made["id"]}
    assert [one["operation"] for one in seen["history"]] == ["deleted", "modified", "modified", "created"]
    assert [one["path"] for one in seen["history"]] == ["/notes/b.md", "/notes/b.md", "/notes/a.md", "/notes/a.md"]


def test_a_redacted_version_is_empty_and_the_others_are_not(seen: dict[str, Any]) -> None:
    redacted = seen["redacted"]

    assert redacted == seen["first"]
    assert [redacted[name] for name in ("path", "content", "content_sha256", "content_size_bytes")] == [None] * 4
    assert redacted["redacted_by"] == redacted["created_by"]
    assert seen["second"]["content"] == "two"


def test_a_session_has_its_store_and_its_token_writes_as_the_session(seen: dict[str, Any]) -> None:
    sessions = seen["sessions"]
    made, (resource,) = sessions["made"], sessions["made"]["resources"]

    assert (resource["memory_store_id"], resource["access"], resource["instructions"], resource["mount_path"]) == (
        seen["store"]["id"],
        "read_write",
        "read it first",
        "/mnt/memory/renamed",
    )
    assert sessions["read"] == {name: value for name, value in made.items() if name != "sessions_token"}
    assert sessions["listed"] == [made["id"]]
    assert sessions["author"] == {"type": "session_actor", "session_id": made["id"]}
    assert sessions["archived"]["archived_at"] == sessions["archived"]["updated_at"]
    assert sessions["deleted"] == {"type": "session_deleted", "id": made["id"]}


def test_its_paging_helpers_walk_every_page(seen: dict[str, Any]) -> None:
    listed = seen["listed"]

    assert listed["paths"] == sorted([f"/many/{n % 2}/{n}" for n in range(25)] + ["/notes/b.md"])
    assert sorted(listed["contents"], key=int) == [str(n) for n in range(1, 25, 2)]
    assert listed["level"] == [["memory_prefix", "/many/"], ["memory_prefix", "/notes/"]]
    assert listed["stores"] is True


@pytest.mark.parametrize(
    ("name", "kind", "status", "error_type"),
    [
        ("stale", "ConflictError", 409, "memory_precondition_failed_error"),
        ("taken", "ConflictError", 409, "memory_path_conflict_error"),
        ("below", "ConflictError", 409, "memory_path_conflict_error"),
        ("staleDelete", "ConflictError", 409, "memory_precondition_failed_error"),
        ("wrongPath", "BadRequestError", 400, "invalid_request_error"),
        ("unknown", "NotFoundError", 404, "not_found_error"),
        ("head", "BadRequestError", 400, "invalid_request_error"),
        ("bothBetas", "BadRequestError", 400, "invalid_request_error"),
        ("wrongKey", "AuthenticationError", 401, "authentication_error"),
        ("byToken", "PermissionDeniedError", 403, "permission_error"),
        ("archived", "BadRequestError", 400, "invalid_request_error"),
        ("goneStore", "NotFoundError", 404, "not_found_error"),
    ],
)
def test_each_refusal_is_its_class_and_one_request(
    seen: dict[str, Any], name: str, kind: str, status: int, error_type: str
) -> None:
    refused = seen["refusals"][name]
    in_the_way = ["/notes/b.md", seen["made"]["id"]] if name in {"taken", "below"} else [None, None]

    assert (refused["kind"], refused["status"], refused["type"]) == (kind, status, error_type)
    assert (refused["requests"], refused["sameRequestId"]) == (1, True)
    assert refused["conflicting"] == in_the_way
