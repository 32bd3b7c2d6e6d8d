"""Ids and paths that try to be something else: each is unknown or refused, and none reaches another thing."""

import sys
import unicodedata
from collections.abc import Iterator

import httpx
import pytest
from wire import INVALID, refusal

from memfs.api import routes

UNKNOWN = (404, "not_found_error")
IDS = [
    "..", ".", "%2e%2e", "%2E", "%2e%2e%2f%2e%2e%2fetc%2fpasswd", "..%2f..%2fhealthz", "%252e%252e", "..;", "%5c..%5c",
    "%00", "%00%00", "memstore_%00", "%0a", "%0d%0aset-cookie:%20x", "%01", "%1b[31m", "%7f", "%c2%85", "%e2%80%a8",
    "%ff%fe", "%c0%ae%c0%ae", "%ed%a0%80", "%f4%90%80%80", "%", "%zz", "%2", "%25", "%u0041", "*", "%20", "+", "~", "-",
    "'%20OR%201=1--", "%22;drop%20table%20stores;--", "$(id)", "%60id%60", "<script>", "{store_id}", "%7bstore_id%7d",
    "null", "None", "0", "-1", "1e999", "9" * 5_000, "a" * 30_000, "%f0%9f%92%a5" * 1_000, "memstore_01" + "1" * 22,
    "archive", "memories", "MEMSTORE_01", "%ef%bc%8e%ef%bc%8e", "a%2Fb", "a;b=c", "a@b", "a:b", "[::1]", "",
]  # fmt: skip
TEMPLATES = [
    ("GET", routes.STORE),
    ("POST", routes.STORE),
    ("DELETE", routes.STORE),
    ("POST", routes.ARCHIVE),
    ("GET", routes.MEMORIES),
    ("POST", routes.MEMORIES),
    ("GET", routes.MEMORY),
    ("POST", routes.MEMORY),
    ("DELETE", routes.MEMORY),
    ("GET", routes.VERSIONS),
    ("GET", routes.VERSION),
    ("POST", routes.REDACT),
    ("GET", routes.CHANGES),
    ("GET", routes.SESSION),
    ("POST", routes.SESSION),
    ("DELETE", routes.SESSION),
    ("POST", routes.ARCHIVE_SESSION),
    ("GET", routes.SESSION_RESOURCES),
    ("POST", routes.SESSION_RESOURCES),
]
BODIES = {
    routes.STORE: b'{"name": "taken over"}',
    routes.MEMORIES: b'{"path": "/x", "content": ""}',
    routes.MEMORY: b'{"content": "taken over"}',
    routes.SESSION: b'{"title": "taken over"}',
}


def sent(raw: httpx.Client, method: str, target: str, body: bytes = b"") -> httpx.Response:
    """Send a request whose target is not touched on the way."""
    request = raw.build_request(method, "/", content=body)
    request.extensions["target"] = target.encode()
    return raw.send(request)


@pytest.mark.parametrize(("method", "template"), TEMPLATES)
def test_a_hostile_id_is_unknown_in_every_place(
    raw: httpx.Client, base: str, memories: str, method: str, template: str
) -> None:
    made = raw.post(memories, json={"path": "/a", "content": "one"}).json()
    good = {
        "session_id": raw.post(routes.SESSIONS, json={"agent": "agent_a", "environment_id": "env_a"}).json()["id"],
        "store_id": base.rpartition("/")[2],
        "memory_id": made["id"],
        "version_id": made["memory_version_id"],
    }
    places = [name for name in good if f"{{{name}}}" in template]
    body = BODIES.get(template, b"") if method == "POST" else b""

    # An empty id before a slash leaves a path of no endpoint, and at the end the path of a listing with a slash more.
    answers = {
        (place, hostile[:40]): refusal(sent(raw, method, template.format(**(good | {place: hostile})), body))
        for place in places
        for hostile in IDS
    }

    assert {case: found for case, found in answers.items() if found != UNKNOWN} == {}
    assert raw.get(memories, params={"view": "full"}).json()["data"][0]["content"] == "one"
    assert raw.get(base).json()["name"] == "Notes"


@pytest.mark.parametrize("name", ["memory_id", "api_key_id", "session_id", "service_account_id"])
def test_a_hostile_id_in_a_filter_matches_nothing(raw: httpx.Client, base: str, memories: str, name: str) -> None:
    raw.post(memories, json={"path": "/a", "content": "one"})

    for hostile in IDS:
        answer = sent(raw, "GET", f"{base}/memory_versions?{name}={hostile}".replace(" ", "%20"))
        assert (answer.status_code, answer.json()) == (200, {"data": [], "next_page": None})


@pytest.mark.parametrize("name", ["memory_store_id", "agent_id"])
def test_a_hostile_id_in_a_filter_of_sessions_matches_nothing(raw: httpx.Client, name: str) -> None:
    raw.post(routes.SESSIONS, json={"agent": "agent_a", "environment_id": "env_a"}).raise_for_status()

    for hostile in IDS:
        answer = sent(raw, "GET", f"{routes.SESSIONS}?{name}={hostile}".replace(" ", "%20"))
        assert (answer.status_code, answer.json()) == (200, {"data": [], "next_page": None})


