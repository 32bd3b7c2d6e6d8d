"""Nothing is lost: lost answers, killed workers, files and names that cannot be memories, stores that refuse."""

import logging
import os

import pytest
from fakes import FakeClock, Fault, FlakyRemote, MemoryRemote
from hosts import Far, Host, MakeHost

from memfs.core.attachment import Access
from memfs.core.errors import (
    InvalidRequest,
    NotFound,
    RemoteUnavailable,
    StoreReadOnly,
)
from memfs.core.limits import Limits
from memfs.core.names import HOLD_S, Names

pytestmark = pytest.mark.anyio

AWAY = RemoteUnavailable("nobody answers")


@pytest.fixture
def flaky(remote: MemoryRemote) -> FlakyRemote:
    return FlakyRemote(remote)


# ------------------------------------------------------------------------------------------------------- lost answers


async def test_a_lost_answer_followed_by_a_local_edit_is_no_conflict(
    make_host: MakeHost, far: Far, flaky: FlakyRemote
) -> None:
    host = make_host(remote=flaky)
    host.write("note.md", "base\n")
    await host.sync()

    host.write("note.md", "sent, and never answered\n")
    flaky.faults = [Fault("update_memory", AWAY, is_lost_answer=True)]
    with pytest.raises(RemoteUnavailable):
        await host.sync()
    host.write("note.md", "edited again\n")
    host.restart()
    left = await host.sync()

    assert [] == left
    assert {"note.md": "edited again\n"} == host.tree() == await far.contents()
    assert [] == host.conflicts()


async def test_a_create_whose_answer_was_lost_is_no_conflict(make_host: MakeHost, far: Far, flaky: FlakyRemote) -> None:
    host = make_host(remote=flaky)
    host.write("note.md", "sent, and never answered\n")
    flaky.faults = [Fault("create_memory", AWAY, is_lost_answer=True)]
    with pytest.raises(RemoteUnavailable):
        await host.sync()

    host.write("note.md", "edited again\n")
    left = await host.sync()

    assert [] == left
    assert {"note.md": "edited again\n"} == host.tree() == await far.contents()
    assert 2 == await far.versions("note.md")


async def test_a_deletion_whose_answer_was_lost_is_forgotten(make_host: MakeHost, far: Far, flaky: FlakyRemote) -> None:
    host = make_host(remote=flaky)
    host.write("note.md", "text\n")
    await host.sync()

    host.remove("note.md")
    flaky.faults = [Fault("delete_memory", AWAY, is_lost_answer=True)]
    with pytest.raises(RemoteUnavailable):
        await host.sync()
    left = await host.sync()

    assert [] == left
    assert {} == host.tree() == await far.contents()


async def test_a_rename_whose_answer_was_lost_keeps_the_memory(
    make_host: MakeHost, far: Far, flaky: FlakyRemote
) -> None:
    host = make_host(remote=flaky)
    host.write("a.md", "text\n")
    await host.sync()
    before = await far.id("a.md")

    host.move("a.md", "b.md")
    flaky.faults = [Fault("update_memory", AWAY, is_lost_answer=True)]
    with pytest.raises(RemoteUnavailable):
        await host.sync()
    left = await host.sync()

    assert [] == left
    assert before == await far.id("b.md")
    assert {"b.md": "text\n"} == host.tree() == await far.contents()


async def test_a_worker_killed_between_the_remote_change_and_the_baseline_adopts(host: Host, far: Far) -> None:
    host.write("note.md", "base\n")
    await host.sync()

    # What a killed worker leaves: the change is on the remote, the baseline knows nothing of it.
    host.write("note.md", "edited\n")
    await far.write("note.md", "edited\n")
    before = await far.versions("note.md")
    host.restart()
    left = await host.sync()

    assert [] == left
    assert before == await far.versions("note.md")
    assert [] == host.conflicts()


