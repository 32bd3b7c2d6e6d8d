"""Stores of a mount: taken over at the start, attached, changed and detached while it lives, and counted."""

import errno
import os
import stat
from typing import Any

import pytest

from memfs.core.errors import AlreadyHeld, StoreFull, StoreReadOnly
from memfs.core.limits import Limits
from memfs.core.tree_requests import Answer, Ping, Refresh, Reload
from memfs.tree.owner import OwnerLock
from memfs.vfs.filesystem import FileSystem
from memfs.vfs.values import ROOT, InvalidateEntry, InvalidateInode

NOTES = "memstore_notes"


def notes_of(served: FileSystem) -> int:
    return served.lookup(ROOT, b"notes").nodeid


def created(served: FileSystem, parent: int, name: bytes, content: bytes = b"") -> int:
    node = served.create(parent, name, 0o644, os.O_WRONLY | os.O_CREAT)[0].nodeid
    if content:
        served.write(node, content, 0, os.O_WRONLY)
    return node


def test_a_tree_has_one_owner(case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memfs.vfs.store.LOCK_TIMEOUT_S", 0.05)
    with OwnerLock(case.layout.store("memstore_other").owner_lock), pytest.raises(AlreadyHeld, match="memstore_other"):
        case.serve()

    with OwnerLock(case.layout.store(NOTES).owner_lock):
        pass
    served = case.serve()
    with pytest.raises(AlreadyHeld):
        OwnerLock(case.layout.store(NOTES).owner_lock).acquire()
    served.close()
    with OwnerLock(case.layout.store(NOTES).owner_lock):
        pass


def test_a_store_that_is_attached_appears(case: Any) -> None:
    served = case.serve()
    case.attach("notes", "other", "third")

    assert Answer() == served.apply(Reload())

    names = [entry.name for entry in served.readdir(ROOT, 0)]
    assert names == [b".", b"..", b"notes", b"other", b"third", b".memfs"]
    assert [InvalidateInode(ROOT)] == case.told
    assert served.lookup(ROOT, b"third").mode & stat.S_IFDIR


def test_a_store_that_is_detached_goes_and_its_files_stay(case: Any) -> None:
    served = case.serve()
    node = created(served, notes_of(served), b"a.md", b"text")
    case.attach("other")

    assert Answer() == served.apply(Reload())

    assert [InvalidateEntry(ROOT, b"notes"), InvalidateInode(ROOT)] == case.told
    with pytest.raises(FileNotFoundError):
        served.lookup(ROOT, b"notes")
    with pytest.raises(OSError, match="Stale"):
        served.read(node, 10, 0)
    with pytest.raises(OSError, match="Stale"):
        served.write(node, b"x", 0, os.O_WRONLY)
    served.forget(node, 1)
    assert (case.tree("notes") / "a.md").read_text() == "text"
    with OwnerLock(case.layout.store(NOTES).owner_lock):
        pass
    assert [one.attachment.slug for one in served.stores] == ["other"]


def test_a_store_may_change_its_access_and_its_name(case: Any) -> None:
    served = case.serve()
    notes = notes_of(served)
    node = created(served, notes, b"a.md", b"text")
    case.attach("renamed=notes", "notes=other", read_only=True)

    served.apply(Reload())

    assert served.lookup(ROOT, b"renamed").nodeid == notes
    assert served.lookup(ROOT, b"notes").nodeid != notes
    assert not served.getattr(node).mode & 0o222
    with pytest.raises(StoreReadOnly):
        served.write(node, b"x", 0, os.O_WRONLY)
    assert {InvalidateInode(ROOT), InvalidateInode(node)} <= set(case.told)
    assert {InvalidateEntry(ROOT, b"other"), InvalidateEntry(ROOT, b"notes")} <= set(case.told)


def test_a_name_that_still_stands_for_its_store_is_never_forgotten(case: Any) -> None:
    served = case.serve()
    case.attach("notes", "third", read_only=True)

    served.apply(Reload())
    served.apply(Refresh())

    assert InvalidateEntry(ROOT, b"other") in case.told
    assert InvalidateEntry(ROOT, b"notes") not in case.told


def test_a_store_that_cannot_be_taken_leaves_all_as_it_was(case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memfs.vfs.store.LOCK_TIMEOUT_S", 0.05)
    served = case.serve()
    case.attach("notes", "third")

    with OwnerLock(case.layout.store("memstore_third").owner_lock):
        answer = served.apply(Reload())

    assert (answer.errno, "memstore_third" in answer.error) == (errno.EBUSY, True)
    assert [one.attachment.slug for one in served.stores] == ["notes", "other"]


def test_refresh_shows_what_was_changed_behind_the_mount(case: Any) -> None:
    served = case.serve()
    notes = notes_of(served)
    directory = served.mkdir(notes, b"d", 0o755).nodeid
    old = created(served, notes, b"a.md", b"old")
    (case.tree("notes") / "a.md").unlink()
    (case.tree("notes") / "a.md").write_text("changed behind")
    (case.tree("notes") / "new.md").write_text("new")

    assert Answer() == served.apply(Refresh())

    told = set(case.told)
    assert {InvalidateEntry(notes, name) for name in (b"a.md", b"new.md", b"d")} <= told
    assert {InvalidateInode(notes), InvalidateInode(directory), InvalidateInode(old)} <= told
    assert not any(isinstance(one, InvalidateEntry) and one.parent == ROOT for one in told)
    found = served.lookup(notes, b"a.md")
    assert served.read(found.nodeid, 100, 0) == b"changed behind"
    assert served.statfs(notes).files_free == 10_000 - 2


def test_memories_in_the_tree_are_counted_local_only_names_are_not(case: Any) -> None:
    tree = case.tree("notes")
    for name in ("a.md", "b~", ".git/config", "d/e/f.md", "__pycache__/x.pyc", "d/__pycache__/y.pyc"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text("")
    (tree / "link").symlink_to("a.md")

    served = case.serve(Limits(memories=3))
    notes = notes_of(served)

    assert (served.statfs(notes).files, served.statfs(notes).files_free) == (3, 1)
    created(served, notes, b"last.md")
    with pytest.raises(StoreFull):
        created(served, notes, b"more.md")


@pytest.mark.parametrize("asks_first", [True, False])
def test_the_count_of_memories_is_right_whenever_it_is_first_asked(case: Any, asks_first: bool) -> None:
    for name in ("a.md", "b.md", "c~"):
        (case.tree("notes") / name).write_text("")
    served = case.serve(Limits(memories=5))
    notes = notes_of(served)
    if asks_first:
        assert served.statfs(notes).files_free == 3

    created(served, notes, b"d~")
    served.unlink(notes, b"a.md")
    served.rename(notes, b"b.md", notes, b"b~")
    served.rename(notes, b"c~", notes, b"c.md")
    created(served, notes, b"e.md")

    assert served.statfs(notes).files_free == 3


def test_a_renamed_directory_may_not_overfill_its_store(case: Any) -> None:
    for name in ("a~", "b~"):
        (case.tree("notes") / "d").mkdir(exist_ok=True)
        (case.tree("notes") / "d" / name).write_text("text")
    (case.tree("notes") / "d~").mkdir()
    (case.tree("notes") / "d~/c.md").write_text("")
    (case.tree("notes") / "d~/e.md").write_text("")
    served = case.serve(Limits(memories=1))
    notes = notes_of(served)

    with pytest.raises(StoreFull):
        served.rename(notes, b"d~", notes, b"x")
    served.rename(notes, b"d", notes, b"y")

    assert served.statfs(notes).files_free == 1


def test_a_ping_names_the_stores(case: Any) -> None:
    facts = case.serve().apply(Ping()).facts

    expected = {"pid": os.getpid(), "stores": ["memstore_notes", "memstore_other"], "nodes": 3}
    assert expected == facts


def test_links_are_refused_where_files_may_be_made_and_elsewhere_too(case: Any) -> None:
    served = case.serve()

    with pytest.raises(PermissionError):
        served.refuse_special(notes_of(served))
    with pytest.raises(StoreReadOnly):
        served.refuse_special(ROOT)


def test_a_mount_of_nothing_is_an_empty_directory(case: Any) -> None:
    case.attach()

    served = case.serve()

    assert [entry.name for entry in served.readdir(ROOT, 0)] == [b".", b"..", b".memfs"]
    assert served.statfs(ROOT).files == 0
