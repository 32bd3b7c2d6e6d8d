"""Two edits of one memory: merged where they can be, kept both where not, and never merged twice."""

from collections.abc import Callable

import pytest
from fakes import FakeClock, Fault, FlakyRemote, MemoryRemote
from hosts import Far, Host, MakeHost

from memfs.core.conflicts import ConflictPolicy, conflict_path
from memfs.core.digest import content_sha256
from memfs.core.errors import RemoteUnavailable
from memfs.core.limits import Limits
from memfs.core.paths import StorePath
from memfs.core.tree_requests import Answer, Outcome, Replace, Request
from worker import conflicting

pytestmark = pytest.mark.anyio

AWAY = RemoteUnavailable("nobody answers")
NOTE = "log.md"


class Killed(BaseException):
    """What ends a worker in the middle of an action."""


def copy_of(name: str, content: str) -> str:
    return conflict_path(StorePath("/" + name), content_sha256(content.encode()))[1:]


@pytest.fixture
def flaky(remote: MemoryRemote) -> FlakyRemote:
    return FlakyRemote(remote)


async def edited_on_both_sides(host: Host, far: Far, base: str, local: str, remote: str) -> None:
    host.write(NOTE, base)
    await host.sync()
    host.write(NOTE, local)
    await far.write(NOTE, remote)


# ------------------------------------------------------------------------------------------------------------ merges


async def test_appends_of_both_sides_are_merged(host: Host, far: Far) -> None:
    await edited_on_both_sides(host, far, "base\n", "base\nlocal\n", "base\nremote\n")

    assert [] == await host.sync()

    assert {NOTE: "base\nremote\nlocal\n"} == host.tree() == await far.contents()
    assert [] == host.conflicts()


async def test_edits_of_different_lines_are_merged_byte_by_byte(host: Host, far: Far) -> None:
    await edited_on_both_sides(host, far, "a\r\nb\r\nc\r\nd", "A\r\nb\r\nc\r\nd", "a\r\nb\r\nc\r\nD")

    assert [] == await host.sync()

    assert {NOTE: "A\r\nb\r\nc\r\nD"} == host.tree() == await far.contents()


async def test_the_text_that_a_merge_displaced_is_in_trash(host: Host, far: Far) -> None:
    await edited_on_both_sides(host, far, "base\n", "base\nlocal\n", "base\nremote\n")
    await host.sync()

    assert ["base\nlocal\n"] == host.trash()


async def test_appends_of_many_hosts_end_as_all_appends(make_host: MakeHost, far: Far) -> None:
    hosts = [make_host(name) for name in "abcd"]
    hosts[0].write(NOTE, "base\n")
    for host in hosts:
        await host.sync()

    for turn in range(3):
        for name, host in zip("abcd", hosts, strict=True):
            with (host.store.tree / NOTE).open("a") as file:
                file.write(f"{name}{turn}\n")
        for host in hosts:
            assert [] == await host.sync()
    for host in hosts:
        assert [] == await host.sync()

    (content,) = (await far.contents()).values()
    assert ["base", *sorted(f"{name}{turn}" for name in "abcd" for turn in range(3))] == [
        "base", *sorted(content.splitlines()[1:]),
    ]  # fmt: skip
    assert all({NOTE: content} == host.tree() for host in hosts)


async def test_overlapping_edits_are_a_conflict(host: Host, far: Far) -> None:
    await edited_on_both_sides(host, far, "a\nb\n", "a\nlocal\n", "a\nremote\n")

    assert [] == await host.sync()

    both = {NOTE: "a\nremote\n", copy_of(NOTE, "a\nlocal\n"): "a\nlocal\n"}
    assert both == host.tree() == await far.contents()


async def test_a_baseline_whose_text_is_not_here_is_merged_by_the_history_of_the_remote(host: Host, far: Far) -> None:
    await edited_on_both_sides(host, far, "base\n", "base\nlocal\n", "base\nremote\n")
    for kept in host.store.base.iterdir():
        kept.unlink()

    assert [] == await host.sync()

    assert {NOTE: "base\nremote\nlocal\n"} == host.tree() == await far.contents()


async def test_without_the_text_of_the_baseline_it_is_a_conflict(host: Host, far: Far) -> None:
    host.write(NOTE, "base\n")
    await host.sync()
    version = (await far.memories())["/" + NOTE].memory_version_id
    host.write(NOTE, "base\nlocal\n")
    await far.write(NOTE, "base\nremote\n")
    await far.remote.redact_version(far.store_id, version)
    for kept in host.store.base.iterdir():
        kept.unlink()

    assert [] == await host.sync()

    both = {NOTE: "base\nremote\n", copy_of(NOTE, "base\nlocal\n"): "base\nlocal\n"}
    assert both == host.tree() == await far.contents()