@pytest.mark.parametrize("field", ["title", "agent", "environment_id"])
def test_a_session_is_named_by_text_that_every_database_can_keep(raw: httpx.Client, field: str) -> None:
    names = {"agent": "agent_a", "environment_id": "env_a", "title": "a title"}

    for hostile in ("\0", "a\0b", b"\xff".decode("latin-1") * 3_000):
        assert refusal(raw.post(routes.SESSIONS, json=names | {field: hostile})) == INVALID
    for kept in ("a" * 255,):
        assert raw.post(routes.SESSIONS, json=names | {field: kept}).status_code == 200


def forbidden_characters() -> Iterator[str]:
    for number in range(sys.maxunicode + 1):
        if unicodedata.category(chr(number)) in {"Cc", "Cf", "Zl", "Zp"}:
            yield chr(number)


REFUSED_PATHS = [
    "", "a", "a/b", "./a", "../a", "~/a", "\\a", "C:\\a", "file:///a", " /a", "\ufeff/a", "\uff0fa", "%2Fa",
    "/", "//", "//a", "/a/", "/a//b", "/a///b", "/.", "/..", "/./a", "/../a", "/a/.", "/a/..", "/a/./b", "/a/../b",
    "/a/../../b", "/../../../etc/passwd", "/a/b/../../..", "/e\u0301", "/a/\u1100\u1161", "/A\u030a/b", "/\u212b",
    "/" + "a/" * 20 + "a", "/" + "a/" * 100_000 + "a", "/" + "a" * 1_024, "/" + "é" * 512, "/" + "x" * 90_000,
    "/.anthropic-memory-store",
    *(f"/a{character}b" for character in forbidden_characters()),
]  # fmt: skip
ODD_PATHS = [
    "/...", "/..a", "/.a", "/a.", "/ ", "/a /b", "/-rf", "/~", "/~root", "/$HOME", "/$(id)", "/`id`", "/a;b", "/a&b",
    "/a|b", "/*", "/?", "/a?b=c#d", "/%", "/%2e%2e", "/%00", "/%2F", "/a%2fb", "/_", "/a_b", "/'", '/"', "/\\",
    "/\\..\\x", "/a\\b", "/C:", "/CON", "/nul", "/a:b", "/<script>", "/{x}", "/[x]", "/null", "/' OR 1=1--",
    "/\u00a0", "/\u3000", "/é", "/Ω", "/\U0001f4a5", "/\ue000", "/\U000e0fff", "/\uffff", "/\ufdd0", "/\uff0e\uff0e",
    "/git/.git", "/" + "s/" * 19 + "s", "/" + "n" * 1_023, "/" + "\U0001f4a5" * 255,
]  # fmt: skip


def test_no_path_that_breaks_a_rule_is_taken(raw: httpx.Client, memories: str) -> None:
    assert len(REFUSED_PATHS) > 200
    made = raw.post(memories, json={"path": "/good", "content": ""}).json()

    taken = [
        ascii(path[:40])
        for path in REFUSED_PATHS
        for answer in (
            raw.post(memories, json={"path": path, "content": ""}),
            raw.post(f"{memories}/{made['id']}", json={"path": path}),
        )
        if refusal(answer) != INVALID or len(answer.text) > 500
    ]

    assert taken == []
    assert [item["path"] for item in raw.get(memories).json()["data"]] == ["/good"]


def test_what_no_rule_forbids_is_kept_as_it_is(raw: httpx.Client, memories: str) -> None:
    """Names that mean something to a shell, a URL, SQL or another system mean nothing here."""
    made = {path: raw.post(memories, json={"path": path, "content": path[:9]}).json()["id"] for path in ODD_PATHS}

    listed = raw.get(memories, params={"limit": "100"}).json()["data"]

    assert {item["path"]: item["id"] for item in listed} == made
    assert [item["path"] for item in listed] == sorted(ODD_PATHS)
    for path, memory_id in made.items():
        read = raw.get(f"{memories}/{memory_id}").json()
        assert (read["path"], read["content"]) == (path, path[:9])


@pytest.mark.parametrize(
    "prefix", ["/%/", "/_/", "/a%25/", "/%00/", "/%ed%a0%80/", "/%ff/", "/../", "/./", "//", "a/", "/a" * 20_000 + "/"]
)
def test_a_hostile_prefix_lists_nothing(raw: httpx.Client, memories: str, prefix: str) -> None:
    for path in ("/ab/c", "/x/y"):
        raw.post(memories, json={"path": path, "content": ""})

    for depth in (0, 1):
        answer = sent(raw, "GET", f"{memories}?depth={depth}&path_prefix={prefix}")
        assert (answer.status_code, answer.json()) == (200, {"data": [], "next_page": None})
