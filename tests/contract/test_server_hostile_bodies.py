"""Bodies that mean something else to another reader, or cost more than they are: refused, and nothing is done."""

import gzip
import zlib
from collections.abc import Iterator

import httpx
import pytest
from wire import INVALID, refusal

STALE = b'{"type": "content_sha256", "content_sha256": "' + b"0" * 64 + b'"}'
MEMORY = b'{"path": "/a", "content": "one"}'
TOO_LARGE = (413, "request_too_large")


@pytest.fixture
def memory(raw: httpx.Client, memories: str) -> str:
    """The path of a new memory."""
    return f"{memories}/{raw.post(memories, content=MEMORY).json()['id']}"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b'{"content": "two", "precondition": %s, "precondition": null}', id="the second one empty"),
        pytest.param(b'{"precondition": null, "content": "two", "precondition": %s}', id="the first one empty"),
        pytest.param(b'{"content": "two", "precondition": %s, "precondition": %s}', id="the same one twice"),
        pytest.param(b'{"content": "two", "precondition": %s, "\\u0070recondition": null}', id="one of them escaped"),
        pytest.param(b'{"content": "one", "content": "two"}', id="two contents"),
        pytest.param(b'{"content": "two", "path": "/b", "path": "/c"}', id="two paths"),
        pytest.param(
            b'{"content": "two", "precondition": {"type": "content_sha256", "content_sha256": "%s", '
            b'"content_sha256": "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"}}',
            id="two digests, the last one right",
        ),
    ],
)
def test_a_field_named_twice_changes_nothing(raw: httpx.Client, memory: str, body: bytes) -> None:
    """Who looked at the first of the two must not be passed by with the second."""
    filled = body.replace(b'"%s"', b'"' + b"0" * 64 + b'"').replace(b"%s", STALE)

    assert refusal(raw.post(memory, content=filled)) == INVALID
    assert raw.get(memory).json()["content"] == "one"


@pytest.mark.parametrize(
    "body", [b'{"name": "a", "name": "b"}', b'{"name": "a", "metadata": {"k": "1", "k": "2"}}'], ids=["name", "key"]
)
def test_a_store_is_not_made_of_a_field_named_twice(raw: httpx.Client, body: bytes) -> None:
    assert refusal(raw.post("/v1/memory_stores", content=body)) == INVALID


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"\xef\xbb\xbf" + MEMORY, id="a byte order mark"),
        pytest.param(MEMORY.decode().encode("utf-16"), id="UTF-16"),
        pytest.param(MEMORY.decode().encode("utf-32-le"), id="UTF-32"),
        pytest.param(b'{"path": "/a", "content": "\xff"}', id="a byte of no UTF-8"),
        pytest.param(b'{"path": "/a", "content": "\xc0\x80"}', id="an overlong NUL"),
        pytest.param(b'{"path": "/a", "content": "\xed\xa0\xbd"}', id="a surrogate in bytes"),
        pytest.param(b'{"path": "/a", "content": "\\ud83d\\u0041"}', id="half a surrogate pair"),
        pytest.param(b'{"path": "/\xff", "content": ""}', id="a path of no UTF-8"),
        pytest.param(b'{"path": "/a", "content": "\x00"}', id="a bare NUL"),
        pytest.param(b'{"path": "/a", "content": "a\nb"}', id="a bare line feed"),
        pytest.param(MEMORY + MEMORY, id="two objects"),
        pytest.param(MEMORY + b"\0", id="something behind"),
        pytest.param(b"// a\n" + MEMORY, id="a comment"),
        pytest.param(b"{'path': '/a', 'content': ''}", id="single quotes"),
        pytest.param(b'{"path": "/a", "content": "",}', id="a comma too much"),
        pytest.param(b'{"path": "/a", "content": NaN}', id="not a number"),
        pytest.param(b'{"path": "/a", "content": -Infinity}', id="infinity"),
        pytest.param(b'{"path": "/a", "content": 1e999999999}', id="a huge exponent"),
        pytest.param(b'{"path": "/a", "content": ' + b"9" * 600_000 + b"}", id="a huge number"),
        pytest.param(b'{"path": "/a", "content": "", "' + b"k" * 600_000 + b'": 1}', id="a huge name"),
        pytest.param(b'{"path": "/a", "content": "", "x": [' + b"0," * 300_000 + b"0]}", id="a huge list"),
        pytest.param(b'{"' + b'":0,"'.join(b"%d" % n for n in range(60_000)) + b'":0}', id="a great many fields"),
        pytest.param(b'{"path": "/a", "content": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", id="nested lists"),
        pytest.param(b'{"path": "/a", "content": ' + b'{"a":' * 100_000, id="nested objects"),
        pytest.param(b'{"__class__": {}, "path": "/a", "content": ""}', id="a name of Python's"),
        pytest.param(b"path=/a&content=one", id="a form"),
        pytest.param(b'<?xml version="1.0"?><a/>', id="XML"),
    ],
)
def test_no_memory_is_made_of(raw: httpx.Client, memories: str, body: bytes) -> None:
    answer = raw.post(memories, content=body)

    assert refusal(answer) == INVALID
    assert len(answer.text) < 500
    assert raw.get(memories).json()["data"] == []


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_a_packed_body_is_not_unpacked(raw: httpx.Client, memories: str, encoding: str) -> None:
    """What a few kilobytes unpack to may be gigabytes: the API knows bodies of JSON only."""
    bomb = gzip.compress(b'{"path": "/a", "content": "' + b"\0" * 50_000_000) if encoding == "gzip" else MEMORY
    body = zlib.compress(MEMORY) if encoding == "deflate" else bomb

    answer = raw.post(memories, content=body, headers={"content-encoding": encoding})

    assert refusal(answer) == INVALID
    assert raw.get(memories).json()["data"] == []


def test_a_body_of_50_mb_is_refused_whole_and_in_pieces(raw: httpx.Client, memories: str) -> None:
    def pieces() -> Iterator[bytes]:
        for _ in range(50):
            yield b"x" * 1_000_000

    assert refusal(raw.post(memories, content=b"x" * 50_000_000)) == TOO_LARGE
    assert refusal(raw.post(memories, content=pieces())) == TOO_LARGE
    assert raw.post(memories, content=MEMORY).status_code == 200


@pytest.mark.parametrize("field", ["name", "description"])
def test_a_nul_is_no_part_of_a_stores_texts(raw: httpx.Client, base: str, field: str) -> None:
    before = raw.get(base).json()

    assert refusal(raw.post("/v1/memory_stores", json={"name": "n", field: "a\0b"})) == INVALID
    assert refusal(raw.post(base, json={field: "a\0b"})) == INVALID
    assert raw.get(base).json() == before


def test_a_stores_metadata_and_a_memorys_content_may_have_one(raw: httpx.Client, base: str, memories: str) -> None:
    odd = {"\0": "a\0b", "\u2028": "\U0001f4a5", "__proto__": "x"}

    assert raw.post(base, json={"metadata": odd}).json()["metadata"] == odd
    assert raw.get(base).json()["metadata"] == odd
    made = raw.post(f"{memories}?view=full", json={"path": "/nul", "content": "\0" * 3}).json()
    assert made["content"] == "\0" * 3