async def test_a_merge_that_the_disk_does_not_take_changes_nothing_and_is_made_later(
    host: Host, far: Far, monkeypatch: pytest.MonkeyPatch
) -> None:
    await edited_on_both_sides(host, far, "base\n", "base\nlocal\n", "base\nremote\n")
    with monkeypatch.context() as full:
        full.setattr(conflicting, "keep_in_trash", _full_disk)
        assert ["/" + NOTE] == await host.sync(wait_s=0.0)
    assert {NOTE: "base\nlocal\n"} == host.tree()
    assert {"/" + NOTE: "not_written"} == host.problems()
    assert [] == list(host.store.staging.iterdir())

    assert [] == await host.sync(wait_s=60.0)
    assert {NOTE: "base\nremote\nlocal\n"} == host.tree() == await far.contents()
    assert {} == host.problems()


def _full_disk(*_: object) -> str:
    raise OSError(28, "No space left on device")


async def test_a_merge_that_would_be_too_large_is_a_conflict(make_host: MakeHost, far: Far) -> None:
    host = make_host(limits=Limits(memory_bytes=20))
    await edited_on_both_sides(host, far, "base\n", "base\nlocal, long\n", "base\nremote, long\n")

    assert [] == await host.sync()

    assert {"base\nremote, long\n", "base\nlocal, long\n"} == set(host.tree().values())
    assert host.tree() == await far.contents()


@pytest.mark.parametrize("base", [NOTE, "d/e/log.md"])
async def test_the_baseline_of_a_pulled_memory_is_merged_by(base: str, make_host: MakeHost, far: Far) -> None:
    """Whether a text was pushed from here or pulled, its bytes are kept for the next merge."""
    host = make_host()
    await far.write(base, "base\n")
    await host.sync()
    host.write(base, "base\nlocal\n")
    await far.write(base, "base\nremote\n")
    host.restart()

    assert [] == await host.sync()

    assert {base: "base\nremote\nlocal\n"} == host.tree() == await far.contents()


async def test_an_edit_made_while_the_merge_is_made_is_kept(make_host: MakeHost, far: Far) -> None:
    host = make_host()
    await edited_on_both_sides(host, far, "base\n", "base\nlocal\n", "base\nremote\n")
    asked = OnReplace(host, before=lambda: host.write(NOTE, "base\nlocal\nmore\n"))

    assert [] == await host.sync()

    assert asked.times == 2
    assert {NOTE: "base\nremote\nlocal\nmore\n"} == host.tree() == await far.contents()
    assert ["base\nlocal\nmore\n"] == host.trash()
    assert [] == list(host.store.staging.iterdir())


# ---------------------------------------------------------------------------------------------------------- policies


async def test_the_remote_policy_keeps_the_remotes_text(make_host: MakeHost, far: Far) -> None:
    host = make_host(policy=ConflictPolicy.REMOTE)
    await edited_on_both_sides(host, far, "base\n", "base\nlocal\n", "base\nremote\n")

    assert [] == await host.sync()

    both = {NOTE: "base\nremote\n", copy_of(NOTE, "base\nlocal\n"): "base\nlocal\n"}
    assert both == host.tree() == await far.contents()


async def test_the_local_policy_keeps_the_local_text(make_host: MakeHost, far: Far) -> None:
    host = make_host(policy=ConflictPolicy.LOCAL)
    await edited_on_both_sides(host, far, "base\n", "base\nlocal\n", "base\nremote\n")
    host.write("new.md", "local\n")
    await far.write("new.md", "remote\n")

    assert [] == await host.sync()

    everything = {
        NOTE: "base\nlocal\n", copy_of(NOTE, "base\nremote\n"): "base\nremote\n",
        "new.md": "local\n", copy_of("new.md", "remote\n"): "remote\n",
    }  # fmt: skip
    assert everything == host.tree() == await far.contents()
    assert {"/new.md", "/" + NOTE} == {one.path for one in host.conflicts()}


async def test_hosts_that_keep_their_own_text_come_to_an_end(make_host: MakeHost, far: Far) -> None:
    a, b = make_host("a", policy=ConflictPolicy.LOCAL), make_host("b", policy=ConflictPolicy.LOCAL)
    a.write(NOTE, "base\n")
    await a.sync()
    await b.sync()
    a.write(NOTE, "a\n")
    b.write(NOTE, "b\n")

    for host in (a, b, a, b):
        assert [] == await host.sync()

    assert {NOTE: "b\n", copy_of(NOTE, "a\n"): "a\n"} == a.tree() == b.tree() == await far.contents()


# -------------------------------------------------------------------------------------------------------------- kills


class OnReplace:
    """Stands before a host's owner: does something before and after a merge is put in place, once each."""

    def __init__(
        self, host: Host, before: Callable[[], object] = lambda: None, after: Callable[[], object] = lambda: None
    ) -> None:
        self.times = 0
        self._host, self._before, self._after = host, before, after
        host.replica.owner = self

    def ask(self, request: Request) -> Answer:
        if not (isinstance(request, Replace) and request.staged.startswith("merge-")):
            return self._host.owner.ask(request)
        self.times += 1
        if self.times > 1:
            return self._host.owner.ask(request)
        self._before()
        answer = self._host.owner.ask(request)
        self._after()
        return answer


