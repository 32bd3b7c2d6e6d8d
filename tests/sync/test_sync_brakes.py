"""The brakes: a store that would lose too much deletes nothing until somebody says that it is meant."""

import logging
import shutil

import pytest
from fakes import FakeClock, FlakyRemote, MemoryRemote
from hosts import Far, Host, MakeHost

from memfs.core.attachment import Access
from memfs.core.brakes import WINDOW_S, Reason
from memfs.core.errors import StoreReadOnly
from memfs.core.names import Names
from worker.resuming import accept, restore

pytestmark = [pytest.mark.anyio, pytest.mark.expect_log("is halted, nothing is deleted")]

MANY = {f"d{number % 3}/{number:02}.md": f"text {number}\n" for number in range(30)}


async def filled(host: Host, contents: dict[str, str] = MANY) -> None:
    for name, content in contents.items():
        host.write(name, content)
    assert [] == await host.sync()


def reason(host: Host) -> Reason | None:
    halt = host.replica.state.braking.halt
    return None if halt is None else halt.reason


# ------------------------------------------------------------------------------------------------------ the local side


async def test_a_wiped_tree_deletes_nothing_on_the_remote(host: Host, far: Far) -> None:
    await filled(host)
    for name in MANY:
        host.remove(name)

    left = await host.sync()

    assert sorted("/" + name for name in MANY) == left
    assert MANY == await far.contents()
    assert Reason.MANY_LOCAL is reason(host)
    assert {"halted"} == set(host.replica.state.pending.values())


async def test_a_halt_outlives_the_worker_and_the_window(host: Host, far: Far, clock: FakeClock) -> None:
    await filled(host)
    for name in MANY:
        host.remove(name)
    await host.sync()

    host.restart()
    clock.advance(2 * WINDOW_S)
    left = await host.sync()

    assert 30 == len(left)
    assert MANY == await far.contents()


async def test_a_halted_store_syncs_everything_else(host: Host, far: Far) -> None:
    await filled(host)
    kept, *gone = list(MANY)
    for name in gone:
        host.remove(name)
    await host.sync()

    host.write(kept, "edited\n")
    host.write("new.md", "new\n")
    await far.write("theirs.md", "theirs\n")
    await far.write(gone[0], "edited by others: that beats the deletion\n")
    left = await host.sync()

    assert sorted("/" + name for name in gone[1:]) == left
    here = {kept: "edited\n", "new.md": "new\n", "theirs.md": "theirs\n", gone[0]: (await far.contents())[gone[0]]}
    assert here == host.tree()
    assert MANY | here == await far.contents()


@pytest.mark.parametrize("count", [2, 3])
async def test_a_small_store_may_not_lose_everything_even_beside_a_new_file(count: int, host: Host, far: Far) -> None:
    contents = {f"{number}.md": "text\n" + str(number) for number in range(count)}
    await filled(host, contents)
    for name in contents:
        host.remove(name)
    host.write("new.md", "new\n")

    await host.sync()

    assert contents | {"new.md": "new\n"} == await far.contents()
    assert Reason.MANY_LOCAL is reason(host)


@pytest.mark.parametrize(("memories", "deleted"), [(1, 1), (3, 2), (10, 8), (30, 10)])
async def test_a_few_deletions_need_nobodys_word(memories: int, deleted: int, host: Host, far: Far) -> None:
    contents = {f"{number}.md": f"{number}\n" for number in range(memories)}
    await filled(host, contents)
    for name in list(contents)[:deleted]:
        host.remove(name)

    assert [] == await host.sync()
    assert memories - deleted == len(await far.contents())
    assert reason(host) is None


async def test_deletions_spread_over_cycles_count_together(host: Host, far: Far, clock: FakeClock) -> None:
    await filled(host)
    for name in MANY:
        host.remove(name)
        await host.sync()
        clock.advance(5.0)

    assert 20 == len(await far.contents())
    assert Reason.MANY_LOCAL is reason(host)


async def test_deletions_spread_over_hours_are_nobodys_mistake(host: Host, far: Far, clock: FakeClock) -> None:
    await filled(host)
    for name in MANY:
        host.remove(name)
        assert [] == await host.sync()
        clock.advance(WINDOW_S)

    assert {} == await far.contents()


