"""What every `Remote` owes its callers about making, reading and removing memories."""

import pytest
from listed import shown

from memfs.core.digest import content_sha256
from memfs.core.errors import (
    ContentTooLarge,
    InvalidContent,
    InvalidPath,
    NotFound,
    PathConflict,
    PathTooLong,
    PreconditionFailed,
)
from memfs.remote.protocol import Remote

pytestmark = pytest.mark.anyio

OTHER = content_sha256(b"something else")


@pytest.mark.parametrize(
    "content",
    ["", "plain\n", "crlf\r\nend", "\ufeffbom", "nul\0", "u2028\u2028", "é 日本 🙂", "x" * 102_400],
    ids=["empty", "plain", "crlf", "bom", "nul", "u2028", "unicode", "as-large-as-allowed"],
)
async def test_content_comes_back_byte_for_byte(remote: Remote, store_id: str, content: str) -> None:
    made = await remote.create_memory(store_id, "/a.md", content)

    read = await remote.retrieve_memory(store_id, made.id)

    assert content == read.content
    assert (content_sha256(content.encode()), len(content.encode())) == (made.content_sha256, made.content_size_bytes)
    assert (made.content_sha256, made.content_size_bytes) == (read.content_sha256, read.content_size_bytes)


@pytest.mark.parametrize("path", ["/a b/100%.md", "/a+b/c&d=e.md", "/back\\slash", "/日本/é.md", "/q?x#y", "/%2F.md"])
async def test_a_path_comes_back_as_it_was_given(remote: Remote, store_id: str, path: str) -> None:
    made = await remote.create_memory(store_id, path, "x")
    directory = path.rpartition("/")[0] + "/"

    assert path == made.path
    assert [path] == await shown(remote, store_id, path_prefix="" if directory == "/" else directory)


@pytest.mark.parametrize("path", ["", "/", "a", "/a/", "//a", "/a/../b", "/./a", "/tab\t", "/e\u0301", "/zwj\u200d"])
async def test_a_path_that_breaks_a_rule_is_refused(remote: Remote, store_id: str, path: str) -> None:
    with pytest.raises(InvalidPath):
        await remote.create_memory(store_id, path, "x")


@pytest.mark.parametrize("path", ["/a" * 21, "/" + "x" * 1_024], ids=["too-deep", "too-long"])
async def test_a_path_past_a_limit_is_refused(remote: Remote, store_id: str, path: str) -> None:
    with pytest.raises(PathTooLong):
        await remote.create_memory(store_id, path, "x")


async def test_content_past_the_limit_is_refused(remote: Remote, store_id: str) -> None:
    with pytest.raises(ContentTooLarge):
        await remote.create_memory(store_id, "/a.md", "é" * 51_201)


async def test_a_lone_surrogate_is_no_content(remote: Remote, store_id: str) -> None:
    memory = await remote.create_memory(store_id, "/a.md", "a")

    with pytest.raises(InvalidContent):
        await remote.create_memory(store_id, "/b.md", "\ud800")
    with pytest.raises(InvalidContent):
        await remote.update_memory(store_id, memory.id, content="\udcff")
    assert ["/a.md"] == await shown(remote, store_id)


async def test_a_lone_surrogate_is_no_path(remote: Remote, store_id: str) -> None:
    with pytest.raises(InvalidPath):
        await remote.create_memory(store_id, "/\udcff", "x")


@pytest.mark.parametrize(
    ("taken", "wanted"), [("/a", "/a"), ("/a", "/a/b/c"), ("/a/b", "/a")], ids=["same", "ancestor", "descendant"]
)
async def test_a_create_onto_a_taken_path_names_what_blocks_it(
    remote: Remote, store_id: str, taken: str, wanted: str
) -> None:
    blocker = await remote.create_memory(store_id, taken, "first")

    with pytest.raises(PathConflict) as caught:
        await remote.create_memory(store_id, wanted, "first")

    assert (taken, blocker.id) == (caught.value.conflicting_path, caught.value.conflicting_memory_id)
    assert "first" == (await remote.retrieve_memory(store_id, blocker.id)).content


async def test_neighbours_that_only_look_alike_do_not_conflict(remote: Remote, store_id: str) -> None:
    for path in ("/a_b", "/aXb/c", "/a%", "/ab/c", "/A_B"):
        await remote.create_memory(store_id, path, path)

    assert sorted(["/a_b", "/aXb/c", "/a%", "/ab/c", "/A_B"], key=str.encode) == await shown(remote, store_id)


async def test_a_memory_is_found_in_its_own_store_only(remote: Remote, store_id: str) -> None:
    memory = await remote.create_memory(store_id, "/a.md", "a")
    other = (await remote.create_store("other")).id

    for lost in (
        remote.retrieve_memory(other, memory.id),
        remote.update_memory(other, memory.id, content="b"),
        remote.delete_memory(other, memory.id),
        remote.retrieve_memory(store_id, "mem_unknown"),
    ):
        with pytest.raises(NotFound):
            await lost


@pytest.mark.parametrize("memory_id", ["a/b", "..%2f", "é?x=1"])
async def test_an_id_with_odd_characters_is_unknown_not_another_route(
    remote: Remote, store_id: str, memory_id: str
) -> None:
    with pytest.raises(NotFound):
        await remote.retrieve_memory(store_id, memory_id)


async def test_a_deleted_memory_is_gone_and_its_path_free_for_a_new_id(remote: Remote, store_id: str) -> None:
    made = await remote.create_memory(store_id, "/a.md", "one")
    await remote.delete_memory(store_id, made.id, expect_sha256=made.content_sha256)

    with pytest.raises(NotFound):
        await remote.retrieve_memory(store_id, made.id)
    with pytest.raises(NotFound):
        await remote.delete_memory(store_id, made.id)
    assert made.id != (await remote.create_memory(store_id, "/a.md", "one")).id


async def test_a_deletion_with_another_digest_removes_nothing(remote: Remote, store_id: str) -> None:
    made = await remote.create_memory(store_id, "/a.md", "one")

    with pytest.raises(PreconditionFailed):
        await remote.delete_memory(store_id, made.id, expect_sha256=OTHER)

    assert ["/a.md"] == await shown(remote, store_id)
