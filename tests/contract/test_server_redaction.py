"""Redaction over plain HTTP: what it clears, what it refuses, and that the bytes are gone from the database's files."""

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest
from raw_bytes import files_with
from wire import INVALID, connected, refusal, serving

from memfs.server.store import sqlite

CLEARED: dict[str, Any] = dict.fromkeys(("path", "content", "content_sha256", "content_size_bytes"))
GONE = (404, "not_found_error")


def version_path(base: str, version_id: str) -> str:
    return f"{base}/memory_versions/{version_id}"


def redact(raw: httpx.Client, base: str, version_id: str, **body: Any) -> httpx.Response:
    return raw.post(f"{version_path(base, version_id)}/redact", **body)


def history(raw: httpx.Client, base: str, **query: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = raw.get(f"{base}/memory_versions", params={"limit": "100", **query}).json()["data"]
    return found


@pytest.fixture
def first(raw: httpx.Client, base: str) -> dict[str, Any]:
    """A memory as it was made."""
    made: dict[str, Any] = raw.post(f"{base}/memories", json={"path": "/a.md", "content": "one"}).json()
    return made


def update(raw: httpx.Client, base: str, memory: dict[str, Any], content: str = "two") -> dict[str, Any]:
    answer = raw.post(f"{base}/memories/{memory['id']}", json={"content": content})
    answer.raise_for_status()
    changed: dict[str, Any] = answer.json()
    return changed


@pytest.mark.parametrize("body", [{}, {"json": {}}], ids=["an empty body", "an empty object"])
def test_a_redaction_clears_the_version_and_keeps_who_and_when(
    raw: httpx.Client, base: str, first: dict[str, Any], body: dict[str, Any]
) -> None:
    update(raw, base, first)
    before = raw.get(version_path(base, first["memory_version_id"])).json()

    answer = redact(raw, base, before["id"], **body)

    redacted = answer.json()
    assert answer.status_code == 200
    assert redacted == before | CLEARED | {
        "redacted_at": redacted["redacted_at"],
        "redacted_by": before["created_by"],
    }
    assert redacted["redacted_at"] > before["created_at"]
    assert redacted == raw.get(version_path(base, before["id"])).json()
    assert raw.get(f"{base}/memories/{first['id']}").json()["content"] == "two"


def test_a_second_redaction_changes_nothing(raw: httpx.Client, base: str, first: dict[str, Any]) -> None:
    update(raw, base, first)

    once, again = (redact(raw, base, first["memory_version_id"]) for _ in range(2))

    assert (once.status_code, again.status_code) == (200, 200)
    assert once.json() == again.json()


def test_the_head_of_a_living_memory_is_refused_until_an_update_moves_it(
    raw: httpx.Client, base: str, first: dict[str, Any]
) -> None:
    assert refusal(redact(raw, base, first["memory_version_id"])) == INVALID
    assert raw.get(version_path(base, first["memory_version_id"])).json()["content"] == "one"

    head = update(raw, base, first)["memory_version_id"]

    assert redact(raw, base, first["memory_version_id"]).status_code == 200
    assert refusal(redact(raw, base, head)) == INVALID


def test_every_version_of_a_deleted_memory_may_be_redacted(raw: httpx.Client, base: str, first: dict[str, Any]) -> None:
    update(raw, base, first)
    raw.delete(f"{base}/memories/{first['id']}").raise_for_status()

    answers = [redact(raw, base, version["id"]) for version in history(raw, base)]

    assert [answer.status_code for answer in answers] == [200] * 3
    assert [version["operation"] for version in history(raw, base)] == ["deleted", "modified", "created"]
    assert all(version["path"] is None and version["redacted_at"] for version in history(raw, base))


def test_an_archived_store_allows_it_for_what_is_no_head(raw: httpx.Client, base: str, first: dict[str, Any]) -> None:
    head = update(raw, base, first)["memory_version_id"]
    raw.post(f"{base}/archive").raise_for_status()

    assert refusal(redact(raw, base, head)) == INVALID
    assert redact(raw, base, first["memory_version_id"]).status_code == 200


def test_a_redacted_version_is_still_found_by_its_memory_and_its_author(
    raw: httpx.Client, base: str, first: dict[str, Any]
) -> None:
    head = update(raw, base, first)["memory_version_id"]
    redacted = redact(raw, base, first["memory_version_id"]).json()

    ids = [head, redacted["id"]]
    author = redacted["created_by"]["api_key_id"]
    for query in ({}, {"memory_id": first["id"]}, {"api_key_id": author}, {"view": "full"}):
        found = history(raw, base, **query)
        assert [version["id"] for version in found] == ids
        assert found[1] == redacted
    assert [version["id"] for version in history(raw, base, operation="created")] == [redacted["id"]]


def test_a_rename_does_not_share_its_bytes_with_the_version_before(
    raw: httpx.Client, base: str, first: dict[str, Any]
) -> None:
    raw.post(f"{base}/memories/{first['id']}", json={"path": "/b.md"}).raise_for_status()

    assert redact(raw, base, first["memory_version_id"]).status_code == 200
    assert raw.get(f"{base}/memories/{first['id']}").json()["content"] == "one"


@pytest.mark.parametrize("body", [b"{", b"[]", b"null", b'{"reason": "x"}'])
def test_a_body_that_says_something_is_refused_and_nothing_is_redacted(
    raw: httpx.Client, base: str, first: dict[str, Any], body: bytes
) -> None:
    update(raw, base, first)

    assert refusal(redact(raw, base, first["memory_version_id"], content=body)) == INVALID
    assert raw.get(version_path(base, first["memory_version_id"])).json()["content"] == "one"


@pytest.mark.parametrize("body", [b"", b"{"])
def test_what_is_not_there_is_told_first(raw: httpx.Client, base: str, first: dict[str, Any], body: bytes) -> None:
    other = "/v1/memory_stores/" + raw.post("/v1/memory_stores", json={"name": "Other"}).json()["id"]
    update(raw, base, first)

    assert refusal(redact(raw, base, "memver_none", content=body)) == GONE
    assert refusal(redact(raw, "/v1/memory_stores/memstore_none", "memver_none", content=body)) == GONE
    assert refusal(redact(raw, other, first["memory_version_id"], content=body)) == GONE


def test_redactions_amid_updates_never_take_what_a_memory_holds(
    raw: httpx.Client, base: str, first: dict[str, Any]
) -> None:
    done = threading.Event()

    def change() -> str:
        for number in range(40):
            head = update(raw, base, first, f"text {number}")["memory_version_id"]
        done.set()
        return str(head)

    def clear() -> set[int]:
        statuses = set()
        while not done.is_set():
            newest = history(raw, base)[0]["id"]
            statuses.add(redact(raw, base, newest).status_code)
        return statuses

    with ThreadPoolExecutor(3) as pool:
        clearing = [pool.submit(clear) for _ in range(2)]
        head = pool.submit(change).result(60)
        statuses = set().union(*(one.result(60) for one in clearing))

    assert statuses <= {200, 400}
    read = raw.get(f"{base}/memories/{first['id']}").json()
    assert (read["content"], read["memory_version_id"]) == ("text 39", head)
    assert all(version["redacted_at"] is None for version in history(raw, base) if version["id"] == head)


def test_the_bytes_and_the_path_are_in_no_file_of_the_database_afterwards(tmp_path: Path) -> None:
    """Among rows of every length, so that pages were split and freed; looked at while the server runs and after."""
    random = Random(7)
    with serving(tmp_path) as server, connected(server) as client:
        base = "/v1/memory_stores/" + client.post("/v1/memory_stores", json={"name": "n"}).json()["id"]
        for number in range(60):
            kind = "secret" if number % 2 else "kept"
            content = f"the {kind} bytes {number}. " * random.choice([1, 9, 900])
            made = client.post(
                f"{base}/memories", json={"path": f"/{random.random()}/the-{kind}-path", "content": content}
            ).json()
            if kind == "secret":
                client.delete(f"{base}/memories/{made['id']}").raise_for_status()
        secret = [version["id"] for version in history(client, base) if "secret" in version["path"]]
        assert len(secret) == 60
        assert files_with(tmp_path, "the secret bytes")
        assert files_with(tmp_path, "the-secret-path")

        for version_id in secret:
            assert redact(client, base, version_id).status_code == 200

        assert files_with(tmp_path, "the secret bytes") == []
        assert files_with(tmp_path, "the-secret-path") == []
        kept = client.get(f"{base}/memories", params={"view": "full"}).json()["data"]
        assert all(memory["content"].startswith("the kept bytes") for memory in kept)
    assert files_with(tmp_path, "the secret bytes") == []
    assert files_with(tmp_path, "the kept bytes")


@pytest.mark.expect_log("erased bytes are still in its log")
def test_a_redaction_whose_erasing_was_kept_waiting_is_finished_by_its_repetition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else's long read keeps the log: the answer says so, and the same request again ends well."""
    monkeypatch.setattr(sqlite, "_BUSY_S", 0.05)
    with serving(tmp_path) as server, connected(server) as client:
        base = "/v1/memory_stores/" + client.post("/v1/memory_stores", json={"name": "n"}).json()["id"]
        made = client.post(f"{base}/memories", json={"path": "/a", "content": "the secret bytes"}).json()
        update(client, base, made)
        with closing(sqlite3.connect(tmp_path / "memfs.db", isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM versions").fetchone()
            kept_waiting = redact(client, base, made["memory_version_id"])
            reader.execute("ROLLBACK")
        assert refusal(kept_waiting) == (529, "overloaded_error")
        assert kept_waiting.headers["retry-after"] == "1"

        assert redact(client, base, made["memory_version_id"]).status_code == 200

        assert files_with(tmp_path, "the secret bytes") == []
