"""Cursors that the server never gave out: refused, or at the most an odd place in the caller's own listing."""

import base64
import json
from typing import Any

import httpx
import pytest
from wire import INVALID, refusal

LISTINGS = ("stores", "memories", "level", "versions", "history", "sessions", "oldest")
OF_A_STORE = ("memories", "level", "versions", "history")
KEYS: list[list[object]] = [
    [],
    [None],
    [""],
    ["\0"],
    ["/a\0b"],
    ["\ud800"],
    ["/\udfff"],
    ["x" * 20_000],
    [1],
    [True],
    [[]],
    [{}],
    [1, ""],
    [1, "\0"],
    [1, "\ud800"],
    [1, None],
    [1, 1],
    [1, "a", "b"],
    ["1", "a"],
    [True, "a"],
    [False, ""],
    [None, None],
    [0.5, "a"],
    [1e308, "a"],
    [float("nan"), "a"],
    [2**63 - 1, "a"],
    [2**63, "a"],
    [-(2**63), "a"],
    [-(2**63) + 1, "a"],
    [10**400, "a"],
    [-1, "memver_" + "1" * 5_000],
    [1, "\U0001f4a5"],
]


@pytest.fixture
def listings(raw: httpx.Client, base: str, memories: str) -> dict[str, tuple[str, dict[str, str]]]:
    """Each listing with more than a page of one item."""
    made = [raw.post(memories, json={"path": f"/{name}/x", "content": ""}).json()["id"] for name in "abc"]
    raw.post(f"{memories}/{made[0]}", json={"content": "more"})
    raw.post("/v1/memory_stores", json={"name": "another"})
    for _ in range(2):
        raw.post("/v1/sessions", json={"agent": "agent_a", "environment_id": "env_a"}).raise_for_status()
    return {
        "stores": ("/v1/memory_stores", {}),
        "memories": (memories, {}),
        "level": (memories, {"depth": "1"}),
        "versions": (f"{base}/memory_versions", {}),
        "history": (f"{base}/memory_versions", {"memory_id": made[0]}),
        "sessions": ("/v1/sessions", {}),
        "oldest": ("/v1/sessions", {"order": "asc"}),
    }


def real_cursor(raw: httpx.Client, listing: tuple[str, dict[str, str]]) -> str:
    url, query = listing
    cursor: str = raw.get(url, params=query | {"limit": "1"}).json()["next_page"]
    return cursor


def opened(cursor: str) -> list[Any]:
    packed = cursor.removeprefix("page_")
    found: list[Any] = json.loads(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)))
    return found


def packed(value: object) -> str:
    return "page_" + base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


@pytest.mark.parametrize("name", LISTINGS)
def test_a_cursor_that_is_none_is_refused(
    raw: httpx.Client, listings: dict[str, tuple[str, dict[str, str]]], name: str
) -> None:
    url, query = listings[name]
    real = real_cursor(raw, listings[name])
    body = real.removeprefix("page_")
    others = [real_cursor(raw, listings[other]) for other in LISTINGS if other != name]
    forged = [
        "", "page_", "page", "null", "0", "\0", "page_\0", "\ud7ff", "page_" + "A" * 40_000, "page_%00", "page_{}",
        body, "Page_" + body, real[:-4], real + "AAAA", real + "\0", real.upper(), real + "\n", f" {real}",
        real.replace("page_", "page_-", 1), "page_" + base64.urlsafe_b64encode(b"\xff\xfe").decode(),
        packed({}), packed([]), packed("x"), packed(None), packed([None]), packed([[[]]]), packed(opened(real)[1:]),
        packed(["0" * 12, *opened(real)[1:]]), packed([*opened(real), "more"]), packed(opened(real)[:1]),
        "page_" + base64.urlsafe_b64encode(b"[" * 20_000).decode(),
        "page_" + base64.urlsafe_b64encode(b"[" + b"9" * 20_000 + b"]").decode(),
        *others,
    ]  # fmt: skip

    taken = [cursor for cursor in forged if raw.get(url, params=query | {"page": cursor}).status_code != 400]

    assert taken == []
    assert {refusal(raw.get(url, params=query | {"page": cursor})) for cursor in forged} == {INVALID}
    assert raw.get(url, params=query | {"page": real}).status_code == 200


@pytest.mark.parametrize("name", LISTINGS)
def test_a_cursor_with_the_right_mark_and_a_made_up_key_shows_nothing_else(
    raw: httpx.Client, listings: dict[str, tuple[str, dict[str, str]]], name: str
) -> None:
    """The mark of a listing is no secret: whoever knows its store and filters can make a cursor of it."""
    url, query = listings[name]
    mark = opened(real_cursor(raw, listings[name]))[0]
    whole = raw.get(url, params=query | {"limit": "100"}).json()["data"]

    for key in KEYS:
        answer = raw.get(url, params=query | {"page": packed([mark, *key]), "limit": "100"})
        if answer.status_code != 200:
            assert refusal(answer) == INVALID, key
        else:
            assert [item for item in answer.json()["data"] if item not in whole and name in OF_A_STORE] == []


def test_a_cursor_of_another_store_is_refused(
    raw: httpx.Client, listings: dict[str, tuple[str, dict[str, str]]], memories: str
) -> None:
    other = "/v1/memory_stores/" + raw.post("/v1/memory_stores", json={"name": "Other"}).json()["id"]

    for name in OF_A_STORE:
        url, query = listings[name]
        cursor = real_cursor(raw, listings[name])
        elsewhere = url.replace(memories.removesuffix("/memories"), other)
        assert refusal(raw.get(elsewhere, params=query | {"page": cursor})) == INVALID


def test_a_made_up_cursor_of_the_changes_shows_no_more_than_there_was(
    raw: httpx.Client, base: str, memories: str
) -> None:
    """Every place in a store's changes may be asked for; another epoch, or what never was, needs a full listing."""
    url = f"{base}/changes"
    mark, _, epoch = opened(raw.get(url).json()["next"])
    made = [raw.post(memories, json={"path": f"/{name}", "content": ""}).json()["id"] for name in "ab"]

    whole = raw.get(url, params={"after": packed([mark, 0, epoch])}).json()["data"]
    assert [change["memory_id"] for change in whole] == made
    for key in ([-1, epoch], [3, epoch], [2**62, epoch], [0, ""], [0, "another"], [0, epoch[:-1]]):
        assert refusal(raw.get(url, params={"after": packed([mark, *key])}))[0] == 410, key
    for key in KEYS:
        answer = raw.get(url, params={"after": packed([mark, *key])})
        assert refusal(answer)[0] in {400, 410}, key
    for cursor in ("", "page_", "x", packed([]), packed(["0" * 12, 0, epoch]), real_cursor(raw, (memories, {}))):
        assert refusal(raw.get(url, params={"after": cursor})) == INVALID


@pytest.mark.parametrize("query", ["wait=-1", "wait=61", "wait=nan", "wait=inf", "wait=1e9", "wait=x", "limit=0"])
def test_the_changes_are_not_waited_for_without_end(raw: httpx.Client, base: str, query: str) -> None:
    assert refusal(raw.get(f"{base}/changes?{query}")) == INVALID
