"""Listings of memories and versions: order, depth, pages, filters, and what concurrent writes may not do to them."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

Item = dict[str, Any]

PATHS = ["/a", "/b-c/x", "/b.md", "/b/x", "/b/y/1", "/b/y/2", "/b/z", "/b0", "/é/x", "/日/x", "/😀"]


def pages(raw: httpx.Client, url: str, between: Callable[[], object] = lambda: None, **query: str) -> Iterator[Item]:
    """Return the items of all pages, calling ``between`` after each page."""
    page: dict[str, str] = {}
    while True:
        answer = raw.get(url, params={**query, **page})
        assert answer.status_code == 200, answer.text
        yield from answer.json()["data"]
        if answer.json()["next_page"] is None:
            return
        page = {"page": answer.json()["next_page"]}
        between()


def fill(raw: httpx.Client, memories: str, paths: list[str]) -> dict[str, Item]:
    """Create a memory at each path and return them by path."""
    return {path: raw.post(memories, json={"path": path, "content": path}).json() for path in paths}


@pytest.mark.parametrize("limit", ["1", "2", "3", "100"])
def test_memories_are_listed_by_the_bytes_of_their_paths(raw: httpx.Client, memories: str, limit: str) -> None:
    made = fill(raw, memories, PATHS[::-1])

    found = list(pages(raw, memories, limit=limit))

    assert found == [made[path] for path in sorted(PATHS, key=str.encode)]


@pytest.mark.parametrize("limit", ["1", "2", "3", "100"])
@pytest.mark.parametrize(
    ("prefix", "depth", "expected"),
    [
        ("", "1", ["/a", "/b-c/", "/b.md", "/b/", "/b0", "/é/", "/日/", "/😀"]),
        ("/", "1", ["/a", "/b-c/", "/b.md", "/b/", "/b0", "/é/", "/日/", "/😀"]),
        ("/b/", "0", ["/b/x", "/b/y/1", "/b/y/2", "/b/z"]),
        ("/b/", "1", ["/b/x", "/b/y/", "/b/z"]),
        ("/b/y/", "1", ["/b/y/1", "/b/y/2"]),
        ("/B/", "0", []),
        ("/b/x/", "1", []),
        ("b/", "1", []),
        ("/😀/", "0", []),
    ],
)
def test_a_prefix_is_whole_segments_and_one_level_groups(
    raw: httpx.Client, memories: str, limit: str, prefix: str, depth: str, expected: list[str]
) -> None:
    fill(raw, memories, PATHS)

    found = list(pages(raw, memories, path_prefix=prefix, depth=depth, limit=limit))

    assert expected == [item["path"] for item in found]
    assert all(item == {"type": "memory_prefix", "path": item["path"]} for item in found if item["path"][-1] == "/")


def test_a_full_page_holds_twenty_whatever_is_asked(raw: httpx.Client, memories: str) -> None:
    fill(raw, memories, [f"/{n:02}" for n in range(25)])

    full = raw.get(memories, params={"view": "full", "limit": "100"}).json()
    history = raw.get(memories.replace("/memories", "/memory_versions"), params={"view": "full", "limit": "21"}).json()

    assert [len(full["data"]), len(history["data"])] == [20, 20]
    assert [item["content"] for item in full["data"]] == [f"/{n:02}" for n in range(20)]
    assert len(raw.get(memories).json()["data"]) == 20
    assert len(raw.get(memories, params={"limit": "100"}).json()["data"]) == 25
    rest = raw.get(memories, params={"limit": "3", "page": full["next_page"]}).json()["data"]
    assert [item["path"] for item in rest] == ["/20", "/21", "/22"]


def test_a_prefix_over_many_memories_is_shown_once(raw: httpx.Client, memories: str) -> None:
    fill(raw, memories, [f"/d/{n}" for n in range(30)] + ["/a", "/e", "/d-/x"])

    found = [item["path"] for item in pages(raw, memories, depth="1", limit="2")]

    assert found == ["/a", "/d-/", "/d/", "/e"]


# Few letters, so that paths collide, stand above each other and share prefixes.
NAMES = st.sampled_from(["a", "b", "a-", "a.", "é"])
SOME_PATHS = st.lists(NAMES, min_size=1, max_size=3).map(lambda names: "/" + "/".join(names))
CHANGES = st.lists(st.tuples(st.sampled_from(["create", "delete", "rename", "edit"]), SOME_PATHS, SOME_PATHS))


def change(raw: httpx.Client, memories: str, living: dict[str, Item], one: tuple[str, str, str]) -> set[str]:
    """Try a change, and return the ids of the memories that it touched."""
    kind, path, target = one
    if kind == "create":
        answer = raw.post(memories, json={"path": path, "content": ""})
        if answer.status_code == 200:
            living[path] = answer.json()
            return {answer.json()["id"]}
        return set()
    if path not in living:
        return set()
    memory = living[path]
    url = f"{memories}/{memory['id']}"
    if kind == "delete":
        raw.delete(url)
        del living[path]
    elif kind == "rename" and raw.post(url, json={"path": target}).status_code == 200:
        living[target] = living.pop(path)
    elif kind == "edit":
        raw.post(url, json={"content": f"{memory['content_sha256']}{target}"})
    return {memory["id"]}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    paths=st.lists(SOME_PATHS, min_size=3, max_size=12, unique=True),
    changes=CHANGES,
    limit=st.integers(1, 3),
    depth=st.sampled_from([0, 1]),
)
def test_a_memory_that_nobody_touches_is_listed_exactly_once(
    raw: httpx.Client, paths: list[str], changes: list[tuple[str, str, str]], limit: int, depth: int
) -> None:
    """While others are created, deleted, renamed and edited between the pages of the listing."""
    memories = f"/v1/memory_stores/{raw.post('/v1/memory_stores', json={'name': 'n'}).json()['id']}/memories"
    living: dict[str, Item] = {}
    for path in paths:
        change(raw, memories, living, ("create", path, ""))
    before = {path: memory["id"] for path, memory in living.items()}
    touched: set[str] = set()
    queue = iter(changes)

    def between() -> None:
        for one in itertools.islice(queue, 2):
            touched.update(change(raw, memories, living, one))

    found = list(pages(raw, memories, between, limit=str(limit), depth=str(depth)))

    shown = [item["path"] for item in found]
    assert sorted(set(shown), key=str.encode) == shown
    for path, memory_id in before.items():
        if memory_id not in touched:
            assert (path if depth == 0 or path.count("/") == 1 else path[: path.index("/", 1) + 1]) in shown
    assert [item["path"] for item in pages(raw, memories)] == sorted(living, key=str.encode)


def test_versions_are_filtered_by_all_that_is_asked(raw: httpx.Client, base: str, memories: str) -> None:
    made = fill(raw, memories, ["/a", "/b"])
    edited = raw.post(f"{memories}/{made['/a']['id']}", json={"content": "two"}).json()
    raw.delete(f"{memories}/{made['/b']['id']}")
    url = f"{base}/memory_versions"
    everything = list(pages(raw, url, limit="1"))
    actor = everything[0]["created_by"]["api_key_id"]

    def count(**query: str) -> int:
        return len(list(pages(raw, url, limit="1", **query)))

    assert [one["operation"] for one in everything] == ["deleted", "modified", "created", "created"]
    assert everything == list(pages(raw, url))
    assert count(memory_id=made["/b"]["id"]) == 2
    assert count(memory_id=made["/b"]["id"], operation="deleted") == 1
    assert count(memory_id="mem_unknown") == 0
    assert count(operation="created") == 2
    assert count(api_key_id=actor) == 4
    assert count(api_key_id="apikey_unknown") == 0
    assert [count(session_id=actor), count(service_account_id=actor), count(session_id="sesn_x")] == [0, 0, 0]
    assert count(**{"created_at[gte]": edited["updated_at"]}) == 2
    assert count(**{"created_at[lte]": edited["updated_at"]}) == 3
    assert count(**{"created_at[gte]": edited["updated_at"], "created_at[lte]": edited["updated_at"]}) == 1


def test_new_versions_do_not_move_the_pages_of_the_old_ones(raw: httpx.Client, base: str, memories: str) -> None:
    made = fill(raw, memories, [f"/{n}" for n in range(6)])
    url = f"{memories}/{made['/0']['id']}"
    count = itertools.count()

    found = list(
        pages(
            raw, f"{base}/memory_versions", lambda: raw.post(url, json={"content": f"edit {next(count)}"}), limit="2"
        )
    )  # fmt: skip

    assert [one["memory_id"] for one in found] == [made[f"/{n}"]["id"] for n in reversed(range(6))]
    assert {one["operation"] for one in found} == {"created"}
