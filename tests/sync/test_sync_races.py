"""What becomes known while a cycle is under way: an action never rests on what the view said before."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from fakes import FlakyRemote, MemoryRemote
from hosts import Far, Host, MakeHost

from memfs.core.paths import StorePath
from memfs.core.tree_requests import Answer, Identity, Outcome, Replace, Request
from worker.execute import IN_PARALLEL

pytestmark = pytest.mark.anyio

MANY = [f"a{number:02}.md" for number in range(IN_PARALLEL + 4)]
"""So many that some action waits for its turn while the first ones are under way."""


class Meanwhile(FlakyRemote):
    """Does something once, at the first call of one kind, as a listing beside the cycle would."""

    def __init__(self, inner: MemoryRemote) -> None:
        super().__init__(inner)
        self.at: str = ""
        self.act: Callable[[], Awaitable[Any]] | None = None

    async def _through(self, name: str, call: Callable[[], Awaitable[Any]]) -> Any:
        if name == self.at and self.act is not None:
            act, self.act = self.act, None
            await act()
        return await super()._through(name, call)


@pytest.fixture
def meanwhile(remote: MemoryRemote) -> Meanwhile:
    return Meanwhile(remote)


@pytest.fixture
def host(make_host: MakeHost, meanwhile: Meanwhile) -> Host:
    return make_host(remote=meanwhile)


def listed_after(host: Host, change: Callable[[], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
    async def act() -> None:
        await change()
        await host.replica.far.list_all()

    return act


async def test_a_remote_edit_listed_while_pushes_are_under_way_is_not_overwritten(
    host: Host, far: Far, meanwhile: Meanwhile
) -> None:
    for name in [*MANY, "z.md"]:
        host.write(name, "base\n")
    await host.sync()
    for name in MANY:
        host.write(name, "edited\n")
    host.write("z.md", "mine\n")

    meanwhile.at = "update_memory"
    meanwhile.act = listed_after(host, lambda: far.write("z.md", "theirs\n"))
    left = await host.sync()

    assert [] == left
    assert "theirs\n" == host.tree()["z.md"]
    assert {"mine\n", "theirs\n"} <= set(host.tree().values())
    assert host.tree() == await far.contents()
    assert [("/z.md")] == [one.path for one in host.conflicts()]


async def test_a_remote_edit_listed_while_deletions_are_under_way_is_not_deleted(
    host: Host, far: Far, meanwhile: Meanwhile
) -> None:
    kept = [f"kept{number}.md" for number in range(2 * len(MANY) + 2)]
    for name in [*MANY, "z.md", *kept]:
        host.write(name, "base\n")
    await host.sync()
    for name in [*MANY, "z.md"]:
        host.remove(name)

    meanwhile.at = "delete_memory"
    meanwhile.act = listed_after(host, lambda: far.write("z.md", "theirs\n"))
    left = await host.sync()

    assert [] == left
    assert {"z.md": "theirs\n", **dict.fromkeys(kept, "base\n")} == host.tree() == await far.contents()


async def test_a_memory_that_goes_while_pushes_are_under_way_is_created_again(
    host: Host, far: Far, meanwhile: Meanwhile
) -> None:
    for name in [*MANY, "z.md"]:
        host.write(name, "base\n")
    await host.sync()
    for name in [*MANY, "z.md"]:
        host.write(name, "edited\n")

    meanwhile.at = "update_memory"
    meanwhile.act = listed_after(host, lambda: far.remove("z.md"))
    left = await host.sync()

    assert [] == left
    assert dict.fromkeys([*MANY, "z.md"], "edited\n") == host.tree() == await far.contents()


async def test_a_memory_that_goes_while_pulls_are_under_way_is_not_pulled(
    host: Host, far: Far, meanwhile: Meanwhile
) -> None:
    for name in [*MANY, "z.md"]:
        await far.write(name, "base\n")
    await host.sync()
    for name in [*MANY, "z.md"]:
        await far.write(name, "theirs\n")

    meanwhile.at = "retrieve_memory"
    meanwhile.act = listed_after(host, lambda: far.remove("z.md"))
    left = await host.sync()

    assert [] == left
    assert dict.fromkeys(MANY, "theirs\n") == host.tree() == await far.contents()


async def test_a_memory_that_came_to_a_renamed_ones_path_meanwhile_keeps_its_path(
    host: Host, far: Far, meanwhile: Meanwhile
) -> None:
    for name in [*MANY, "z.md"]:
        host.write(name, f"{name}\n")
    await host.sync()
    for name in [*MANY, "z.md"]:
        host.move(name, f"moved/{name}")

    async def taken() -> None:
        await far.move("z.md", "away.md")
        await far.write("z.md", "another\n")

    meanwhile.at = "update_memory"
    meanwhile.act = listed_after(host, taken)
    left = await host.sync()

    assert [] == left
    assert "another\n" == host.tree()["z.md"]
    assert {"z.md\n", *(f"{name}\n" for name in MANY)} <= set(host.tree().values())
    assert host.tree() == await far.contents()


# ------------------------------------------------------------------------------------------- files under their writers


async def test_a_file_that_is_another_one_each_time_is_sent_nevertheless(host: Host, far: Far) -> None:
    """Whoever writes all the time is between the look and the push each time."""
    number = 0
    read = host.replica.tree.read

    def written_before(path: StorePath) -> tuple[bytes, Identity]:
        nonlocal number
        number += 1
        if number <= 20:
            host.write("busy.md", f"{number}\n")
        return read(path)

    host.write("busy.md", "0\n")
    host.replica.tree.read = written_before  # type: ignore[method-assign]  (between every look and every push)
    await host.sync(wait_s=1.0)

    assert number < 20
    assert ["busy.md"] == list(await far.contents())


async def test_a_file_that_grows_each_time_its_turn_comes_is_merged_nevertheless(host: Host, far: Far) -> None:
    """A program appends between every look and every merge, while the remote edits the same memory."""
    lines = ["line 0\n"]
    read = host.replica.tree.read

    def append() -> None:
        with (host.store.tree / "log.md").open("a") as file:
            file.write(lines[-1])

    def grown_before(path: StorePath) -> tuple[bytes, Identity]:
        if len(lines) <= 20:
            lines.append(f"line {len(lines)}\n")
            append()
        return read(path)

    host.write("log.md", "base\n")
    await host.sync()
    append()
    await far.write("log.md", "theirs\nbase\n")
    host.replica.tree.read = grown_before  # type: ignore[method-assign]  (between every look and every merge)
    await host.sync(wait_s=1.0)

    assert len(lines) < 20
    (content,) = (await far.contents()).values()
    assert content.startswith("theirs\nbase\nline 0\nline 1\n")
    assert "theirs\nbase\n" + "".join(lines) == host.tree()["log.md"]
    assert [] == host.conflicts()


async def test_half_a_character_under_a_writer_is_not_what_is_refused(host: Host, far: Far) -> None:
    read = host.replica.tree.read
    contents = iter([b"1\n", b"2\n", b"3\n", "é".encode()[:1], b"5\n", b"6\n"])

    def written_before(path: StorePath) -> tuple[bytes, Identity]:
        content = next(contents, None)
        if content is not None:
            host.write("busy.md", content)
        return read(path)

    host.write("busy.md", "0\n")
    host.replica.tree.read = written_before  # type: ignore[method-assign]  (between every look and every push)
    left = await host.sync(wait_s=30.0)

    assert [] == left
    assert {"busy.md": "6\n"} == host.tree() == await far.contents()
    assert {} == host.problems()


async def test_a_conflict_about_a_file_that_is_being_written_makes_no_flood_of_copies(host: Host, far: Far) -> None:
    class Busy:
        """A mount while a program writes the file."""

        def __init__(self) -> None:
            self.times = 5

        def ask(self, request: Request) -> Answer:
            if isinstance(request, Replace) and request.expect is not None and self.times > 0:
                self.times -= 1
                host.write("note.md", f"mine, {self.times}\n")
                return Answer(outcome=Outcome.BUSY)
            return host.owner.ask(request)

    host.write("note.md", "base\n")
    await host.sync()
    host.write("note.md", "mine\n")
    await far.write("note.md", "theirs\n")
    host.replica.owner = Busy()
    left = await host.sync(wait_s=300.0)

    assert [] == left
    assert 2 == len(host.tree())
    assert {"theirs\n", "mine, 0\n"} == set(host.tree().values())
    assert host.tree() == await far.contents()