async def test_a_state_that_was_lost_is_made_again_without_a_transfer(
    make_host: MakeHost, far: Far, flaky: FlakyRemote
) -> None:
    host = make_host(remote=flaky)
    host.write("same.md", "same\n")
    host.write("other.md", "other\n")
    await host.sync()
    host.close()
    for one in host.store.root.glob("state.db*"):
        one.unlink()
    host.write("other.md", "edited meanwhile\n")

    again = make_host(remote=flaky)
    flaky.calls.clear()
    left = await again.sync()

    assert [] == left
    assert {"same.md": "same\n", "other.md": "other\n"}.items() <= again.tree().items()
    assert {"edited meanwhile\n"} == set(again.tree().values()) - {"same\n", "other\n"}
    assert again.tree() == await far.contents()
    assert 0 == flaky.calls["update_memory"]


# ------------------------------------------------------------------------------------------------- edits in between


async def test_an_edit_made_while_a_pull_is_under_way_is_kept(
    make_host: MakeHost, far: Far, remote: MemoryRemote
) -> None:
    class EditsMeanwhile(FlakyRemote):
        async def retrieve_memory(self, store_id: str, memory_id: str) -> object:
            host.write("note.md", "edited while the pull was under way\n")
            return await remote.retrieve_memory(store_id, memory_id)

    host = make_host(remote=EditsMeanwhile(remote))
    await far.write("note.md", "base\n")
    await host.sync()
    await far.write("note.md", "theirs\n")
    left = await host.sync()

    assert [] == left
    assert {"theirs\n", "edited while the pull was under way\n"} == set(host.tree().values())
    assert host.tree() == await far.contents()


async def test_a_file_that_comes_back_within_the_window_is_an_edit(host: Host, far: Far, clock: FakeClock) -> None:
    host.write("note.md", "one\n")
    await host.sync()
    before = await far.id("note.md")

    host.remove("note.md")
    await host.sync(wait_s=0.0)
    assert {"note.md": "one\n"} == await far.contents()
    clock.advance(1.0)
    host.write("note.md", "two\n")
    await host.sync()

    assert {"note.md": "two\n"} == await far.contents()
    assert before == await far.id("note.md")


# ------------------------------------------------------------------------------------------------- names and contents


async def test_held_back_names_wait_and_then_become_memories(host: Host, far: Far, clock: FakeClock) -> None:
    host.write("draft.tmp", "a real note\n")

    assert ["/draft.tmp"] == await host.sync()
    assert {} == await far.contents()
    assert {"/draft.tmp": "held"} == host.replica.state.pending

    clock.advance(HOLD_S)
    assert [] == await host.sync()
    assert {"draft.tmp": "a real note\n"} == await far.contents()


async def test_local_only_names_are_not_synced_and_not_counted(host: Host, far: Far) -> None:
    for name in (".note.md.swp", "note.md~", ".git/config", "__pycache__/x.pyc", "#note.md#"):
        host.write(name, b"\xff\xfe any bytes")

    assert [] == await host.sync()

    assert {} == await far.contents()
    assert {} == host.problems()


async def test_a_memory_at_a_local_only_name_is_a_problem_and_stays(host: Host, far: Far) -> None:
    await far.write("keep.md~", "text\n")
    await far.write(".git/config", "text\n")

    assert [] == await host.sync()

    assert {} == host.tree()
    assert {"keep.md~", ".git/config"} == set(await far.contents())
    assert {"/keep.md~": "local_only_name", "/.git/config": "local_only_name"} == host.problems()

    await far.move("keep.md~", "keep.md")
    await far.remove(".git/config")
    assert [] == await host.sync()
    assert {"keep.md": "text\n"} == host.tree()
    assert {} == host.problems()


async def test_a_memory_whose_name_no_directory_can_hold_is_a_problem_and_stays(host: Host, far: Far) -> None:
    await far.write("x" * 256, "text\n")
    await far.write("note.md", "text\n")

    assert [] == await host.sync()

    assert {"note.md": "text\n"} == host.tree()
    assert {"/" + "x" * 256: "path_too_long"} == host.problems()
    assert 2 == len(await far.contents())


