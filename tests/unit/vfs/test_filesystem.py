"""FileSystem: nodes, what the kernel is told, and stores that come and go."""

import errno
import os
import stat
from collections.abc import Callable
from typing import Any

import pytest

from memfs.core.errors import InvalidContent, StoreReadOnly
from memfs.core.tree_requests import Answer, Identity, Move, Outcome, Refresh, Reload, Remove, Replace
from memfs.tree.atomic import stage
from memfs.tree.local import identity_of
from memfs.vfs.filesystem import FileSystem
from memfs.vfs.values import ROOT, Announcement, Event, InvalidateEntry, InvalidateInode, SetAttributes

NOTES = "memstore_notes"


def notes_of(served: FileSystem) -> int:
    return served.lookup(ROOT, b"notes").nodeid


def created(served: FileSystem, parent: int, name: bytes, content: bytes = b"") -> int:
    node = served.create(parent, name, 0o644, os.O_WRONLY | os.O_CREAT)[0].nodeid
    if content:
        served.write(node, content, 0, os.O_WRONLY)
    return node


def observed(case: Any, path: str) -> Identity:
    return identity_of((case.tree("notes") / path).stat())


def replace(case: Any, served: FileSystem, path: str, content: bytes, expect: Identity | None) -> Answer:
    stage(case.layout.store(NOTES).staging, "s1", content)
    return served.apply(Replace(store_id=NOTES, path=path, staged="s1", expect=expect))


# ------------------------------------------------------------------------------------------------------------ nodes


def test_a_node_lives_as_long_as_the_kernel_knows_it(case: Any) -> None:
    served = case.serve()
    notes = notes_of(served)
    node = created(served, notes, b"a.md", b"text")
    assert served.lookup(notes, b"a.md").nodeid == node

    served.forget(node, 1)
    assert served.read(node, 10, 0) == b"text"
    served.forget(node, 1)

    with pytest.raises(OSError, match="Stale") as refused:
        served.getattr(node)
    assert refused.value.errno == errno.ESTALE
    assert served.lookup(notes, b"a.md").nodeid != node


def test_a_name_that_comes_again_has_another_node(case: Any) -> None:
    served = case.serve()
    notes = notes_of(served)
    first = created(served, notes, b"a.md")
    served.unlink(notes, b"a.md")

    assert created(served, notes, b"a.md") > first


def test_a_directory_keeps_its_node_while_a_node_is_below(case: Any) -> None:
    served = case.serve()
    notes = notes_of(served)
    directory = served.mkdir(notes, b"d", 0o755).nodeid
    node = created(served, directory, b"a.md", b"text")

    served.forget(directory, 1)

    assert served.read(node, 10, 0) == b"text"
    assert served.lookup(notes, b"d").nodeid == directory
    served.forget(directory, 1)
    served.forget(node, 1)
    with pytest.raises(OSError, match="Stale"):
        served.getattr(directory)


def test_what_is_forgotten_leaves_no_descriptor(case: Any, open_descriptors: Callable[[], int]) -> None:
    served = case.serve()
    notes = notes_of(served)
    before = open_descriptors()
    nodes = [created(served, notes, b"%d" % number) for number in range(400)]
    for number in range(0, 400, 2):
        served.unlink(notes, b"%d" % number)
    assert (
        served.apply(Remove(store_id=NOTES, path="/1", expect=observed(case, "1"), trash="t", force=True)).error == ""
    )
    case.now_ns += 10**10
    assert replace(case, served, "/3", b"new", observed(case, "3")).outcome is Outcome.APPLIED

    for node in nodes:
        served.forget(node, 1)

    assert open_descriptors() == before


def test_descriptors_of_what_is_open_no_more_are_few(case: Any, open_descriptors: Callable[[], int]) -> None:
    served = case.serve()
    notes = notes_of(served)
    before = open_descriptors()

    for number in range(1000):
        created(served, notes, b"%d" % number, b"text")

    assert open_descriptors() - before <= 256


def test_a_directory_deeper_than_the_kept_descriptors_is_reached(case: Any) -> None:
    served = case.serve()
    node = notes_of(served)
    node = served.mkdir(node, b".git", 0o755).nodeid
    for _ in range(199):
        node = served.mkdir(node, b"d", 0o755).nodeid
    for number in range(300):
        created(served, notes_of(served), b"%d" % number)

    assert [entry.name for entry in served.readdir(node, 0)] == [b".", b".."]
    with pytest.raises(OSError, match="too long"):
        served.mkdir(node, b"d", 0o755)


