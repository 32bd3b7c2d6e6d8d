"""Sessions: which stores an agent has, how each may be used, and the token that opens them."""

import logging
from typing import Any

import httpx
import pytest
from wire import INVALID, refusal

from memfs.api import routes

NOT_FOUND = (404, "not_found_error")
PERMISSION = (403, "permission_error")
ASKED = {"agent": "agent_01x", "environment_id": "env_01x"}


def made_store(raw: httpx.Client, name: str = "Notes", **fields: Any) -> str:
    found: str = raw.post(routes.STORES, json={"name": name, **fields}).json()["id"]
    return found


def resource(store_id: str, **fields: Any) -> dict[str, Any]:
    return {"type": "memory_store", "memory_store_id": store_id, **fields}


def made(raw: httpx.Client, *resources: dict[str, Any], **fields: Any) -> dict[str, Any]:
    answer = raw.post(routes.SESSIONS, json={**ASKED, "resources": list(resources), **fields})
    assert 200 == answer.status_code, answer.text
    found: dict[str, Any] = answer.json()
    return found


def bearer(session: dict[str, Any]) -> dict[str, str]:
    return {"authorization": f"Bearer {session['sessions_token']}"}


def session_path(session: dict[str, Any]) -> str:
    return routes.path(routes.SESSION, session_id=session["id"])


def test_a_session_shows_its_stores_as_they_were_when_it_was_made(raw: httpx.Client) -> None:
    first = made_store(raw, "Team Notes", description="what we learn")
    second = made_store(raw, "team notes!")
    third = made_store(raw, "Ω")

    session = made(
        raw,
        resource(first, access="read_only", instructions="read it first"),
        resource(second, access=None, instructions=None),
        resource(third),
        title="Round one",
        metadata={"run": "7"},
    )
    raw.post(f"{routes.STORES}/{first}", json={"name": "Renamed", "description": ""}).raise_for_status()
    token = session.pop("sessions_token")

    assert token.startswith("memfs-session-")
    assert session["id"].startswith("sesn_01")
    assert [
        {
            "type": "memory_store", "memory_store_id": first, "access": "read_only", "instructions": "read it first",
            "name": "Team Notes", "description": "what we learn", "mount_path": "/mnt/memory/team-notes",
        },
        {
            "type": "memory_store", "memory_store_id": second, "access": "read_write", "instructions": None,
            "name": "team notes!", "description": "", "mount_path": "/mnt/memory/team-notes-2",
        },
    ] == session["resources"][:2]  # fmt: skip
    assert session["resources"][2]["mount_path"] == f"/mnt/memory/{third.removeprefix('memstore_').lower()}"
    assert ("Round one", {"run": "7"}, "idle", None) == tuple(
        session[name] for name in ("title", "metadata", "status", "archived_at")
    )
    assert ("agent_01x", 1, "env_01x") == (
        session["agent"]["id"], session["agent"]["version"], session["environment_id"],
    )  # fmt: skip
    assert session == raw.get(session_path(session)).json()
    assert session["resources"] == raw.get(f"{session_path(session)}/resources").json()["data"]


def test_a_session_needs_neither_agent_nor_stores(raw: httpx.Client) -> None:
    session = raw.post(routes.SESSIONS, json={}).json()

    assert ("agent_none", "env_none", [], None, {}) == (
        session["agent"]["id"], session["environment_id"], session["resources"], session["title"], session["metadata"],
    )  # fmt: skip
    assert [] == raw.get(routes.STORES, headers=bearer(session)).json()["data"]


def test_what_a_session_writes_names_the_session(raw: httpx.Client, base: str, memories: str) -> None:
    by_key = raw.post(memories, json={"path": "/a", "content": "one"}).json()
    session = made(raw, resource(base.rpartition("/")[2]))

    raw.post(f"{memories}/{by_key['id']}", json={"content": "two"}, headers=bearer(session)).raise_for_status()
    raw.delete(f"{memories}/{by_key['id']}", headers=bearer(session)).raise_for_status()
    listed = raw.get(f"{base}/memory_versions").json()["data"]
    of_session = raw.get(f"{base}/memory_versions", params={"session_id": session["id"]}).json()["data"]
    of_another = raw.get(f"{base}/memory_versions", params={"session_id": session["id"] + "x"}).json()["data"]

    assert ["session_actor", "session_actor", "api_actor"] == [one["created_by"]["type"] for one in listed]
    assert {"type": "session_actor", "session_id": session["id"]} == listed[0]["created_by"]
    assert listed[:2] == of_session
    assert [] == of_another