async def test_what_cannot_be_a_memory_is_a_problem_and_the_rest_syncs(host: Host, far: Far) -> None:
    host.write("good.md", "good\n")
    host.write("bytes.bin", b"\xff\xfe")
    host.write("big.md", "x" * 102_401)
    (host.store.tree / "link").symlink_to("good.md")
    (host.store.tree / os.fsdecode(b"latin-\xe9.md")).write_text("text")
    (host.store.tree / "e\u0301.md").write_text("not NFC")
    os.mkfifo(host.store.tree / "pipe")

    left = await host.sync()

    assert {"good.md": "good\n"} == await far.contents()
    expected = {
        "/bytes.bin": "invalid_content", "/big.md": "content_too_large", "/link": "not_a_file", "/pipe": "not_a_file",
        "/latin-\\xe9.md": "invalid_path", "/e\u0301.md": "invalid_path",
    }  # fmt: skip
    assert expected == host.problems()
    assert sorted(expected) == left


async def test_what_was_refused_is_tried_again_when_its_bytes_change(
    make_host: MakeHost, far: Far, flaky: FlakyRemote
) -> None:
    host = make_host(remote=flaky)
    flaky.faults = [Fault("create_memory", InvalidRequest("not this"))]
    host.write("note.md", "refused\n")

    assert ["/note.md"] == await host.sync()
    assert {"/note.md": "invalid_request"} == host.problems()
    host.restart()
    assert ["/note.md"] == await host.sync()
    assert 1 == flaky.calls["create_memory"]

    host.write("note.md", "better\n")
    assert [] == await host.sync()
    assert {"note.md": "better\n"} == await far.contents()
    assert {} == host.problems()


async def test_a_problem_goes_when_its_cause_goes(host: Host, far: Far) -> None:
    host.write("bytes.bin", b"\xff")
    (host.store.tree / os.fsdecode(b"\xe9")).write_text("text")
    (host.store.tree / "link").symlink_to("nowhere")
    await host.sync()
    assert 3 == len(host.problems())

    host.write("bytes.bin", "text\n")
    (host.store.tree / os.fsdecode(b"\xe9")).unlink()
    (host.store.tree / "link").unlink()
    host.write("link", "a file\n")

    assert [] == await host.sync()
    assert {} == host.problems()
    assert {"bytes.bin": "text\n", "link": "a file\n"} == await far.contents()


async def test_backslashes_are_ordinary_bytes(host: Host, far: Far) -> None:
    await far.write("a\\b.md", "with a backslash\n")
    await far.write("a/b.md", "with a slash\n")

    assert [] == await host.sync()

    assert {"a\\b.md": "with a backslash\n", "a/b.md": "with a slash\n"} == host.tree() == await far.contents()


@pytest.mark.parametrize("content", ["", "\x00", "\r\n\ufeff\u2028", "no newline", "x" * 102_400])
async def test_bytes_are_the_same_on_both_sides(content: str, make_host: MakeHost, far: Far) -> None:
    a, b = make_host("a"), make_host("b")
    a.write("note.md", content)
    await a.sync()
    await b.sync()

    assert {"note.md": content} == b.tree() == await far.contents()


# ---------------------------------------------------------------------------------------------------- whole stores


async def test_a_full_store_keeps_the_path_pending_until_there_is_room(make_host: MakeHost, clock: FakeClock) -> None:
    small = MemoryRemote(now=clock.now, limits=Limits(memories=2))
    store = await small.create_store("Notes")
    host = make_host(remote=small, store_id=store.id)
    far = Far(small, store.id)
    for name in ("a.md", "b.md"):
        host.write(name, "text\n")
    await host.sync()

    host.write("c.md", "one too many\n")
    host.write("a.md", "still editable\n")
    assert ["/c.md"] == await host.sync()
    assert {"/c.md": "store_full"} == host.problems()
    assert {"a.md": "still editable\n", "b.md": "text\n"} == await far.contents()

    host.remove("b.md")
    assert [] == await host.sync(wait_s=60.0)
    assert {"a.md", "c.md"} == set(await far.contents())
    assert {} == host.problems()


async def test_a_store_that_is_gone_takes_nothing_with_it(host: Host, far: Far) -> None:
    host.write("note.md", "text\n")
    await host.sync()

    await far.remote.delete_store(far.store_id)
    with pytest.raises(NotFound):
        await host.sync()

    assert {"note.md": "text\n"} == host.tree()
    assert [] == host.trash()


