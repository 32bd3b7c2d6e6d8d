"""Two hosts and one remote: everything converges, and whatever was written is somewhere."""

import pytest
from hosts import Far, MakeHost

from memfs.core.conflicts import conflict_path
from memfs.core.digest import content_sha256
from memfs.core.paths import StorePath

pytestmark = pytest.mark.anyio


def copy_of(name: str, content: str) -> str:
    return conflict_path(StorePath("/" + name), content_sha256(content.encode()))[1:]


async def test_edits_travel_both_ways(make_host: MakeHost, far: Far) -> None:
    a, b = make_host("a"), make_host("b")
    a.write("from-a.md", "A\n")
    b.write("deep/from-b.md", "B\n")

    for host in (a, b, a):
        assert [] == await host.sync()

    everything = {"from-a.md": "A\n", "deep/from-b.md": "B\n"}
    assert everything == a.tree() == b.tree() == await far.contents()


async def test_a_deletion_travels_and_what_was_deleted_is_in_the_trash_of_the_other(
    make_host: MakeHost, far: Far
) -> None:
    a, b = make_host("a"), make_host("b")
    a.write("d/one.md", "1\n")
    a.write("two.md", "2\n")
    await a.sync()
    await b.sync()

    a.remove("d/one.md")
    await a.sync()
    await b.sync()

    assert {"two.md": "2\n"} == b.tree() == await far.contents()
    assert ["1\n"] == b.trash()
    assert set() == b.directories()


async def test_both_edits_of_a_conflict_are_on_both_hosts(make_host: MakeHost, far: Far) -> None:
    a, b = make_host("a"), make_host("b")
    a.write("note.md", "base\n")
    await a.sync()
    await b.sync()

    a.write("note.md", "from a\n")
    b.write("note.md", "from b\n")
    for host in (a, b, a):
        assert [] == await host.sync()

    everything = {"note.md": "from a\n", copy_of("note.md", "from b\n"): "from b\n"}
    assert everything == a.tree() == b.tree() == await far.contents()
    (conflict,) = b.conflicts()
    assert ("/note.md", "/" + copy_of("note.md", "from b\n")) == (conflict.path, conflict.copy_path)
    assert [] == a.conflicts()


async def test_a_conflict_ends_when_its_copy_is_removed(make_host: MakeHost, far: Far) -> None:
    a = make_host("a")
    a.write("note.md", "mine\n")
    await far.write("note.md", "theirs\n")
    await a.sync()
    assert 1 == len(a.conflicts())

    a.remove(copy_of("note.md", "mine\n"))
    assert [] == await a.sync()

    assert [] == a.conflicts()
    assert {"note.md": "theirs\n"} == await far.contents()


async def test_a_conflict_about_a_copy_makes_no_copy_of_a_copy(make_host: MakeHost, far: Far) -> None:
    a, b = make_host("a"), make_host("b")
    a.write("note.md", "mine\n")
    await far.write("note.md", "theirs\n")
    await a.sync()
    await b.sync()
    copy = copy_of("note.md", "mine\n")

    a.write(copy, "mine on a\n")
    b.write(copy, "mine on b\n")
    for host in (a, b, a):
        assert [] == await host.sync()

    assert {"note.md", copy, copy_of("note.md", "mine on b\n")} == set(await far.contents())
    assert a.tree() == b.tree() == await far.contents()


async def test_the_same_conflict_again_makes_no_further_copy(make_host: MakeHost, far: Far) -> None:
    a = make_host("a")
    a.write("note.md", "mine\n")
    await far.write("note.md", "theirs\n")
    await a.sync()

    a.write("note.md", "mine\n")
    await far.write("note.md", "theirs again\n")
    assert [] == await a.sync()

    assert {"note.md": "theirs again\n", copy_of("note.md", "mine\n"): "mine\n"} == await far.contents()


async def test_a_taken_conflict_name_is_lengthened(make_host: MakeHost, far: Far) -> None:
    a = make_host("a")
    a.write("note.md", "mine\n")
    a.write(copy_of("note.md", "mine\n"), "something else\n")
    await far.write("note.md", "theirs\n")

    assert [] == await a.sync()

    longer = conflict_path(StorePath("/note.md"), content_sha256(b"mine\n"), digits=16)[1:]
    assert {"note.md": "theirs\n", copy_of("note.md", "mine\n"): "something else\n", longer: "mine\n"} == a.tree()


async def test_an_edit_beats_the_other_hosts_deletion(make_host: MakeHost, far: Far) -> None:
    a, b = make_host("a"), make_host("b")
    a.write("note.md", "base\n")
    await a.sync()
    await b.sync()

    a.remove("note.md")
    b.write("note.md", "edited\n")
    for host in (a, b, a):
        assert [] == await host.sync()

    assert {"note.md": "edited\n"} == a.tree() == b.tree() == await far.contents()


async def test_a_file_and_a_directory_of_one_name_are_both_kept(make_host: MakeHost, far: Far) -> None:
    a, b = make_host("a"), make_host("b")
    a.write("x", "file\n")
    b.write("x/inside.md", "inside\n")

    for host in (a, b, a, b):
        assert [] == await host.sync()

    everything = {copy_of("x", "file\n"): "file\n", "x/inside.md": "inside\n"}
    assert everything == a.tree() == b.tree() == await far.contents()


async def test_a_file_in_the_way_of_a_directory_moves_to_its_conflict_name(make_host: MakeHost, far: Far) -> None:
    a = make_host("a")
    await far.write("x/inside.md", "inside\n")
    a.write("x", "file\n")

    assert [] == await a.sync()

    everything = {copy_of("x", "file\n"): "file\n", "x/inside.md": "inside\n"}
    assert everything == a.tree() == await far.contents()


async def test_a_file_that_became_a_directory_travels(make_host: MakeHost, far: Far) -> None:
    a, b = make_host("a"), make_host("b")
    a.write("x", "file\n")
    await a.sync()
    await b.sync()

    a.remove("x")
    a.write("x/y", "inside\n")
    for host in (a, b):
        assert [] == await host.sync()

    assert {"x/y": "inside\n"} == a.tree() == b.tree() == await far.contents()


async def test_a_directory_that_became_a_file_travels(make_host: MakeHost, far: Far) -> None:
    a, b = make_host("a"), make_host("b")
    a.write("x/y", "inside\n")
    a.write("x/z", "too\n")
    a.write("kept", "kept\n")
    await a.sync()
    await b.sync()

    a.remove("x/y")
    a.remove("x/z")
    (a.store.tree / "x").rmdir()
    a.write("x", "file\n")
    for host in (a, b):
        assert [] == await host.sync()

    assert {"x": "file\n", "kept": "kept\n"} == a.tree() == b.tree() == await far.contents()


async def test_a_file_moved_into_a_directory_of_its_own_name_keeps_its_memory(make_host: MakeHost, far: Far) -> None:
    a, b = make_host("a"), make_host("b")
    a.write("x", "file\n")
    await a.sync()
    await b.sync()
    before = await far.id("x")

    a.move("x", "aside")
    a.move("aside", "x/y")
    for host in (a, b):
        assert [] == await host.sync()

    assert {"x/y": "file\n"} == a.tree() == b.tree() == await far.contents()
    assert before == await far.id("x/y")


async def test_an_empty_local_directory_keeps_its_name(make_host: MakeHost, far: Far) -> None:
    a = make_host("a")
    (a.store.tree / "x").mkdir()
    await far.write("x", "file\n")

    assert [] == await a.sync()

    assert {copy_of("x", "file\n"): "file\n"} == a.tree() == await far.contents()
    assert {"x"} == a.directories()