@pytest.mark.parametrize("how", ["archive", "delete"])
def test_a_session_that_is_over_opens_nothing_and_what_it_wrote_stays(
    raw: httpx.Client, base: str, memories: str, how: str
) -> None:
    session = made(raw, resource(base.rpartition("/")[2]))
    other = made(raw, resource(base.rpartition("/")[2]))
    raw.post(memories, json={"path": "/a", "content": "one"}, headers=bearer(other)).raise_for_status()
    assert 200 == raw.get(base, headers=bearer(session)).status_code  # from now on the server remembers it

    if how == "archive":
        ended = raw.post(f"{session_path(session)}/archive", json={}).json()
        assert ended["archived_at"] == ended["updated_at"] is not None
        assert ended == raw.post(f"{session_path(session)}/archive").json() == raw.get(session_path(session)).json()
        assert refusal(raw.post(session_path(session), json={"title": "New"})) == INVALID
    else:
        gone = {"type": "session_deleted", "id": session["id"]}
        assert gone == raw.delete(session_path(session)).json()
        assert refusal(raw.delete(session_path(session))) == NOT_FOUND
        assert refusal(raw.get(session_path(session))) == NOT_FOUND
    raw.delete(session_path(other)).raise_for_status()

    assert 401 == raw.get(base, headers=bearer(session)).status_code
    assert 401 == raw.get(session_path(session), headers=bearer(session)).status_code
    (version,) = raw.get(f"{base}/memory_versions").json()["data"]
    assert version["created_by"]["session_id"] == other["id"]


def test_a_store_that_is_deleted_stays_in_its_session_and_answers_404(raw: httpx.Client, base: str) -> None:
    session = made(raw, resource(base.rpartition("/")[2]))
    raw.delete(base).raise_for_status()

    assert session["resources"] == raw.get(session_path(session)).json()["resources"]
    assert refusal(raw.get(f"{base}/memories", headers=bearer(session))) == NOT_FOUND
    assert refusal(raw.post(f"{base}/memories", json={"path": "/a", "content": ""}, headers=bearer(session))) == (
        NOT_FOUND
    )


def test_a_store_that_is_archived_is_read_by_its_session_and_not_written(
    raw: httpx.Client, base: str, memories: str
) -> None:
    session = made(raw, resource(base.rpartition("/")[2]))
    raw.post(f"{base}/archive").raise_for_status()

    assert 200 == raw.get(memories, headers=bearer(session)).status_code
    assert refusal(raw.post(memories, json={"path": "/a", "content": ""}, headers=bearer(session))) == INVALID


def test_a_sessions_title_and_metadata_change_and_nothing_else(raw: httpx.Client, base: str) -> None:
    session = made(raw, resource(base.rpartition("/")[2]), title="One", metadata={"a": "1", "b": "2"})
    del session["sessions_token"]
    path = session_path(session)

    changed = raw.post(path, json={"title": "Two", "metadata": {"a": None, "c": "3", "none": None}}).json()
    same = raw.post(path, json={"title": "Two", "metadata": {"c": "3"}}).json()
    untouched = raw.post(path, json={"metadata": None}).json()
    untitled = raw.post(path, json={"title": None}).json()

    assert ("Two", {"b": "2", "c": "3"}) == (changed["title"], changed["metadata"])
    assert changed["updated_at"] > session["updated_at"]
    assert changed == same == untouched
    assert (None, changed["metadata"]) == (untitled["title"], untitled["metadata"])
    for body in ({"resources": []}, {"metadata": {"k" * 65: ""}}, {"vault_ids": ["v"]}, {"agent": {"tools": []}}):
        assert refusal(raw.post(path, json=body)) == INVALID
    assert untitled == raw.get(path).json()


@pytest.mark.parametrize(
    "body",
    [
        {"type": "memory_store", "memory_store_id": "{store}"},
        {"type": "file", "file_id": "file_01"},
        {},
        None,
    ],
)
def test_nothing_is_attached_later(raw: httpx.Client, base: str, body: dict[str, str] | None) -> None:
    session = made(raw)
    store_id = base.rpartition("/")[2]
    sent = None if body is None else {name: value.replace("{store}", store_id) for name, value in body.items()}

    assert refusal(raw.post(f"{session_path(session)}/resources", json=sent)) == INVALID
    assert [] == raw.get(session_path(session)).json()["resources"]


