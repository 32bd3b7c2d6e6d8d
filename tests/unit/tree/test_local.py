"""LocalTree: what the worker sees of the files of a store."""

import os
from pathlib import Path

import pytest

from memfs.core.errors import ConcurrentChange
from memfs.core.paths import StorePath
from memfs.tree import local
from memfs.tree.local import Kind, LocalTree, identity_of


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "tree/a").mkdir(parents=True)
    (tmp_path / "tree/a/b.md").write_text("text")
    return tmp_path / "tree"


def test_read_returns_the_bytes_and_whose_they_are(root: Path) -> None:
    with LocalTree(root) as tree:
        content, identity = tree.read(StorePath("/a/b.md"))

    assert content == b"text"
    assert identity_of((root / "a/b.md").stat()) == identity


@pytest.mark.parametrize("path", ["/a", "/gone", "/a/b.md/c", "/link", "/pipe", "/out/b.md"])
def test_what_is_no_regular_file_in_the_tree_is_not_there(path: str, root: Path) -> None:
    (root / "link").symlink_to(root / "a/b.md")
    (root / "out").symlink_to(root / "a")
    os.mkfifo(root / "pipe")

    with LocalTree(root) as tree:
        assert tree.identity(StorePath(path)) is None
        with pytest.raises(FileNotFoundError):
            tree.read(StorePath(path))


def test_a_file_that_changes_while_it_is_read_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_and_change(descriptor: int, size: int) -> bytes:
        content = os.pread(descriptor, size, 0)
        (root / "a/b.md").write_text("same")
        os.utime(root / "a/b.md", ns=(0, 0))
        return content

    monkeypatch.setattr(local, "_read_whole", read_and_change)
    with LocalTree(root) as tree, pytest.raises(ConcurrentChange):
        tree.read(StorePath("/a/b.md"))


def test_a_scan_names_everything_once_directories_first(root: Path) -> None:
    (root / "link").symlink_to("/")
    (root / "a/é.md").write_text("")
    (root / os.fsdecode(b"\xff")).write_text("")

    with LocalTree(root) as tree:
        found = {entry.relative: entry.kind for entry in tree.scan()}

    expected = {
        b"a": Kind.DIRECTORY,
        b"a/b.md": Kind.FILE,
        "a/é.md".encode(): Kind.FILE,
        b"link": Kind.OTHER,
        b"\xff": Kind.FILE,
    }
    assert expected == found


def test_a_scan_looks_only_where_it_is_told_to(root: Path) -> None:
    (root / ".git").mkdir()
    (root / ".git/config").write_text("")

    with LocalTree(root) as tree:
        found = {entry.relative for entry in tree.scan(lambda relative: relative != b".git")}

    assert {b"a", b"a/b.md", b".git"} == found


def test_a_scan_that_is_given_up_leaves_no_descriptor(root: Path) -> None:
    with LocalTree(root) as tree:
        before = open_descriptors()
        scan = tree.scan()
        next(scan)
        del scan

        assert open_descriptors() == before
