"""The endpoints of stores: patches of metadata, archiving, the listing and its filters."""

import httpx
import pytest

STORES = "/v1/memory_stores"


@pytest.fixture
def fresh(raw: httpx.Client) -> list[dict[str, str]]:
    """Five new stores, oldest first."""
    return [raw.post(STORES, json={"name": f"Listed {n}"}).json() for n in range(5)]


def listed(raw: httpx.Client, **query: str) -> list[str]:
    """Return the ids of all pages of a listing."""
    found: list[str] = []
    page: dict[str, str] = {}
    while True:
        answer = raw.get(STORES, params={**query, **page}).json()
        found += [store["id"] for store in answer["data"]]
        if answer["next_page"] is None:
            return found
        page = {"page": answer["next_page"]}


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ({}, {"a": "1", "b": "2"}),
        ({"metadata": None}, {"a": "1", "b": "2"}),
        ({"metadata": {}}, {"a": "1", "b": "2"}),
        ({"metadata": {"a": "3"}}, {"a": "3", "b": "2"}),
        ({"metadata": {"a": None}}, {"b": "2"}),
        ({"metadata": {"a": None, "c": "3"}}, {"b": "2", "c": "3"}),
        ({"metadata": {"absent": None}}, {"a": "1", "b": "2"}),
        ({"metadata": {"a": ""}}, {"a": "", "b": "2"}),
    ],
)
def test_metadata_is_patched(raw: httpx.Client, patch: dict[str, object], expected: dict[str, str]) -> None:
    made = raw.post(STORES, json={"name": "n", "metadata": {"a": "1", "b": "2"}}).json()

    changed = raw.post(f"{STORES}/{made['id']}", json=patch).json()

    assert expected == changed["metadata"]
    assert (changed["updated_at"] == made["updated_at"]) == (expected == made["metadata"])


def test_the_limit_of_metadata_is_one_of_the_result(raw: httpx.Client) -> None:
    made = raw.post(STORES, json={"name": "n", "metadata": {f"k{n}": "" for n in range(16)}}).json()

    assert raw.post(f"{STORES}/{made['id']}", json={"metadata": {"new": ""}}).status_code == 400
    assert raw.post(f"{STORES}/{made['id']}", json={"metadata": {"new": "", "k0": None}}).status_code == 200


def test_null_leaves_a_field_and_empty_clears_the_description(raw: httpx.Client) -> None:
    made = raw.post(STORES, json={"name": "n", "description": "d"}).json()
    one = f"{STORES}/{made['id']}"

    assert raw.post(one, json={"name": None, "description": None}).json() == made
    assert raw.post(one, json={"description": ""}).json()["description"] == ""
    assert raw.post(one, json={"name": "  spaces stay  "}).json()["name"] == "  spaces stay  "


def test_only_the_stores_own_changes_move_updated_at(raw: httpx.Client, base: str, memories: str) -> None:
    before = raw.get(base).json()
    raw.post(memories, json={"path": "/a", "content": ""})
    after = raw.get(base).json()
    archived = raw.post(f"{base}/archive").json()

    assert before == after
    assert archived["archived_at"] == archived["updated_at"] > after["updated_at"]
    assert raw.get(base).json() == archived


def test_stores_are_listed_newest_first_across_pages(raw: httpx.Client, fresh: list[dict[str, str]]) -> None:
    since = {"created_at[gte]": fresh[0]["created_at"]}
    expected = [store["id"] for store in reversed(fresh)]

    assert expected == listed(raw, limit="2", **since)
    assert expected == listed(raw, **since)


def test_the_window_of_stores_is_inclusive_in_any_offset(raw: httpx.Client, fresh: list[dict[str, str]]) -> None:
    first = fresh[1]["created_at"]
    last = fresh[3]["created_at"]
    expected = [store["id"] for store in reversed(fresh[1:4])]

    assert expected == listed(raw, **{"created_at[gte]": first, "created_at[lte]": last})
    naive = {"created_at[gte]": first.rstrip("Z"), "created_at[lte]": last.replace("Z", "+00:00")}
    assert expected == listed(raw, **naive)


def test_archived_stores_are_listed_when_asked_for(raw: httpx.Client, fresh: list[dict[str, str]]) -> None:
    raw.post(f"{STORES}/{fresh[2]['id']}/archive")
    since = {"created_at[gte]": fresh[0]["created_at"], "limit": "2"}
    ids = [store["id"] for store in reversed(fresh)]

    assert listed(raw, **since) == [one for one in ids if one != fresh[2]["id"]]
    assert listed(raw, include_archived="true", **since) == ids


def test_health_needs_no_key(server_url: str) -> None:
    answer = httpx.get(f"{server_url}/healthz")

    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