def test_create_finds_what_came_while_the_kernel_thought_the_name_free(case: Any) -> None:
    served = case.serve()
    notes = notes_of(served)
    replace(case, served, "/a.md", b"pulled", None)

    opened, handle = served.create(notes, b"a.md", 0o644, os.O_WRONLY | os.O_CREAT)
    with pytest.raises(FileExistsError):
        served.create(notes, b"a.md", 0o644, os.O_WRONLY | os.O_CREAT | os.O_EXCL)

    assert (opened.size, handle > 0) == (6, True)
    emptied, _ = served.create(notes, b"a.md", 0o644, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    assert (opened.nodeid, 0) == (emptied.nodeid, emptied.size)


def test_opening_asks_for_writing_only_where_it_may_be(case: Any) -> None:
    (case.tree("notes") / "a.md").write_text("text")
    served = case.serve()
    node = served.lookup(notes_of(served), b"a.md").nodeid
    handle = served.open(node, os.O_RDWR)
    assert served.read(node, 10, 0, handle) == b"text"
    served.flush(node, handle)
    served.release(node, handle)

    case.attach("notes", "other", read_only=True)
    served.apply(Reload())

    assert served.open(node, os.O_RDONLY) > 0
    with pytest.raises(StoreReadOnly):
        served.open(node, os.O_WRONLY)


def test_a_superseded_node_is_opened_anew_for_reading_only(case: Any) -> None:
    served = case.serve()
    node = created(served, notes_of(served), b"a.md", b"old")
    case.now_ns += 10**10
    assert replace(case, served, "/a.md", b"new", observed(case, "a.md")).outcome is Outcome.APPLIED

    with pytest.raises(OSError, match="Stale"):
        served.open(node, os.O_WRONLY)
    handle = served.open(node, os.O_RDONLY)
    assert served.read(node, 10, 0, handle) == b"old"


def test_a_pulled_file_is_not_busy_for_what_was_written_to_its_inode_before(case: Any) -> None:
    """File systems give an inode anew at once: a pulled file may get the one of a file just written and removed."""
    served = case.serve()
    notes = notes_of(served)
    created(served, notes, b"b.md", b"gone in a moment")
    (case.layout.store(NOTES).staging / "same-inode").hardlink_to(case.tree("notes") / "b.md")
    served.unlink(notes, b"b.md")
    served.apply(Replace(store_id=NOTES, path="/c.md", staged="same-inode", expect=None))

    assert replace(case, served, "/c.md", b"newer", observed(case, "c.md")).outcome is Outcome.APPLIED


def test_the_directory_of_a_store_shows_the_bits_of_the_mount_not_those_of_the_private_state(case: Any) -> None:
    served = case.serve()

    assert stat.S_IMODE(served.getattr(notes_of(served)).mode) == 0o750
    assert stat.S_IMODE(case.tree("notes").stat().st_mode) == 0o700


def test_the_umask_of_the_mount_takes_bits_from_what_is_new(case: Any) -> None:
    served = case.serve()
    notes = notes_of(served)
    replace(case, served, "/d/a.md", b"pulled", None)
    made = served.create(notes, b"b.md", 0o666, os.O_CREAT)[0]
    directory = served.lookup(notes, b"d")

    assert served.lookup(directory.nodeid, b"a.md").mode == stat.S_IFREG | 0o640
    assert (directory.mode, made.mode) == (stat.S_IFDIR | 0o750, stat.S_IFREG | 0o640)
    assert served.getattr(ROOT).mode == stat.S_IFDIR | 0o550
    assert (made.uid, made.gid) == (1, 2)


# --------------------------------------------------------------------------------------------- what the kernel is told


def test_nothing_is_told_of_what_the_kernel_did_itself(case: Any) -> None:
    served = case.serve()
    notes = notes_of(served)
    node = created(served, notes, b"a.md", b"text")
    served.rename(notes, b"a.md", notes, b"b.md")
    served.setattr(node, SetAttributes(size=0))
    served.unlink(notes, b"b.md")

    assert case.told == []


def test_a_replaced_file_is_told_by_its_name_and_directory(case: Any) -> None:
    served = case.serve()
    notes = notes_of(served)
    created(served, notes, b"a.md", b"old")
    case.now_ns += 10**10

    replace(case, served, "/a.md", b"new", observed(case, "a.md"))

    announced = Announcement(b"notes/a.md", Event.EDITED)
    assert [InvalidateEntry(notes, b"a.md"), InvalidateInode(notes), announced] == case.told


def test_the_first_name_that_the_kernel_may_know_is_told(case: Any) -> None:
    served = case.serve()
    notes = notes_of(served)

    replace(case, served, "/a/b/c.md", b"new", None)

    assert [InvalidateEntry(notes, b"a"), InvalidateInode(notes)] == case.told[:2]


def test_programs_hear_of_a_pulled_file_after_the_directories_that_were_made_for_it(case: Any) -> None:
    served = case.serve()
    notes_of(served)

    replace(case, served, "/a/b/c.md", b"new", None)
    replace(case, served, "/d.md", b"new", None)

    assert [one for one in case.told if isinstance(one, Announcement)] == [
        Announcement(b"notes/a", Event.MADE_DIRECTORY),
        Announcement(b"notes/a/b", Event.MADE_DIRECTORY),
        Announcement(b"notes/a/b/c.md", Event.MADE),
        Announcement(b"notes/d.md", Event.MADE),
    ]


def test_a_pulled_rename_is_announced_under_its_new_name(case: Any) -> None:
    served = case.serve()
    created(served, notes_of(served), b"a.md", b"text")

    served.apply(Move(store_id=NOTES, path="/a.md", target="/e/b.md", expect=observed(case, "a.md")))

    assert [one for one in case.told if isinstance(one, Announcement)] == [
        Announcement(b"notes/e", Event.MADE_DIRECTORY),
        Announcement(b"notes/e/b.md", Event.MADE),
    ]


def test_a_refused_pull_is_not_announced(case: Any) -> None:
    served = case.serve()
    created(served, notes_of(served), b"a.md", b"just written")

    answer = replace(case, served, "/a.md", b"pulled", observed(case, "a.md"))

    assert answer.outcome is Outcome.BUSY
    assert not any(isinstance(one, Announcement) for one in case.told)


def test_nothing_is_told_below_what_the_kernel_does_not_know(case: Any) -> None:
    served = case.serve()

    replace(case, served, "/a.md", b"new", None)

    assert case.told == []


def test_both_names_of_a_move_and_pruned_directories_are_told(case: Any) -> None:
    served = case.serve()
    notes = notes_of(served)
    directory = served.mkdir(notes, b"d", 0o755).nodeid
    created(served, directory, b"a.md", b"text")

    answer = served.apply(
        Move(store_id=NOTES, path="/d/a.md", target="/e/b.md", expect=observed(case, "d/a.md"), prune=("/d",))
    )

    assert answer.outcome is Outcome.APPLIED
    entries = [one for one in case.told if isinstance(one, InvalidateEntry)]
    expected = [InvalidateEntry(directory, b"a.md"), InvalidateEntry(notes, b"e"), InvalidateEntry(notes, b"d")]
    assert entries == expected


def test_an_append_through_a_superseded_node_is_told_of_the_current_one(case: Any) -> None:
    served = case.serve()
    notes = notes_of(served)
    old = created(served, notes, b"log", b"one\n")
    case.now_ns += 10**10
    replace(case, served, "/log", b"ONE\n", observed(case, "log"))
    current = served.lookup(notes, b"log").nodeid
    case.told.clear()

    served.write(old, b"two\n", 4, os.O_WRONLY | os.O_APPEND)

    assert [InvalidateInode(current)] == case.told
    assert served.read(current, 100, 0) == b"ONE\ntwo\n"
    assert served.read(old, 100, 0) == b"one\ntwo\n"


def test_a_refused_write_is_told_for_the_kernel_keeps_the_bytes_of_a_mapping(case: Any) -> None:
    served = case.serve()
    notes = notes_of(served)
    node = served.create(notes, b"a.md", 0o644, os.O_RDWR | os.O_CREAT)[0].nodeid
    case.told.clear()

    with pytest.raises(InvalidContent):
        served.write(node, b"\xff", 0, os.O_RDWR)

    assert [InvalidateInode(node)] == case.told


@pytest.mark.parametrize("expects", [True, False])
def test_a_file_that_somebody_took_away_behind_the_mount_is_put_again(case: Any, expects: bool) -> None:
    served = case.serve()
    created(served, notes_of(served), b"a.md", b"old")
    case.now_ns += 10**10
    served.apply(Refresh())
    expect = observed(case, "a.md")
    (case.tree("notes") / "a.md").unlink()

    answer = replace(case, served, "/a.md", b"new", expect if expects else None)

    assert (Outcome.CHANGED if expects else Outcome.APPLIED, "") == (answer.outcome, answer.error)
    assert expects or b"new" == served.read(served.lookup(notes_of(served), b"a.md").nodeid, 10, 0)
