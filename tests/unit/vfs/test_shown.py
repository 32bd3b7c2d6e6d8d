"""``.memfs/`` without a kernel: which nodes there are, what the kernel is told, and that nothing stays behind."""

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from memfs.core.tree_requests import Answer, Changed, Ping, Refresh, Reload, Replace
from memfs.state.store_state import StoreState
from memfs.tree.atomic import stage
from memfs.vfs.filesystem import FileSystem
from memfs.vfs.values import ROOT, InvalidateEntry, InvalidateInode, SetAttributes

NOTES = "memstore_notes"


@contextmanager
def recording(case: Any, store_id: str = NOTES) -> Iterator[StoreState]:
    with StoreState(case.layout.store(store_id)) as state, state.transaction():
        yield state


def found(served: FileSystem, path: str) -> int:
    """Look up each name of a path as the kernel does; return the last node."""
    node = ROOT
    for name in path.split("/"):
        node = served.lookup(node, name.encode()).nodeid
    return node


def told(served: FileSystem, path: str) -> Any:
    return json.loads(served.read(found(served, path), 1 << 20, 0))


def created(served: FileSystem, path: str) -> int:
    above, _, name = path.rpartition("/")
    return served.create(found(served, above), name.encode(), 0o644, os.O_WRONLY | os.O_CREAT)[0].nodeid


def names(served: FileSystem, node: int) -> list[str]:
    return sorted(entry.name.decode() for entry in served.readdir(node, 0))


def test_nothing_stays_once_the_kernel_forgot_it(case: Any) -> None:
    served = case.serve()
    created(served, "notes/a.md")
    lookups: dict[int, int] = {}
    for path in ("README.md", "status.json", "conflicts", "info/notes/a.md"):
        node = ROOT
        for name in (".memfs", *path.split("/")):
            node = served.lookup(node, name.encode()).nodeid
            lookups[node] = lookups.get(node, 0) + 1
    assert 3 == len(served._mounted.stores[NOTES].shown)
    before = served.apply(Ping()).facts["nodes"]

    for node, count in lookups.items():
        served.forget(node, count)

    assert before - len(lookups) == served.apply(Ping()).facts["nodes"]
    assert [{}, {}] == [store.shown for store in served._mounted.stores.values()]
    with pytest.raises(OSError, match="Stale"):
        served.getattr(node)


def test_an_old_text_is_kept_for_those_who_have_it_and_forgotten_with_the_last(case: Any) -> None:
    served = case.serve()
    created(served, "notes/a.md")
    old = found(served, ".memfs/info/notes/a.md")
    text = served.read(old, 1 << 20, 0)
    size = served.getattr(old).size

    with recording(case) as state:
        state.set_pending({"/a.md": "held"})
    served.apply(Changed(store_id=NOTES, paths=("/a.md",)))

    new = found(served, ".memfs/info/notes/a.md")
    assert new != old
    assert "held" == json.loads(served.read(new, 1 << 20, 0))["state"]
    assert (text, len(text)) == (served.read(old, 1 << 20, 0), size)
    assert size == served.getattr(old).size
    served.forget(old, 1)
    with pytest.raises(OSError, match="Stale"):
        served.read(old, 10, 0)


def test_the_kernel_is_told_only_of_what_it_knows(case: Any) -> None:
    served = case.serve()
    node = created(served, "notes/a.md")
    created(served, "notes/b.md")
    case.told.clear()

    served.write(node, b"text", 0, os.O_WRONLY)
    served.apply(Changed(store_id=NOTES, paths=("/a.md", "/b.md", "/none", "/d/none")))
    assert [] == case.told

    info = found(served, ".memfs/info/notes")
    found(served, ".memfs/info/notes/a.md")
    served.apply(Changed(store_id=NOTES, paths=("/a.md", "/b.md", "/none", "/d/none")))
    assert {InvalidateEntry(info, b"a.md"), InvalidateInode(info)} == set(case.told)


def test_a_write_tells_of_the_memory_once_until_it_is_looked_up_again(case: Any) -> None:
    served = case.serve()
    node = created(served, "notes/a.md")
    info = found(served, ".memfs/info/notes")
    found(served, ".memfs/info/notes/a.md")
    status, top = found(served, ".memfs/status.json"), found(served, ".memfs")
    case.told.clear()

    for position in range(3):
        served.write(node, b"x", position, os.O_WRONLY)

    assert [InvalidateEntry(top, b"status.json"), InvalidateEntry(info, b"a.md")] == [
        one for one in case.told if isinstance(one, InvalidateEntry)
    ]
    assert served.read(status, 1, 0) == b"{"


def test_times_and_bits_of_a_directory_are_told_anew(case: Any) -> None:
    served = case.serve()
    directory = served.mkdir(found(served, "notes"), b"d", 0o755).nodeid
    shown = found(served, ".memfs/info/notes/d")
    case.told.clear()

    served.setattr(directory, SetAttributes(mode=0o700))

    assert [InvalidateInode(shown)] == case.told
    assert 0o40500 == served.getattr(shown).mode


def test_a_pull_below_a_missing_directory_shows_it(case: Any) -> None:
    served = case.serve()
    info = found(served, ".memfs/info/notes")
    stage(case.layout.store(NOTES).staging, "s1", b"text")
    case.told.clear()

    served.apply(Replace(store_id=NOTES, path="/d/e/a.md", staged="s1", expect=None))

    assert InvalidateEntry(info, b"d") in case.told
    assert [".", "..", "a.md"] == names(served, found(served, ".memfs/info/notes/d/e"))