@pytest.mark.parametrize(
    "body",
    [
        {"resources": [{"type": "file", "file_id": "file_01"}]},
        {"resources": [{"type": "github_repository", "url": "x", "authorization_token": "y"}]},
        {"resources": [{"memory_store_id": "{store}"}]},
        {"resources": [{"type": "memory_store"}]},
        {"resources": [{"type": "memory_store", "memory_store_id": None}]},
        {"resources": [{"type": "memory_store", "memory_store_id": "memstore_01unknown"}]},
        {"resources": [{"type": "memory_store", "memory_store_id": ""}]},
        {"resources": [{"type": "memory_store", "memory_store_id": "\x00é/.."}]},
        {"resources": [{"type": "memory_store", "memory_store_id": "{store}", "access": "write_only"}]},
        {"resources": [{"type": "memory_store", "memory_store_id": "{store}", "instructions": "é" * 4_097}]},
        {"resources": [{"type": "memory_store", "memory_store_id": "{store}", "instructions": "a\x00b"}]},
        {"resources": [{"type": "memory_store", "memory_store_id": "{store}", "mount_path": "/x"}]},
        {"resources": [{"type": "memory_store", "memory_store_id": "{store}"}] * 2},
        {"resources": None},
        {"resources": {}},
        {"title": "x" * 256},
        {"title": "a\nb"},
        {"title": 7},
        {"metadata": {str(number): "" for number in range(17)}},
        {"metadata": {"": "x"}},
        {"metadata": {"k": "x" * 513}},
        {"metadata": {"k": 7}},
        {"agent": ""},
        {"agent": "a\x00"},
        {"agent": "x" * 256},
        {"agent": {"type": "agent", "id": "agent_01", "version": 0}},
        {"agent": {"type": "agent_with_overrides", "id": "agent_01", "system": "be brief"}},
        {"agent": None},
        {"environment_id": "two words"},
        {"environment_id": None},
        {"initial_events": [{"type": "user.message"}]},
        {"vault_ids": ["vlt_01"]},
        {"budget": {"type": "limit", "max_list_cost": {}}},
        {"token": "memfs-session-of-my-own"},
        {"sessions_token": "memfs-session-of-my-own"},
    ],
)
def test_what_no_session_can_have_is_refused(raw: httpx.Client, base: str, body: dict[str, Any]) -> None:
    store_id = base.rpartition("/")[2]
    for one in body.get("resources") or ():
        if one.get("memory_store_id") == "{store}":
            one["memory_store_id"] = store_id

    assert refusal(raw.post(routes.SESSIONS, json={**ASKED, **body})) == INVALID
    assert [] == raw.get(routes.SESSIONS, params={"memory_store_id": store_id}).json()["data"]


def test_an_archived_store_is_not_attached(raw: httpx.Client, base: str) -> None:
    raw.post(f"{base}/archive").raise_for_status()

    answer = raw.post(routes.SESSIONS, json={"resources": [resource(base.rpartition("/")[2])]})

    assert refusal(answer) == INVALID
    assert "archived" in answer.json()["error"]["message"]


def test_eight_stores_are_attached_and_nine_or_ten_thousand_are_not(raw: httpx.Client) -> None:
    stores = [made_store(raw, "Same") for _ in range(9)]

    session = made(raw, *map(resource, stores[:8]))

    paths = [one["mount_path"] for one in session["resources"]]
    assert ["/mnt/memory/same", *(f"/mnt/memory/same-{number}" for number in range(2, 9))] == paths
    for many in (stores, [str(number) for number in range(10_000)]):
        assert refusal(raw.post(routes.SESSIONS, json={"resources": [resource(one) for one in many]})) == INVALID


def test_instructions_are_counted_in_characters(raw: httpx.Client, base: str) -> None:
    longest = "\N{GRINNING FACE}" * 4_096

    session = made(raw, resource(base.rpartition("/")[2], instructions=longest))

    assert longest == raw.get(session_path(session)).json()["resources"][0]["instructions"]


def test_fields_of_servers_with_agents_may_be_sent_empty(raw: httpx.Client) -> None:
    session = made(
        raw, agent={"type": "agent", "id": "agent_02", "version": 3}, vault_ids=[], initial_events=[], budget=None
    )

    assert ("agent_02", 3, []) == (session["agent"]["id"], session["agent"]["version"], session["vault_ids"])