async def test_files_that_are_all_saved_anew_are_no_deletions(host: Host, far: Far, clock: FakeClock) -> None:
    await filled(host)
    for name in MANY:
        host.remove(name)
    await host.sync(wait_s=0.0)
    clock.advance(1.0)
    for name in MANY:
        host.write(name, "saved anew\n")

    assert [] == await host.sync()
    assert dict.fromkeys(MANY, "saved anew\n") == host.tree() == await far.contents()
    assert reason(host) is None


async def test_files_that_were_copied_and_removed_are_not_lost(host: Host, far: Far) -> None:
    """No rename is seen where inodes change, and nothing is lost all the same."""
    await filled(host)
    for name, content in MANY.items():
        host.write("moved/" + name, content)
        host.remove(name)

    assert [] == await host.sync()
    assert {"moved/" + name: content for name, content in MANY.items()} == await far.contents()
    assert reason(host) is None


async def test_renames_are_no_deletions(host: Host, far: Far) -> None:
    await filled(host)
    for number in range(3):
        (host.store.tree / f"d{number}").rename(host.store.tree / f"e{number}")

    assert [] == await host.sync()
    assert {"e" + name[1:]: content for name, content in MANY.items()} == await far.contents()


# ----------------------------------------------------------------------------------------------------- the remote side


async def test_a_wiped_remote_removes_nothing_here(host: Host, far: Far) -> None:
    await filled(host)
    for name in MANY:
        await far.remove(name)

    left = await host.sync()

    assert sorted("/" + name for name in MANY) == left
    assert MANY == host.tree()
    assert Reason.MANY_REMOTE is reason(host)


async def test_an_empty_remote_removes_nothing_even_beside_local_edits(host: Host, far: Far) -> None:
    contents = {f"{number}.md": f"{number}\n" for number in range(3)}
    await filled(host, contents)
    for name in contents:
        await far.remove(name)
    host.write("0.md", "edited: that beats the deletion\n")

    await host.sync()

    assert contents | {"0.md": "edited: that beats the deletion\n"} == host.tree()
    assert Reason.REMOTE_EMPTY is reason(host)


async def test_remote_deletions_that_a_feed_delivers_one_by_one_count_together(
    host: Host, far: Far, clock: FakeClock
) -> None:
    await filled(host)
    for name in MANY:
        await far.remove(name)
        await host.replica.far.poll()
        await host.runner.settle(0.0)
        clock.advance(5.0)

    assert 20 == len(host.tree())
    assert Reason.MANY_REMOTE is reason(host)


async def test_both_sides_are_counted_apart(host: Host, far: Far) -> None:
    await filled(host)
    for name in list(MANY)[:8]:
        host.remove(name)
    for name in list(MANY)[8:16]:
        await far.remove(name)

    assert [] == await host.sync()
    assert 14 == len(host.tree()) == len(await far.contents())


# ------------------------------------------------------------------------------------------------------------ the root


async def test_a_replaced_root_deletes_nothing(host: Host, far: Far) -> None:
    await filled(host)
    host.store.tree.rename(host.store.root / "old")
    host.store.tree.mkdir()
    for name in list(MANY)[1:]:
        host.write(name, MANY[name])

    left = await host.sync()

    assert ["/" + next(iter(MANY))] == left
    assert MANY == await far.contents()
    assert Reason.ROOT_REPLACED is reason(host)


async def test_a_root_replaced_while_nobody_looked_deletes_nothing(host: Host, far: Far) -> None:
    await filled(host, {"only.md": "text\n"})
    host.close()
    host.store.tree.rename(host.store.root / "old")
    host.store.tree.mkdir()
    host.open()

    assert ["/only.md"] == await host.sync()
    assert {"only.md": "text\n"} == await far.contents()
    assert Reason.ROOT_REPLACED is reason(host)


async def test_a_root_that_was_copied_with_everything_in_it_is_the_tree_from_then_on(host: Host, far: Far) -> None:
    await filled(host)
    host.close()
    shutil.copytree(host.store.tree, host.store.root / "copy")
    host.store.tree.rename(host.store.root / "old")
    (host.store.root / "copy").rename(host.store.tree)
    host.open()

    assert [] == await host.sync()
    host.remove("d0/00.md")
    assert [] == await host.sync()
    assert 29 == len(await far.contents())


# --------------------------------------------------------------------------------------------------------- the decision


async def test_accepted_deletions_are_made_and_later_ones_are_counted_anew(host: Host, far: Far) -> None:
    await filled(host, MANY | {"kept.md": "kept\n", "more.md": "more\n"})
    for name in MANY:
        host.remove(name)
    await host.sync()

    assert 30 == accept(host.replica)
    assert [] == await host.sync()
    assert {"kept.md", "more.md"} == set(await far.contents())

    host.remove("kept.md")
    host.remove("more.md")
    await host.sync()
    assert {"kept.md", "more.md"} == set(await far.contents())
    assert Reason.MANY_LOCAL is reason(host)