def test_a_store_that_is_detached_is_shown_no_more(case: Any) -> None:
    served = case.serve()
    created(served, "notes/a.md")
    text, readme = found(served, ".memfs/info/notes/a.md"), found(served, ".memfs/README.md")
    directory, info = found(served, ".memfs/info/notes"), found(served, ".memfs/info")
    before = served.read(text, 1 << 20, 0)
    case.attach("other", "third")

    assert Answer() == served.apply(Reload())

    assert [".", "..", "other", "third"] == names(served, found(served, ".memfs/info"))
    assert b"notes" not in served.read(found(served, ".memfs/README.md"), 1 << 20, 0)
    assert b"notes" in served.read(readme, 1 << 20, 0)
    assert before == served.read(text, 1 << 20, 0)
    for parent in (directory, info):
        with pytest.raises(OSError, match=r"No such file|Stale"):
            served.lookup(parent, b"a.md")
    with pytest.raises(OSError, match="Stale"):
        served.getattr(directory)


def test_a_slug_that_another_store_takes_over_shows_the_other_store(case: Any) -> None:
    served = case.serve()
    created(served, "notes/a.md")
    created(served, "other/b.md")
    inode = served.getattr(found(served, ".memfs/info/notes")).inode
    case.attach("notes=other", "other=notes")

    served.apply(Reload())

    assert [".", "..", "b.md"] == names(served, found(served, ".memfs/info/notes"))
    assert inode != served.getattr(found(served, ".memfs/info/notes")).inode


def test_what_was_changed_behind_the_mount_is_shown_after_a_refresh(case: Any) -> None:
    served = case.serve()
    created(served, "notes/a.md")
    found(served, ".memfs/info/notes/a.md")
    (case.tree("notes") / "a.md").unlink()
    (case.tree("notes") / "b.md").touch()

    served.apply(Refresh())

    assert [".", "..", "b.md"] == names(served, found(served, ".memfs/info/notes"))
    with pytest.raises(FileNotFoundError):
        found(served, ".memfs/info/notes/a.md")


def test_another_file_that_lies_there_behind_the_mount_is_told_of(case: Any) -> None:
    served = case.serve()
    created(served, "notes/a.md")
    found(served, ".memfs/info/notes/a.md")
    tree = case.tree("notes")
    (tree / "a.md").rename(tree / "aside")
    (tree / "a.md").mkdir()

    assert [".", ".."] == names(served, found(served, ".memfs/info/notes/a.md"))


def test_links_in_a_tree_are_neither_shown_nor_followed(case: Any) -> None:
    served = case.serve()
    tree = case.tree("notes")
    (tree / "out").symlink_to("/etc")
    (tree / "link.md").symlink_to("/etc/passwd")

    assert [".", ".."] == names(served, found(served, ".memfs/info/notes"))
    for path in ("out", "link.md", "out/passwd"):
        with pytest.raises(OSError, match="No such file"):
            found(served, f".memfs/info/notes/{path}")


def test_directories_cannot_be_read_and_files_have_no_names(case: Any) -> None:
    served = case.serve()

    for path in (".memfs", ".memfs/info", ".memfs/info/notes"):
        with pytest.raises(IsADirectoryError):
            served.read(found(served, path), 10, 0)
    for path in (".memfs/README.md", ".memfs/status.json"):
        with pytest.raises(NotADirectoryError):
            served.readdir(found(served, path), 0)
        with pytest.raises(NotADirectoryError):
            served.lookup(found(served, path), b"x")
    served.fsync(found(served, ".memfs/README.md"), datasync=False)


def test_a_mount_without_stores_tells_so(case: Any) -> None:
    case.attach()
    served = case.serve()

    assert {"stores": []} == told(served, ".memfs/status.json")
    assert b"" == served.read(found(served, ".memfs/conflicts"), 10, 0)
    assert [".", ".."] == names(served, found(served, ".memfs/info"))
    assert b"No store is attached." in served.read(found(served, ".memfs/README.md"), 1 << 20, 0)


def test_the_umask_of_the_mount_holds_here_too(case: Any) -> None:
    served = case.serve()

    assert 0o100440 == served.getattr(found(served, ".memfs/status.json")).mode
    assert [0o40550] * 3 == [
        served.getattr(found(served, one)).mode for one in (".memfs", ".memfs/info", ".memfs/info/notes")
    ]
    assert (1, 2) == served.getattr(found(served, ".memfs"))[5:7]


def test_a_new_database_is_read_though_the_old_one_was_open(case: Any) -> None:
    served = case.serve()
    created(served, "notes/a.md")
    with recording(case) as state:
        state.set_pending({"/a.md": "held"})
    assert "held" == told(served, ".memfs/info/notes/a.md")["state"]
    for one in case.layout.store(NOTES).root.glob("state.db*"):
        one.rename(one.with_name(f"aside-{one.name}"))

    with recording(case) as state:
        state.set_pending({"/a.md": "pending"})
    served.apply(Changed(store_id=NOTES, paths=("/a.md",)))

    assert "pending" == told(served, ".memfs/info/notes/a.md")["state"]


def test_no_descriptor_stays_behind(case: Any, open_descriptors: Any) -> None:
    served = case.serve()
    created(served, "notes/a.md")
    for name in ("README.md", "status.json", "conflicts", "info/notes/a.md"):
        found(served, f".memfs/{name}")
    served.apply(Changed(store_id=NOTES))
    served.apply(Changed(store_id="memstore_other"))
    before = open_descriptors()

    for _ in range(20):
        found(served, ".memfs/info/notes/a.md")
        served.readdir(found(served, ".memfs/info/notes"), 0)
        with pytest.raises(OSError) as refused:  # noqa: PT011  (which one is asked below)
            found(served, ".memfs/info/notes/none")
        assert errno.ENOENT == refused.value.errno
        served.apply(Changed(store_id=NOTES, paths=("/a.md",)))

    assert before == open_descriptors()
