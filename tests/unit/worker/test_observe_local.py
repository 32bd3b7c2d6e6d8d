"""Looking at the tree: what is a memory, what is refused, what is not seen, what is not read again."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memfs.core.digest import content_sha256
from memfs.core.errors import ConcurrentChange
from memfs.core.limits import Limits
from memfs.core.names import Names
from memfs.core.paths import StorePath
from memfs.tree.local import LocalTree
from worker.observe_local import LocalObserver, Sight

NOTE = StorePath("/note.md")


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[LocalTree]:
    with LocalTree(tmp_path) as tree:
        yield tree


@pytest.fixture
def observer(tree: LocalTree, tmp_path: Path) -> LocalObserver:
    return LocalObserver(tree, tmp_path, Names(), Limits(), time.time)


def by_path(sights: list[Sight]) -> dict[str, Sight]:
    return {sight.shown: sight for sight in sights}


def test_a_scan_shows_files_directories_and_what_is_refused(observer: LocalObserver, tmp_path: Path) -> None:
    (tmp_path / "d" / "e").mkdir(parents=True)
    (tmp_path / "d" / "note.md").write_text("text")
    (tmp_path / "link").symlink_to("d")
    (tmp_path / os.fsdecode(b"\xe9")).write_text("text")
    (tmp_path / "note.md~").write_text("not seen")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("not seen")

    found = by_path(observer.scan(lambda _: None))

    assert {"/d", "/d/e", "/d/note.md", "/link", "/\\xe9"} == set(found)
    assert found["/d"].is_directory
    file = found["/d/note.md"].file
    assert file is not None
    assert content_sha256(b"text") == file.content_sha256
    assert {"/link": "not_a_file", "/\\xe9": "invalid_path"} == {
        path: sight.refusal.code for path, sight in found.items() if sight.refusal
    }


@pytest.mark.parametrize(("hours_later", "reads"), [(1.0, 0), (-1.0, 1)])
def test_a_scan_reads_only_what_its_identity_does_not_prove(
    hours_later: float, reads: int, tree: LocalTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "note.md").write_text("text")
    observer = LocalObserver(tree, tmp_path, Names(), Limits(), lambda: time.time() + 3600 * hours_later)
    (known,) = observer.scan(lambda _: None)
    count = 0
    read: Callable[[StorePath], object] = tree.read

    def counted(path: StorePath) -> object:
        nonlocal count
        count += 1
        return read(path)

    monkeypatch.setattr(tree, "read", counted)
    (again,) = observer.scan(lambda _: known.file)

    assert again.file is not None
    assert known.file is not None
    assert known.file.content_sha256 == again.file.content_sha256
    assert reads == count


def test_a_path_that_is_asked_for_is_always_read(observer: LocalObserver, tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("one")
    times = (tmp_path / "note.md").stat()
    observer.scan(lambda _: None)
    (tmp_path / "note.md").write_text("two")
    os.utime(tmp_path / "note.md", ns=(times.st_atime_ns, times.st_mtime_ns))

    sight = observer.look(b"note.md")

    assert sight is not None
    assert sight.file is not None
    assert content_sha256(b"two") == sight.file.content_sha256


def test_nothing_and_a_directory_are_told_apart(observer: LocalObserver, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()

    assert [Sight("/d", StorePath("/d"), is_directory=True), Sight("/none", StorePath("/none"))] == observer.look_at(
        [b"d", b"none", b"none~"]
    )


def test_an_oversized_file_is_refused_unread(observer: LocalObserver, tmp_path: Path) -> None:
    with (tmp_path / "big").open("wb") as big:
        big.truncate(1 << 40)

    sight = observer.look(b"big")

    assert sight is not None
    assert sight.refusal is not None
    assert "content_too_large" == sight.refusal.code


def test_a_file_that_changed_since_it_was_seen_is_not_what_is_sent(observer: LocalObserver, tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("one")
    sight = observer.look(b"note.md")
    assert sight is not None
    assert sight.file is not None
    assert b"one" == observer.read(NOTE, sight.file)

    (tmp_path / "note.md").write_text("two")
    with pytest.raises(ConcurrentChange, match="changed since"):
        observer.read(NOTE, sight.file)
    (tmp_path / "note.md").unlink()
    with pytest.raises(ConcurrentChange, match="gone since"):
        observer.read(NOTE, sight.file)