def killed() -> None:
    raise Killed


def append(host: Host, line: str) -> None:
    with (host.store.tree / NOTE).open("a") as file:
        file.write(line)


async def killed_at(host: Host, far: Far, kill: Callable[[], object]) -> None:
    await edited_on_both_sides(host, far, "base\n", "base\nlocal\n", "base\nremote\n")
    kill()
    with pytest.raises(Killed):
        await host.sync()


async def test_a_worker_killed_before_its_merge_is_in_place_merges_again(host: Host, far: Far) -> None:
    await killed_at(host, far, lambda: OnReplace(host, before=killed))
    host.restart()

    assert [] == await host.sync()

    assert {NOTE: "base\nremote\nlocal\n"} == host.tree() == await far.contents()
    assert [] == list(host.store.staging.iterdir())


async def test_a_worker_killed_once_its_merge_is_in_place_only_pushes(host: Host, far: Far) -> None:
    await killed_at(host, far, lambda: OnReplace(host, after=killed))
    host.restart()

    assert [] == await host.sync()

    assert {NOTE: "base\nremote\nlocal\n"} == host.tree() == await far.contents()
    assert 3 == await far.versions(NOTE)


async def test_what_both_sides_append_after_a_kill_is_appended_once(host: Host, far: Far) -> None:
    """The baseline is still the old one on disk: merged by that, the remote's line would be there twice."""
    await killed_at(host, far, lambda: OnReplace(host, after=killed))
    append(host, "local again\n")
    await far.write(NOTE, "base\nremote\nremote again\n")
    host.restart()

    assert [] == await host.sync()

    expected = "base\nremote\nremote again\nlocal\nlocal again\n"
    assert {NOTE: expected} == host.tree() == await far.contents()


async def test_an_edit_saved_anew_after_a_kill_is_merged_by_what_it_comes_from(host: Host, far: Far) -> None:
    await edited_on_both_sides(host, far, "a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n")
    OnReplace(host, after=killed)
    with pytest.raises(Killed):
        await host.sync()
    assert "A\nb\nC\n" == host.tree()[NOTE]
    host.save_atomically(NOTE, "A\nb\nC, edited here\n")
    host.restart()

    assert [] == await host.sync()

    assert {NOTE: "A\nb\nC, edited here\n"} == host.tree() == await far.contents()


async def test_a_mount_that_dies_before_it_answers_has_put_the_merge_in_place_or_not(host: Host, far: Far) -> None:
    class Dying:
        def ask(self, request: Request) -> Answer:
            host.owner.ask(request)
            host.replica.owner = host.owner
            return Answer(outcome=Outcome.CHANGED)

    await edited_on_both_sides(host, far, "base\n", "base\nlocal\n", "base\nremote\n")
    host.replica.owner = Dying()

    assert [] == await host.sync()

    assert {NOTE: "base\nremote\nlocal\n"} == host.tree() == await far.contents()


async def test_a_push_of_a_merge_whose_answer_was_lost_is_not_merged_again(
    make_host: MakeHost, far: Far, flaky: FlakyRemote, clock: FakeClock
) -> None:
    """Both sides append to the merge, of which the host knows only that it was about to be sent."""
    host = make_host(remote=flaky)
    await edited_on_both_sides(host, far, "base\n", "base\nlocal\n", "base\nremote\n")
    flaky.faults = [Fault("update_memory", AWAY, is_lost_answer=True)]
    with pytest.raises(RemoteUnavailable):
        await host.sync()
    assert {NOTE: "base\nremote\nlocal\n"} == await far.contents()
    append(host, "local again\n")
    await far.write(NOTE, "base\nremote\nlocal\nremote again\n")
    host.restart()
    clock.advance(60.0)

    assert [] == await host.sync()

    expected = "base\nremote\nlocal\nremote again\nlocal again\n"
    assert {NOTE: expected} == host.tree() == await far.contents()


async def test_a_conflict_copy_that_a_full_store_does_not_take_stays_here_and_is_named(
    make_host: MakeHost, clock: FakeClock
) -> None:
    small = MemoryRemote(now=clock.now, limits=Limits(memories=2))
    far = Far(small, (await small.create_store("Notes")).id)
    host = make_host(remote=small, store_id=far.store_id)
    host.write("other.md", "other\n")
    await edited_on_both_sides(host, far, "base\n", "local\n", "remote\n")

    left = await host.sync()

    copy = copy_of(NOTE, "local\n")
    assert ["/" + copy] == left
    assert {"other.md": "other\n", NOTE: "remote\n", copy: "local\n"} == host.tree()
    assert {"/" + copy: "store_full"} == host.problems()
    await far.remove("other.md")
    assert [] == await host.sync(wait_s=60.0)
    assert {NOTE: "remote\n", copy: "local\n"} == host.tree() == await far.contents()