async def test_accepted_deletions_stay_accepted_across_a_restart(host: Host, far: Far) -> None:
    await filled(host)
    for name in MANY:
        await far.remove(name)
    await host.sync()
    host.restart()
    accept(host.replica)
    host.restart()

    assert [] == await host.sync()
    assert {} == host.tree()
    assert sorted(MANY.values()) == host.trash()


async def test_a_wiped_tree_is_brought_back(host: Host, far: Far, clock: FakeClock) -> None:
    """Some of it was deleted on the remote before it became too much: that is made anew."""
    await filled(host)
    for name in MANY:
        host.remove(name)
        await host.sync()
        clock.advance(5.0)

    await restore(host.replica)

    assert [] == await host.sync()
    assert MANY == host.tree() == await far.contents()
    assert reason(host) is None


async def test_a_wiped_tree_is_brought_back_from_the_versions_of_the_remote(
    make_host: MakeHost, far: Far, remote: MemoryRemote, clock: FakeClock
) -> None:
    flaky = FlakyRemote(remote)
    host = make_host(remote=flaky)
    await filled(host)
    for name in MANY:
        host.remove(name)
        await host.sync()
        clock.advance(5.0)
    for kept in host.store.base.iterdir():
        kept.unlink()

    assert 30 == await restore(host.replica)

    assert [] == await host.sync()
    assert MANY == host.tree() == await far.contents()
    assert 10 == flaky.calls["retrieve_version"]


async def test_a_wiped_remote_is_made_anew(host: Host, far: Far, clock: FakeClock) -> None:
    await filled(host)
    for name in MANY:
        await far.remove(name)
        await host.replica.far.poll()
        await host.runner.settle(0.0)
        clock.advance(5.0)
    host.restart()

    assert 30 == await restore(host.replica)

    assert [] == await host.sync()
    assert MANY == host.tree() == await far.contents()


async def test_a_replaced_root_is_filled_again(host: Host, far: Far) -> None:
    await filled(host)
    host.store.tree.rename(host.store.root / "old")
    host.store.tree.mkdir()
    await host.sync()

    await restore(host.replica)

    assert [] == await host.sync()
    assert MANY == host.tree() == await far.contents()


async def test_a_read_only_store_halts_for_its_remote_and_is_not_restored(make_host: MakeHost, far: Far) -> None:
    for name, content in MANY.items():
        await far.write(name, content)
    host = make_host(access=Access.READ_ONLY)
    await host.sync()
    host.write("stray.md", "a deviation is no memory\n")
    for name in MANY:
        await far.remove(name)

    assert 31 == len(await host.sync())
    assert MANY | {"stray.md": "a deviation is no memory\n"} == host.tree()
    with pytest.raises(StoreReadOnly):
        await restore(host.replica)
    accept(host.replica)
    assert [] == await host.sync()
    assert {} == host.tree()


async def test_a_halt_is_told_once(host: Host, caplog: pytest.LogCaptureFixture) -> None:
    await filled(host)
    for name in MANY:
        host.remove(name)
    for _ in range(3):
        await host.sync()

    told = [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]
    assert ["the store Notes is halted, nothing is deleted: 30 of 30 memories are gone here"] == told


async def test_a_name_that_becomes_local_only_is_no_deletion(host: Host, far: Far) -> None:
    await filled(host)
    host.close()
    host.open(Names(local_only=["d0/", "d1/", "d2/"]))

    assert [] == await host.sync()
    assert MANY == host.tree() == await far.contents()
    assert reason(host) is None


async def test_slow_atomic_saves_under_ever_new_names_lose_nothing(host: Host, far: Far, clock: FakeClock) -> None:
    """Each temporary file lay long enough to become a memory; what became of it is the note."""
    await filled(host, {"note.md": "0\n", "settled.md": "settled\n"})
    kept = await far.id("note.md")
    for number in range(1, 13):
        host.write(f".note-{number}.part", f"{number}\n")
        await host.sync()
        host.move(f".note-{number}.part", "note.md")
        assert [] == await host.sync()
        clock.advance(5.0)

    assert reason(host) is None
    assert {"note.md": "12\n", "settled.md": "settled\n"} == await far.contents()
    assert kept == await far.id("note.md")
