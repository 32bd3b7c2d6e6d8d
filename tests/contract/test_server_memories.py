"""What the memory endpoints answer when all is well: bytes kept exactly, no-ops, versions, views."""

import hashlib
import re
from typing import Any

import httpx
import pytest

EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
STALE = "0" * 64
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
BASE58 = "[1-9A-HJ-NP-Za-km-z]"


def versions(raw: httpx.Client, memories: str, **query: str) -> list[dict[str, Any]]:
    """Return the versions of a store, newest first."""
    answer = raw.get(memories.replace("/memories", "/memory_versions"), params=query)
    data: list[dict[str, Any]] = answer.json()["data"]
    return data


@pytest.mark.parametrize(
    "content",
    [
        "",
        "one\r\ntwo\rthree\n",
        "\ufeffa byte order mark",
        "\x00\x01\x7f\u2028\u2029\u0085",
        "e\u0301 is not é",
        "\U0001f600 \U0010ffff \ufffe",
        "x" * 102_400,
    ],
)
def test_content_comes_back_byte_for_byte(raw: httpx.Client, memories: str, content: str) -> None:
    encoded = content.encode()

    made = raw.post(memories, json={"path": "/a.md", "content": content}).json()
    read = raw.get(f"{memories}/{made['id']}").json()

    assert made["content"] is None
    assert read["content"] == content
    assert read["content_sha256"] == hashlib.sha256(encoded).hexdigest()
    assert read["content_size_bytes"] == len(encoded)
    assert read["content_sha256"] == made["content_sha256"]
    assert (content == "") == (read["content_sha256"] == EMPTY)


def test_objects_look_as_the_api_says(raw: httpx.Client, base: str, memories: str) -> None:
    made = raw.post(f"{memories}?view=full", json={"path": "/a.md", "content": "one"}).json()
    store = raw.get(base).json()
    version = raw.get(f"{base}/memory_versions/{made['memory_version_id']}").json()

    assert store == {
        "type": "memory_store", "id": store["id"], "name": "Notes", "description": "", "metadata": {},
        "created_at": store["created_at"], "updated_at": store["created_at"], "archived_at": None,
    }  # fmt: skip
    assert made == {
        "type": "memory", "id": made["id"], "memory_store_id": store["id"],
        "memory_version_id": version["id"], "path": "/a.md", "content": "one",
        "content_sha256": hashlib.sha256(b"one").hexdigest(), "content_size_bytes": 3,
        "created_at": made["created_at"], "updated_at": made["created_at"],
    }  # fmt: skip
    assert version == {
        "type": "memory_version", "id": version["id"], "memory_id": made["id"], "memory_store_id": store["id"],
        "operation": "created", "path": "/a.md", "content": "one", "content_sha256": made["content_sha256"],
        "content_size_bytes": 3, "created_at": made["created_at"], "created_by": version["created_by"],
        "redacted_at": None, "redacted_by": None,
    }  # fmt: skip
    assert version["created_by"]["type"] == "api_actor"
    assert MOMENT.fullmatch(store["created_at"])
    assert MOMENT.fullmatch(made["created_at"])
    for prefix, found in (
        ("memstore", store["id"]),
        ("mem", made["id"]),
        ("memver", version["id"]),
        ("apikey", version["created_by"]["api_key_id"]),
    ):
        assert re.fullmatch(f"{prefix}_01{BASE58}{{22}}", found)


@pytest.mark.parametrize(
    "path",
    [
        "/a",
        "/a/b c/é.md",
        "/" + "/".join("abcdefghijklmnopqrst"),
        "/" + "x" * 1_023,
        "/back\\slash",
        "/trailing ",
        "/100%_sure",
        "/~",
        "/日本語/😀",
    ],
)
def test_a_path_is_accepted(raw: httpx.Client, memories: str, path: str) -> None:
    made = raw.post(memories, json={"path": path, "content": ""}).json()

    assert path == made["path"]
    assert [path] == [item["path"] for item in raw.get(memories).json()["data"]]


@pytest.mark.parametrize(
    "path",
    [
        "", "a", "/", "/a/", "//a", "/a//b", "/.", "/a/../b", "/" + "/".join("abcdefghijklmnopqrstu"),
        "/" + "x" * 1_024, "/e\u0301", "/a\u200db", "/a\u2028", "/a\u00adb", "/\ufeffa", "/a\x00", "/a\nb",
    ],
)  # fmt: skip
def test_a_path_is_refused(raw: httpx.Client, memories: str, path: str) -> None:
    answer = raw.post(memories, json={"path": path, "content": ""})

    assert (answer.status_code, answer.json()["error"]["type"]) == (400, "invalid_request_error")


