"""Renames keep the memory: its id, its history, and where the other side renamed, the file."""

import pytest
from hosts import WAIT_S, Far, Host, MakeHost

from memfs.core.tree_requests import Answer, Move, Request

pytestmark = pytest.mark.anyio


async def test_a_renamed_file_keeps_its_memory(host: Host, far: Far) -> None:
    host.write("a.md", "text\n")
    await host.sync()
    before = await far.id("a.md")

    host.move("a.md", "d/b.md")
    left = await host.sync()

    assert [] == left
    assert {"d/b.md": "text\n"} == await far.contents()
    assert before == await far.id("d/b.md")


async def test_a_file_renamed_while_no_worker_ran_keeps_its_memory(host: Host, far: Far) -> None:
    host.write("a.md", "text\n")
    await host.sync()
    before = await far.id("a.md")

    host.close()
    host.move("a.md", "b.md")
    host.open()
    await host.sync()

    assert before == await far.id("b.md")


async def test_a_renamed_directory_renames_its_memories(host: Host, far: Far) -> None:
    for name in ("old/1.md", "old/2.md", "old/deep/3.md"):
        host.write(name, f"{name}\n")
    await host.sync()
    before = {name: await far.id(f"old/{name}") for name in ("1.md", "2.md", "deep/3.md")}

    host.move("old", "new")
    left = await host.sync()

    assert [] == left
    assert {"new/1.md", "new/2.md", "new/deep/3.md"} == set(await far.contents())
    assert before == {name: await far.id(f"new/{name}") for name in before}


async def test_a_file_renamed_and_then_edited_keeps_its_memory_once_seen_in_between(host: Host, far: Far) -> None:
    host.write("a.md", "text\n")
    await host.sync()
    before = await far.id("a.md")

    host.move("a.md", "b.md")
    await host.sync()
    host.write("b.md", "more\n")
    await host.sync()

    assert {"b.md": "more\n"} == await far.contents()
    assert before == await far.id("b.md")


async def test_an_edit_that_was_seen_and_then_renamed_is_both(host: Host, far: Far) -> None:
    """The edit could not be sent yet: the file is known by what it was when it was last seen."""
    host.write("a.md", "text\n")
    await host.sync()
    before = await far.id("a.md")

    host.write("a.md", "edited\n")
    host.replica.saw_everything(host.replica.near.scan(host.replica.known))
    host.move("a.md", "b.md")
    left = await host.sync()

    assert [] == left
    assert {"b.md": "edited\n"} == await far.contents()
    assert before == await far.id("b.md")


async def test_a_rename_onto_another_memory_is_an_edit_of_that_one(host: Host, far: Far) -> None:
    host.write("a.md", "from a\n")
    host.write("b.md", "from b\n")
    await host.sync()
    before = await far.id("b.md")

    host.move("a.md", "b.md")
    await host.sync()

    assert {"b.md": "from a\n"} == await far.contents()
    assert before == await far.id("b.md")
    assert 2 == await far.versions("b.md")


async def test_an_atomic_save_is_one_version_of_the_same_memory(host: Host, far: Far) -> None:
    host.write("a.md", "one\n")
    await host.sync()
    before = await far.id("a.md")

    host.save_atomically("a.md", "two\n")
    await host.sync()

    assert {"a.md": "two\n"} == await far.contents()
    assert before == await far.id("a.md")
    assert 2 == await far.versions("a.md")


async def test_two_atomic_saves_that_reuse_an_inode_are_two_edits(host: Host, far: Far) -> None:
    host.write("a.md", "a1\n")
    host.write("b.md", "b1\n")
    await host.sync()
    ids = {name: await far.id(name) for name in ("a.md", "b.md")}

    host.save_atomically("a.md", "a2\n")
    host.save_atomically("b.md", "b2\n")
    await host.sync()

    assert {"a.md": "a2\n", "b.md": "b2\n"} == await far.contents()
    assert ids == {name: await far.id(name) for name in ids}


async def test_swapped_files_are_edits(host: Host, far: Far) -> None:
    host.write("a.md", "A\n")
    host.write("b.md", "B\n")
    await host.sync()

    host.move("a.md", "x.md")
    host.move("b.md", "a.md")
    host.move("x.md", "b.md")
    left = await host.sync()

    assert [] == left
    assert {"a.md": "B\n", "b.md": "A\n"} == await far.contents()


async def test_a_memory_renamed_remotely_moves_its_file(host: Host, far: Far) -> None:
    await far.write("a.md", "text\n")
    await host.sync()
    inode = host.inode("a.md")

    await far.move("a.md", "d/b.md")
    left = await host.sync()

    assert [] == left
    assert {"d/b.md": "text\n"} == host.tree()
    assert inode == host.inode("d/b.md")
    assert [] == host.trash()


async def test_a_local_edit_follows_a_memory_renamed_remotely(host: Host, far: Far) -> None:
    await far.write("a.md", "text\n")
    await host.sync()

    host.write("a.md", "edited\n")
    await far.move("a.md", "b.md")
    left = await host.sync()

    assert [] == left
    assert {"b.md": "edited\n"} == host.tree()
    assert {"b.md": "edited\n"} == await far.contents()


