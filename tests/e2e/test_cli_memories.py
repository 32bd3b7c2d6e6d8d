"""`memfs memories` against a real server, in processes of its own."""

import json
from pathlib import Path

import pytest
from commands import Memfs

BYTES = "crlf\r\n\ufeffbom, nul \0, é 日本, no newline at the end".encode()


@pytest.fixture
def store(memfs: Memfs, request: pytest.FixtureRequest) -> str:
    """A store of this test, by name."""
    name = f"memories of {request.node.name}"
    assert 0 == memfs.run("stores", "create", name).code
    return name


@pytest.mark.parametrize("content", [BYTES, b""], ids=["text", "empty"])
def test_put_and_get_keep_the_exact_bytes(memfs: Memfs, store: str, tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "from.txt"
    file.write_bytes(content)

    assert 0 == memfs.run("memories", "put", store, "/file.md", file).code
    assert 0 == memfs.run("memories", "put", store, "/stdin.md", stdin=content).code
    assert 0 == memfs.run("memories", "put", store, "/dash.md", "-", stdin=content).code

    for path in ("/file.md", "/stdin.md", "/dash.md"):
        assert content == memfs.run("memories", "get", store, path).raw


def test_put_tells_whether_it_created_updated_or_found_it_so(memfs: Memfs, store: str) -> None:
    told = [memfs.run("memories", "put", store, "/a.md", stdin=text).out for text in (b"one", b"two!", b"two!")]

    assert ["created /a.md (3 bytes", "updated /a.md (4 bytes", "unchanged /a.md (4 bytes"] == [
        line.rpartition(",")[0] for line in told
    ]


def test_list_shows_all_below_or_one_directory(memfs: Memfs, store: str) -> None:
    for path in ("/a.md", "/d/b.md", "/d/e/c.md"):
        memfs.run("memories", "put", store, path, stdin=b"x")

    def paths(*words: str) -> list[str]:
        return [item["path"] for item in json.loads(memfs.run("memories", "list", store, "--json", *words).out)]

    assert ["/a.md", "/d/b.md", "/d/e/c.md"] == paths()
    assert ["/a.md", "/d/"] == paths("--depth", "1")
    assert ["/d/b.md", "/d/e/"] == paths("--depth", "1", "--path-prefix", "d")
    assert ["/d/b.md", "/d/e/c.md"] == paths("--path-prefix", "/d/")
    assert ["PATH", "/a.md", "/d/b.md", "/d/e/c.md"] == [
        line.split()[0] for line in memfs.run("memories", "list", store).out.splitlines()
    ]


def test_get_as_json_has_digest_and_content(memfs: Memfs, store: str) -> None:
    memfs.run("memories", "put", store, "/a.md", stdin=b"")

    memory = json.loads(memfs.run("memories", "get", store, "/a.md", "--json").out)

    assert ("", 0) == (memory["content"], memory["content_size_bytes"])
    assert memory["content_sha256"].startswith("e3b0c442")


def test_mv_keeps_the_id_and_never_overwrites(memfs: Memfs, store: str) -> None:
    made = json.loads(memfs.run("memories", "put", store, "/a.md", "--json", stdin=b"a").out)
    memfs.run("memories", "put", store, "/b.md", stdin=b"b")

    refused = memfs.run("memories", "mv", store, "/a.md", "/b.md")
    moved = json.loads(memfs.run("memories", "mv", store, "/a.md", "/c/d.md", "--json").out)

    assert (6, "") == (refused.code, refused.out)
    assert (made["id"], "/c/d.md") == (moved["id"], moved["path"])
    assert b"b" == memfs.run("memories", "get", store, "/b.md").raw


def test_rm_removes_one_memory(memfs: Memfs, store: str) -> None:
    memfs.run("memories", "put", store, "/a.md", stdin=b"a")

    assert "deleted /a.md\n" == memfs.run("memories", "rm", store, "/a.md").out
    assert 4 == memfs.run("memories", "get", store, "/a.md").code
    assert 4 == memfs.run("memories", "rm", store, "/a.md").code


BAD_INPUT: list[tuple[list[str | bytes], bytes, int]] = [
    (["put", "/a.md"], b"\xff\xfe", 10),
    (["put", "/a.md"], b"x" * 102_401, 10),
    (["put", "a.md"], b"x", 10),
    (["put", "/a/../b"], b"x", 10),
    (["put", b"/\xff"], b"x", 10),
    (["put", "/a.md", "no-such-file"], b"", 2),
    (["get", "/none.md"], b"", 4),
    (["list", "--depth", "2"], b"", 2),
]


def test_bad_input_changes_nothing_and_has_its_exit_code(memfs: Memfs, store: str) -> None:
    for (command, *rest), stdin, code in BAD_INPUT:
        printed = memfs.run("memories", command, store, *rest, stdin=stdin)

        assert (code, "") == (printed.code, printed.out), (command, rest)
        assert "Traceback" not in printed.err
    assert [] == json.loads(memfs.run("memories", "list", store, "--json").out)


def test_an_archived_store_refuses_a_put(memfs: Memfs, store: str) -> None:
    memfs.run("stores", "archive", store)

    printed = memfs.run("memories", "put", store, "/a.md", stdin=b"x")

    assert 10 == printed.code
    assert "archived" in printed.err