def test_every_change_leaves_one_version(raw: httpx.Client, memories: str) -> None:
    made = raw.post(memories, json={"path": "/a.md", "content": "one"}).json()
    one = f"{memories}/{made['id']}"
    edited = raw.post(one, json={"content": "two"}).json()
    moved = raw.post(one, json={"path": "/b.md"}).json()
    both = raw.post(one, json={"path": "/c/d.md", "content": "three"}).json()
    raw.delete(one)

    found = versions(raw, memories, view="full", memory_id=made["id"])

    heads = [head["memory_version_id"] for head in (both, moved, edited, made)]
    assert [(one["operation"], one["path"], one["content"]) for one in found] == [
        ("deleted", "/c/d.md", None),
        ("modified", "/c/d.md", "three"),
        ("modified", "/b.md", "two"),
        ("modified", "/a.md", "two"),
        ("created", "/a.md", "one"),
    ]
    assert [one["id"] for one in found[1:]] == heads
    assert (found[0]["content_sha256"], found[0]["content_size_bytes"]) == (None, None)
    assert [one["id"] for one in found] == sorted((one["id"] for one in found), reverse=True)
    assert {head["id"] for head in (made, edited, moved, both)} == {made["id"]}
    assert edited["created_at"] == made["created_at"] < edited["updated_at"] < moved["updated_at"]
    assert raw.get(one).status_code == 404
    assert raw.delete(one).status_code == 404


@pytest.mark.parametrize("change", [{"content": "one"}, {"path": "/a.md"}, {"content": "one", "path": "/a.md"}])
@pytest.mark.parametrize("digest", [None, STALE])
def test_what_is_so_already_is_no_change_even_with_a_stale_precondition(
    raw: httpx.Client, memories: str, change: dict[str, Any], digest: str | None
) -> None:
    """An update whose answer was lost comes again: it must succeed, and leave no second version."""
    made = raw.post(memories, json={"path": "/a.md", "content": "one"}).json()
    body = change | ({"precondition": {"type": "content_sha256", "content_sha256": digest}} if digest else {})

    answer = raw.post(f"{memories}/{made['id']}", json=body)

    assert (answer.status_code, answer.json()) == (200, made)
    assert len(versions(raw, memories)) == 1


def test_a_fitting_precondition_lets_the_change_happen(raw: httpx.Client, memories: str) -> None:
    made = raw.post(memories, json={"path": "/a.md", "content": "one"}).json()
    fitting = {"type": "content_sha256", "content_sha256": made["content_sha256"]}
    one = f"{memories}/{made['id']}"

    edited = raw.post(one, json={"content": "two", "path": "/b.md", "precondition": fitting}).json()
    gone = raw.delete(one, params={"expected_content_sha256": edited["content_sha256"]})

    assert (edited["path"], edited["content_sha256"]) == ("/b.md", hashlib.sha256(b"two").hexdigest())
    assert gone.json() == {"type": "memory_deleted", "id": made["id"]}


def test_a_freed_path_gets_a_new_id(raw: httpx.Client, memories: str) -> None:
    first = raw.post(memories, json={"path": "/a", "content": "one"}).json()
    raw.delete(f"{memories}/{first['id']}")
    second = raw.post(memories, json={"path": "/a/b", "content": "one"}).json()
    raw.post(f"{memories}/{second['id']}", json={"path": "/c"})
    third = raw.post(memories, json={"path": "/a", "content": "one"}).json()

    assert len({first["id"], second["id"], third["id"]}) == 3


def test_views_are_full_to_read_and_basic_to_write_unless_asked(raw: httpx.Client, memories: str) -> None:
    made = raw.post(memories, json={"path": "/a", "content": "one"}).json()
    one = f"{memories}/{made['id']}"

    assert raw.get(one).json()["content"] == "one"
    assert raw.get(f"{one}?view=basic").json()["content"] is None
    assert raw.post(one, json={"content": "two"}).json()["content"] is None
    assert raw.post(f"{one}?view=full", json={"content": "three"}).json()["content"] == "three"
    assert raw.get(memories).json()["data"][0]["content"] is None
    assert raw.get(f"{memories}?view=full").json()["data"][0]["content"] == "three"


def test_a_deleted_store_takes_all_with_it(raw: httpx.Client, base: str, memories: str) -> None:
    made = raw.post(memories, json={"path": "/a", "content": "one"}).json()
    raw.delete(base)

    for path in (base, memories, f"{memories}/{made['id']}", f"{base}/memory_versions"):
        assert raw.get(path).status_code == 404
    assert raw.delete(base).status_code == 404


def test_a_create_whose_answer_was_lost_is_settled_by_its_retry(raw: httpx.Client, memories: str) -> None:
    body = {"path": "/a.md", "content": "one"}
    retry = {"x-stainless-retry-count": "1"}
    made = raw.post(memories, json=body).json()

    assert raw.post(memories, json=body, headers=retry).json() == made
    assert raw.post(memories, json=body | {"content": "two"}, headers=retry).status_code == 409
    assert raw.post(memories, json=body).status_code == 409
    raw.post(f"{memories}/{made['id']}", json={"content": "two"})
    assert raw.post(memories, json=body | {"content": "two"}, headers=retry).status_code == 409
    assert len(versions(raw, memories)) == 2


def test_a_store_whose_answer_was_lost_is_not_made_twice(raw: httpx.Client) -> None:
    body = {"name": "made once", "metadata": {"b": "2", "a": "1"}}
    retry = {"x-stainless-retry-count": "2"}
    made = raw.post("/v1/memory_stores", json=body).json()

    assert raw.post("/v1/memory_stores", json=body, headers=retry).json() == made
    assert raw.post("/v1/memory_stores", json=body).json()["id"] != made["id"]
    assert raw.post("/v1/memory_stores", json=body | {"name": "another"}, headers=retry).json()["id"] != made["id"]