async def test_memories_renamed_remotely_in_a_chain_move_their_files(host: Host, far: Far) -> None:
    await far.write("a.md", "A\n")
    await far.write("b.md", "B\n")
    await host.sync()
    inodes = {"b.md": host.inode("a.md"), "c.md": host.inode("b.md")}

    await far.move("b.md", "c.md")
    await far.move("a.md", "b.md")
    left = await host.sync()

    assert [] == left
    assert {"b.md": "A\n", "c.md": "B\n"} == host.tree()
    assert inodes == {name: host.inode(name) for name in inodes}


async def test_memories_swapped_remotely_end_with_the_right_bytes(host: Host, far: Far) -> None:
    await far.write("a.md", "A\n")
    await far.write("b.md", "B\n")
    await host.sync()

    await far.move("a.md", "x.md")
    await far.move("b.md", "a.md")
    await far.move("x.md", "b.md")
    left = await host.sync()

    assert [] == left
    assert {"a.md": "B\n", "b.md": "A\n"} == host.tree()
    assert {"a.md": "B\n", "b.md": "A\n"} == await far.contents()


async def test_a_memory_renamed_on_both_sides_has_the_remote_name(host: Host, far: Far) -> None:
    await far.write("a.md", "text\n")
    await host.sync()
    before = await far.id("a.md")

    host.move("a.md", "mine.md")
    await far.move("a.md", "theirs.md")
    left = await host.sync()

    assert [] == left
    assert {"theirs.md": "text\n"} == host.tree()
    assert before == await far.id("theirs.md")
    assert 1 == len(await far.contents())


async def test_the_same_rename_on_both_sides_is_adopted(host: Host, far: Far) -> None:
    await far.write("a.md", "text\n")
    await host.sync()

    host.move("a.md", "b.md")
    await far.move("a.md", "b.md")
    await far.write("b.md", "edited\n")
    left = await host.sync()

    assert [] == left
    assert {"b.md": "edited\n"} == host.tree()
    assert {"b.md": "edited\n"} == await far.contents()
    assert [] == host.conflicts()


async def test_a_file_renamed_locally_whose_memory_was_deleted_is_created_again(host: Host, far: Far) -> None:
    await far.write("a.md", "text\n")
    await host.sync()

    host.move("a.md", "b.md")
    await far.remove("a.md")
    left = await host.sync()

    assert [] == left
    assert {"b.md": "text\n"} == host.tree()
    assert {"b.md": "text\n"} == await far.contents()


async def test_a_file_moved_aside_for_a_save_keeps_its_memory(host: Host, far: Far) -> None:
    """Some programs move the file to a temporary name, write it anew and remove the old one."""
    host.write("a.md", "one\n")
    await host.sync()
    before = await far.id("a.md")

    host.move("a.md", ".tmp-a")
    assert [".tmp-a", "a.md"] == sorted(path.lstrip("/") for path in await host.sync(WAIT_S))
    host.write("a.md", "two\n")
    host.remove(".tmp-a")
    left = await host.sync()

    assert [] == left
    assert {"a.md": "two\n"} == await far.contents()
    assert before == await far.id("a.md")


async def test_renames_that_block_each_other_end_with_the_right_bytes(host: Host, far: Far) -> None:
    host.write("a", "A\n")
    host.write("b", "B\n")
    await host.sync()

    host.move("a", "x")
    host.move("b", "y")
    host.move("x", "b/x")
    host.move("y", "a/x")
    left = await host.sync()

    assert [] == left
    assert {"b/x": "A\n", "a/x": "B\n"} == await far.contents()


async def test_a_renamed_memory_is_the_same_for_the_other_host(make_host: MakeHost) -> None:
    a, b = make_host("a"), make_host("b")
    a.write("one.md", "text\n")
    await a.sync()
    await b.sync()
    inode = b.inode("one.md")

    a.move("one.md", "two.md")
    await a.sync()
    await b.sync()

    assert {"two.md": "text\n"} == b.tree()
    assert inode == b.inode("two.md")


async def test_a_memory_deleted_while_its_rename_is_carried_out_is_not_made_again(
    host: Host, far: Far, monkeypatch: pytest.MonkeyPatch
) -> None:
    await far.write("a.md", "text\n")
    await far.write("other.md", "other\n")
    await host.sync()
    memory_id = await far.id("a.md")
    await far.move("a.md", "b.md")
    ask = host.owner.ask

    def deleted_meanwhile(request: Request) -> Answer:
        if isinstance(request, Move):
            # As the feed does, on the control thread, while the owner moves the file.
            host.replica.suspect(host.replica.remote.drop(memory_id))
        return ask(request)

    monkeypatch.setattr(host.owner, "ask", deleted_meanwhile)
    await host.replica.far.poll()
    await far.remote.delete_memory(far.store_id, memory_id)
    await host.runner.settle(WAIT_S)
    left = await host.sync()

    assert [] == left
    assert {"other.md": "other\n"} == await far.contents() == host.tree()
