"""What a person decides about single files: conflicts are ended, and trash is put back, and the sync follows."""

import pytest
from hosts import Far, Host, MakeHost

from memfs.core.attachment import Access
from memfs.core.conflicts import ConflictPolicy, conflict_path
from memfs.core.digest import content_sha256
from memfs.core.errors import (
    ContentTooLarge,
    InvalidPath,
    InvalidRequest,
    NotFound,
    PathConflict,
    StoreReadOnly,
    UsageError,
)
from memfs.core.paths import StorePath
from memfs.core.worker_requests import Resolve, RestoreTrash, Take
from worker.resolving import resolve, restore_trash

pytestmark = pytest.mark.anyio

NOTE = "note.md"


def copy_of(name: str, content: str) -> str:
    return conflict_path(StorePath("/" + name), content_sha256(content.encode()))[1:]


def asked(host: Host, path: str, take: Take, content: str = "") -> Resolve:
    return Resolve(store_id=host.attachment.store_id, path="/" + path, take=take, content=content)


async def in_conflict(host: Host, far: Far, local: str = "local\n") -> str:
    """Let both sides edit one line; return the name of the copy."""
    host.write(NOTE, "base\n")
    await host.sync()
    host.write(NOTE, local)
    await far.write(NOTE, "remote\n")
    assert [] == await host.sync()
    return copy_of(NOTE, local)


@pytest.mark.parametrize(("take", "expected"), [(Take.LOCAL, "local\n"), (Take.REMOTE, "remote\n")])
@pytest.mark.parametrize("by_copy", [False, True])
async def test_the_taken_text_keeps_the_name_on_both_sides(
    take: Take, expected: str, host: Host, far: Far, *, by_copy: bool
) -> None:
    copy = await in_conflict(host, far)

    await resolve(host.replica, asked(host, copy if by_copy else NOTE, take))

    assert [] == await host.sync()
    assert {NOTE: expected} == host.tree() == await far.contents()
    assert [] == host.conflicts()


async def test_a_given_text_keeps_the_name_and_every_copy_goes(host: Host, far: Far) -> None:
    await in_conflict(host, far)
    host.write(NOTE, "again local\n")
    await far.write(NOTE, "again remote\n")
    await host.sync()
    assert 3 == len(host.tree())

    await resolve(host.replica, asked(host, NOTE, Take.GIVEN, "both\n"))

    assert [] == await host.sync()
    assert {NOTE: "both\n"} == host.tree() == await far.contents()
    assert {"local\n", "again local\n", "again remote\n"} <= set(host.trash())


async def test_of_several_copies_the_one_to_take_has_to_be_named(host: Host, far: Far) -> None:
    first = await in_conflict(host, far)
    host.write(NOTE, "again local\n")
    await far.write(NOTE, "again remote\n")
    await host.sync()

    with pytest.raises(UsageError, match="2 conflict copies"):
        await resolve(host.replica, asked(host, NOTE, Take.LOCAL))
    await resolve(host.replica, asked(host, first, Take.LOCAL))

    assert [] == await host.sync()
    assert {NOTE: "local\n", copy_of(NOTE, "again local\n"): "again local\n"} == host.tree()


async def test_a_copy_that_another_host_made_is_resolved_here(make_host: MakeHost, far: Far) -> None:
    a, b = make_host("a"), make_host("b")
    await in_conflict(a, far)
    await b.sync()

    await resolve(b.replica, asked(b, NOTE, Take.LOCAL))
    for host in (b, a):
        assert [] == await host.sync()

    assert {NOTE: "local\n"} == a.tree() == b.tree() == await far.contents()
    assert [] == a.conflicts()


async def test_a_copy_of_the_remotes_text_is_the_remotes(make_host: MakeHost, far: Far) -> None:
    host = make_host(policy=ConflictPolicy.LOCAL)
    host.write(NOTE, "base\n")
    await host.sync()
    host.write(NOTE, "local\n")
    await far.write(NOTE, "remote\n")
    await host.sync()
    assert "local\n" == host.tree()[NOTE]

    await resolve(host.replica, asked(host, NOTE, Take.REMOTE))

    assert [] == await host.sync()
    assert {NOTE: "remote\n"} == host.tree() == await far.contents()


async def test_a_file_that_is_gone_meanwhile_comes_back_with_the_taken_text(host: Host, far: Far) -> None:
    copy = await in_conflict(host, far)
    host.write("kept.md", "kept\n")
    host.remove(NOTE)
    assert [] == await host.sync()

    await resolve(host.replica, asked(host, copy, Take.LOCAL))

    assert [] == await host.sync()
    assert {NOTE: "local\n", "kept.md": "kept\n"} == host.tree() == await far.contents()


async def test_what_cannot_be_resolved_changes_nothing(host: Host, far: Far) -> None:
    copy = await in_conflict(host, far)
    host.write("other.md", "other\n")
    await host.sync()
    before = host.tree()

    for path, take, content, error in (
        ("other.md", Take.LOCAL, "", NotFound),
        ("missing.md", Take.LOCAL, "", NotFound),
        ("../tree/x", Take.LOCAL, "", InvalidPath),
        (copy, Take.GIVEN, "x" * 102_401, ContentTooLarge),
    ):
        with pytest.raises(error):
            await resolve(host.replica, asked(host, path, take, content))

    assert before == host.tree()


async def test_a_read_only_store_resolves_nothing(make_host: MakeHost) -> None:
    host = make_host(access=Access.READ_ONLY)
    await host.sync()

    with pytest.raises(StoreReadOnly):
        await resolve(host.replica, asked(host, NOTE, Take.LOCAL))
    with pytest.raises(StoreReadOnly):
        await restore_trash(host.replica, RestoreTrash(store_id=host.attachment.store_id, name="x", path="/x"))


# -------------------------------------------------------------------------------------------------------------- trash


async def test_what_was_removed_comes_back_from_trash_and_is_a_memory_again(host: Host, far: Far) -> None:
    host.write("d/note.md", "text\n")
    host.write("kept.md", "kept\n")
    await host.sync()
    await far.remove("d/note.md")
    await host.sync()
    (kept,) = host.store.trash.iterdir()

    request = RestoreTrash(store_id=host.attachment.store_id, name=kept.name, path="/d/note.md")
    await restore_trash(host.replica, request)

    assert [] == await host.sync()
    assert {"d/note.md": "text\n", "kept.md": "kept\n"} == host.tree() == await far.contents()
    assert [] == host.trash()


async def test_trash_takes_nobodys_place(host: Host, far: Far) -> None:
    host.write(NOTE, "text\n")
    host.write("kept.md", "kept\n")
    await host.sync()
    await far.remove(NOTE)
    await host.sync()
    host.write(NOTE, "new\n")
    (kept,) = host.store.trash.iterdir()

    with pytest.raises(PathConflict):
        await restore_trash(
            host.replica, RestoreTrash(store_id=host.attachment.store_id, name=kept.name, path=f"/{NOTE}")
        )

    assert "new\n" == host.tree()[NOTE]
    assert ["text\n"] == host.trash()


@pytest.mark.parametrize(
    ("name", "error"),
    [("missing", NotFound), ("../state.db", InvalidRequest), ("..", InvalidRequest), ("", InvalidRequest)],
)
async def test_only_files_of_the_trash_come_back(name: str, error: type[Exception], host: Host) -> None:
    with pytest.raises(error):
        await restore_trash(host.replica, RestoreTrash(store_id=host.attachment.store_id, name=name, path="/x"))
