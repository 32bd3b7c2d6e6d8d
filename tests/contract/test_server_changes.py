"""The change feed over plain HTTP: what it answers, page by page, and what it refuses."""

from typing import Any

import httpx
import pytest
from feed import asked, cursor
from sqlalchemy import delete, update
from wire import INVALID, refusal

from memfs.server.serve import StoreServer
from memfs.server.store import tables

EXPIRED = (410, "change_cursor_expired")


def write(server: StoreServer, statement: Any) -> None:
    """Do to the database what only another program does."""
    with server._database.write() as connection:
        connection.execute(statement)


def test_every_answer_announces_the_feed(raw: httpx.Client, base: str) -> None:
    answers = [raw.get(base), raw.get(f"{base}x"), raw.get("/healthz"), raw.get(base, headers={"authorization": "x"})]

    assert ["1"] * 4 == [answer.headers["memfs-changes"] for answer in answers]


def test_a_change_has_exactly_these_fields(raw: httpx.Client, base: str, memories: str) -> None:
    start = cursor(raw, base)
    made = raw.post(memories, json={"path": "/a", "content": "one"}).json()
    version = raw.get(f"{base}/memory_versions/{made['memory_version_id']}").json()

    page = asked(raw, base, after=start)

    assert {"data", "next", "has_more"} == set(page)
    assert [
        {
            "type": "memory_change",
            "kind": "created",
            "memory_id": made["id"],
            "memory_version_id": made["memory_version_id"],
            "path": "/a",
            "content_sha256": made["content_sha256"],
            "content_size_bytes": 3,
            "created_at": version["created_at"],
            "created_by": version["created_by"],
        }
    ] == page["data"]


def test_pages_follow_each_other_and_say_whether_there_is_more(raw: httpx.Client, base: str, memories: str) -> None:
    after = cursor(raw, base)
    for number in range(7):
        raw.post(memories, json={"path": f"/{number}", "content": ""}).raise_for_status()
    pages = []
    for _ in range(4):
        pages.append(asked(raw, base, after=after, limit=3))
        after = pages[-1]["next"]

    shown = [[change["path"] for change in page["data"]] for page in pages]
    assert [["/0", "/1", "/2"], ["/3", "/4", "/5"], ["/6"], []] == shown
    assert [True, True, False, False] == [page["has_more"] for page in pages]


def test_a_hundred_changes_are_a_page_unless_asked(raw: httpx.Client, base: str) -> None:
    start = cursor(raw, base)
    for number in range(101):
        raw.post(base, json={"name": str(number)}).raise_for_status()

    assert (100, True) == (len((page := asked(raw, base, after=start))["data"]), page["has_more"])
    assert 101 == len(asked(raw, base, after=start, limit=1_000)["data"])


@pytest.mark.parametrize(
    "wrong", [{"limit": "1001"}, {"limit": "1.5"}, {"limit": "-1"}, {"wait": ""}, {"wait": "60.1"}]
)
def test_a_wrong_parameter_is_refused(raw: httpx.Client, base: str, wrong: dict[str, str]) -> None:
    assert INVALID == refusal(raw.get(f"{base}/changes", params=wrong))


def test_a_session_follows_its_own_stores_only(raw: httpx.Client, base: str, memories: str) -> None:
    other = f"/v1/memory_stores/{raw.post('/v1/memory_stores', json={'name': 'Other'}).json()['id']}"
    resource = {"type": "memory_store", "memory_store_id": base.rpartition("/")[2]}
    body = {"agent": "agent_a", "environment_id": "env_a", "resources": [resource]}
    session = raw.post("/v1/sessions", json=body).json()
    own = {"authorization": f"Bearer {session['sessions_token']}"}
    start = raw.get(f"{base}/changes", headers=own).json()["next"]
    raw.post(memories, json={"path": "/a", "content": ""}, headers=own).raise_for_status()

    (change,) = raw.get(f"{base}/changes", params={"after": start}, headers=own).json()["data"]

    assert ("/a", {"type": "session_actor", "session_id": session["id"]}) == (change["path"], change["created_by"])
    assert 404 == raw.get(f"{other}/changes", headers=own).status_code


def test_a_cursor_from_before_what_is_kept_has_expired(
    server: StoreServer, raw: httpx.Client, base: str, memories: str
) -> None:
    cursors = [cursor(raw, base)]
    for name in "abc":
        raw.post(memories, json={"path": f"/{name}", "content": ""}).raise_for_status()
        cursors.append(cursor(raw, base))
    store_id = base.rpartition("/")[2]
    write(server, delete(tables.changes).where(tables.changes.c.store_id == store_id, tables.changes.c.seq <= 2))
    write(server, update(tables.stores).where(tables.stores.c.id == store_id).values(feed_from=2))

    answers = [raw.get(f"{base}/changes", params={"after": after, "wait": "60"}) for after in cursors[:2]]

    assert [EXPIRED, EXPIRED] == [refusal(answer) for answer in answers]
    assert "false" == answers[0].headers["x-should-retry"]
    assert "List the store again" in answers[0].json()["error"]["message"]
    assert ["/c"] == [change["path"] for change in asked(raw, base, after=cursors[2])["data"]]


def test_a_version_that_is_pruned_leaves_a_change_without_what_it_said(
    server: StoreServer, raw: httpx.Client, base: str, memories: str
) -> None:
    start = cursor(raw, base)
    made = raw.post(memories, json={"path": "/a", "content": "one"}).json()
    raw.post(f"{memories}/{made['id']}", json={"content": "two"}).raise_for_status()
    write(server, delete(tables.versions).where(tables.versions.c.id == made["memory_version_id"]))

    first, second = asked(raw, base, after=start)["data"]

    assert ("created", made["id"], made["memory_version_id"]) == (
        first["kind"], first["memory_id"], first["memory_version_id"],
    )  # fmt: skip
    gone = ("path", "content_sha256", "content_size_bytes", "created_by")
    assert [None] * 4 == [first[name] for name in gone]
    assert "/a" == second["path"]


def test_a_database_that_came_back_from_a_backup_voids_every_cursor(
    server: StoreServer, raw: httpx.Client, base: str, memories: str
) -> None:
    start = cursor(raw, base)
    with server._database.read() as connection:
        epoch = connection.execute(tables.server.select()).scalar_one()
    try:
        write(server, update(tables.server).values(epoch="another"))
        answer = raw.get(f"{base}/changes", params={"after": start})
        fresh = cursor(raw, base)
        raw.post(memories, json={"path": "/a", "content": ""}).raise_for_status()

        assert EXPIRED == refusal(answer)
        assert ["/a"] == [change["path"] for change in asked(raw, base, after=fresh)["data"]]
    finally:
        write(server, update(tables.server).values(epoch=epoch))