async def test_a_listing_that_ends_with_an_error_removes_nothing(
    make_host: MakeHost, far: Far, flaky: FlakyRemote
) -> None:
    host = make_host(remote=flaky)
    host.write("note.md", "text\n")
    await host.sync()
    flaky.faults = [Fault("list_memories", AWAY)]

    with pytest.raises(RemoteUnavailable):
        await host.sync()

    assert {"note.md": "text\n"} == host.tree() == await far.contents()


async def test_a_store_archived_meanwhile_keeps_the_local_edits_pending(
    make_host: MakeHost, far: Far, remote: MemoryRemote
) -> None:
    host = make_host()
    host.write("note.md", "text\n")
    await host.sync()

    await remote.archive_store(far.store_id)
    host.write("note.md", "edited\n")
    with pytest.raises(StoreReadOnly):
        await host.sync()

    assert {"note.md": "edited\n"} == host.tree()
    assert {} == host.problems()
    assert {"/note.md": "pending"} == host.replica.state.pending


async def test_an_archived_store_only_pulls(make_host: MakeHost, far: Far, remote: MemoryRemote) -> None:
    await far.write("note.md", "text\n")
    await remote.archive_store(far.store_id)
    host = make_host(archived=True)

    assert [] == await host.sync()
    host.write("note.md", "deviation\n")
    assert [] == await host.sync()

    assert {"note.md": "text\n"} == host.tree()
    assert ["deviation\n"] == host.trash()


async def test_a_read_only_store_puts_back_what_was_changed(make_host: MakeHost, far: Far) -> None:
    await far.write("d/note.md", "theirs\n")
    await far.write("gone.md", "theirs too\n")
    host = make_host(access=Access.READ_ONLY)
    await host.sync()

    host.write("d/note.md", "deviation\n")
    host.write("d/new.md", "new\n")
    host.remove("gone.md")
    left = await host.sync()

    everything = {"d/note.md": "theirs\n", "gone.md": "theirs too\n"}
    assert [] == left
    assert everything == host.tree() == await far.contents()
    assert ["deviation\n", "new\n"] == host.trash()


# ------------------------------------------------------------------------------------------------------- log and state


async def test_what_displaces_bytes_is_told_with_path_and_digests_and_no_content(
    make_host: MakeHost, far: Far, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="worker")
    host = make_host()
    host.write("note.md", "my secret words\n")
    await far.write("note.md", "their secret words\n")
    await far.write("old.md", "old secret words\n")
    await host.sync()
    await far.remove("old.md")
    await host.sync()

    told = [record.getMessage() for record in caplog.records if record.levelno >= logging.INFO]
    assert any(line.startswith("conflict about /note.md") for line in told)
    assert any(line.startswith("removed /old.md") for line in told)
    assert "secret" not in caplog.text


async def test_a_name_that_becomes_local_only_loses_its_baseline_and_nothing_else(host: Host, far: Far) -> None:
    host.write("note.md", "text\n")
    host.write("drafts/one.md", "draft\n")
    await host.sync()

    host.close()
    host.open(Names(local_only=["drafts/"]))
    assert [] == await host.sync()

    assert {"note.md": "text\n", "drafts/one.md": "draft\n"} == host.tree() == await far.contents()
    assert {"/note.md"} == set(host.replica.state.baseline.paths)
    assert {"/drafts/one.md": "local_only_name"} == host.problems()


async def test_what_a_killed_worker_left_half_done_is_cleared(host: Host, far: Far) -> None:
    await far.write("note.md", "text\n")
    (host.store.staging / "pull-0123456789abcdef.0123456789ab").write_text("half")
    (host.store.base / ".0123.4567").write_text("half")

    host.restart()
    assert [] == await host.sync()

    assert [] == list(host.store.staging.iterdir())
    assert [] == list(host.store.base.glob(".*"))


async def test_directories_that_were_made_for_a_pull_go_with_their_last_memory(host: Host, far: Far) -> None:
    await far.write("a/b/note.md", "text\n")
    await far.write("c/note.md", "text\n")
    await far.write("kept.md", "text\n")
    await host.sync()
    host.write("c/.note.md.swp", "open in an editor")
    (host.store.tree / "mine").mkdir()

    await far.remove("a/b/note.md")
    await far.remove("c/note.md")
    await host.sync()

    assert {"c", "mine"} == host.directories()