def test_sessions_are_listed_by_store_agent_time_and_state(raw: httpx.Client, base: str) -> None:
    store_id = base.rpartition("/")[2]
    agent = f"agent_{store_id}"
    sessions = [made(raw, resource(store_id), agent=agent, title=str(number)) for number in range(3)]
    made(raw)
    raw.post(f"{session_path(sessions[1])}/archive").raise_for_status()

    def titles(**query: str | list[str]) -> str:
        answer = raw.get(routes.SESSIONS, params={"memory_store_id": store_id} | query)
        return "".join(one["title"] for one in answer.json()["data"])

    middle = sessions[1]["created_at"]
    assert {
        "all": "210", "live": "20", "oldest first": "012", "from": "21", "after": "2", "to": "10", "before": "0",
        "agent": "210", "its version": "210", "another version": "", "another agent": "", "deployment": "",
        "idle": "210", "running": "", "either": "210", "another store": "", "no store": "",
    } == {
        "all": titles(include_archived="true"),
        "live": titles(),
        "oldest first": titles(include_archived="true", order="asc"),
        "from": titles(include_archived="true", **{"created_at[gte]": middle}),
        "after": titles(include_archived="true", **{"created_at[gt]": middle}),
        "to": titles(include_archived="true", **{"created_at[lte]": middle}),
        "before": titles(include_archived="true", **{"created_at[lt]": middle}),
        "agent": titles(include_archived="true", agent_id=agent),
        "its version": titles(include_archived="true", agent_id=agent, agent_version="1"),
        "another version": titles(include_archived="true", agent_id=agent, agent_version="2"),
        "another agent": titles(agent_id="agent_x"),
        "deployment": titles(deployment_id="dep_01"),
        "idle": titles(include_archived="true", statuses="idle"),
        "running": titles(**{"statuses[]": "running"}),
        "either": titles(include_archived="true", **{"statuses[]": ["idle", "running"]}),
        "another store": titles(memory_store_id=made_store(raw)),
        "no store": titles(memory_store_id="\x00"),
    }  # fmt: skip
    assert not any("sessions_token" in one for one in raw.get(routes.SESSIONS).json()["data"])


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_a_listing_is_paged_without_repeating_or_leaving_out(raw: httpx.Client, base: str, order: str) -> None:
    store_id = base.rpartition("/")[2]
    ids = [made(raw, resource(store_id))["id"] for _ in range(5)]
    query = {"memory_store_id": store_id, "limit": "2", "order": order}

    found: list[str] = []
    page: str | None = ""
    while page is not None:
        answer = raw.get(routes.SESSIONS, params=query | ({"page": page} if page else {})).json()
        found += [one["id"] for one in answer["data"]]
        page = answer["next_page"]
        made(raw, title="another one")

    assert (ids if order == "asc" else ids[::-1]) == found
    cursor = raw.get(routes.SESSIONS, params=query).json()["next_page"]
    other = {**query, "order": "desc" if order == "asc" else "asc", "page": cursor}
    assert refusal(raw.get(routes.SESSIONS, params=other)) == INVALID


@pytest.mark.parametrize(
    "query",
    [
        {"limit": "0"},
        {"limit": "101"},
        {"order": "newest"},
        {"statuses[]": "asleep"},
        {"agent_version": "0"},
        {"created_at[gt]": "7"},
        {"page": "page_x"},
    ],
)
def test_a_listing_that_cannot_be_asked_for_is_refused(raw: httpx.Client, query: dict[str, str]) -> None:
    assert refusal(raw.get(routes.SESSIONS, params=query)) == INVALID


def test_a_repeated_create_takes_no_session_over(raw: httpx.Client, base: str) -> None:
    """An equal session may be another agent's, so that its token must go on."""
    body = {**ASKED, "title": "Once", "resources": [resource(base.rpartition("/")[2], access="read_only")]}

    first = raw.post(routes.SESSIONS, json=body).json()
    again = raw.post(routes.SESSIONS, json=body, headers={routes.RETRY_COUNT: "1"}).json()

    assert first["id"] != again["id"]
    assert [raw.get(base, headers=bearer(one)).status_code for one in (first, again)] == [200, 200]


def test_no_log_and_no_refusal_shows_a_token_or_what_a_session_says(
    raw: httpx.Client, base: str, caplog: pytest.LogCaptureFixture
) -> None:
    secret = "a-text-that-no-log-may-show"
    store = resource(base.rpartition("/")[2], instructions=secret)
    with caplog.at_level(logging.DEBUG):
        session = made(raw, store, title=secret)
        refused = raw.post(routes.SESSIONS, json={"resources": [{**store, "access": secret}]})
        written = raw.post(f"{base}/archive", headers=bearer(session))

    own = [record.getMessage() for record in caplog.records if record.name.startswith(("memfs", "uvicorn"))]
    assert (400, 403) == (refused.status_code, written.status_code)
    for text in (*own, refused.text, written.text):
        assert secret not in text
        assert session["sessions_token"] not in text
