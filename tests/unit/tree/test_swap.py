"""Compare-and-swap: a file is changed only if it is what was expected, and displaced bytes are kept."""

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest

from memfs.core.errors import InvalidPath
from memfs.core.tree_requests import Answer, Identity, Move, Outcome, Remove, Replace
from memfs.tree import swap
from memfs.tree.atomic import stage
from memfs.tree.local import LocalTree, identity_of
from memfs.tree.places import Places

STORE = "memstore_one"


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


class Directories(Protocol):
    tree: Path
    staging: Path
    trash: Path
    owner_lock: Path


@pytest.fixture
def places(directories: Directories) -> Iterator[Places]:
    with Places(directories) as opened:
        yield opened


def done(places: Places, request: Replace | Remove | Move, **rules: object) -> Answer:
    result = swap.perform(places, request, **rules)  # type: ignore[arg-type]  # the test names them
    if result.displaced >= 0:
        os.close(result.displaced)
    return swap.settle(result)


def identity(path: Path) -> Identity:
    return identity_of(path.stat())


def put(path: Path, text: str) -> Identity:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return identity(path)


def names(directories: Directories) -> list[tuple[str, bytes]]:
    """Return everything in the tree."""
    return sorted((str(path), path.read_bytes() if path.is_file() else b"") for path in directories.tree.rglob("*"))


def appended(expected: Identity, found: Identity) -> Outcome:
    return Outcome.APPLIED if found.size >= expected.size else Outcome.CHANGED


def test_a_new_file_is_put_with_its_missing_parents(directories: Directories, places: Places) -> None:
    stage(directories.staging, "s1", b"new")

    answer = done(places, Replace(store_id=STORE, path="/a/b/c.md", staged="s1", expect=None))

    target = directories.tree / "a/b/c.md"
    assert Answer(identity=identity(target), made=("/a", "/a/b")) == answer
    assert target.read_text() == "new"
    assert target.stat().st_mode & 0o777 == 0o644
    assert list(directories.staging.iterdir()) == []


def test_a_file_that_came_in_between_is_not_replaced(directories: Directories, places: Places) -> None:
    put(directories.tree / "a/c.md", "local")
    stage(directories.staging, "s1", b"new")

    answer = done(places, Replace(store_id=STORE, path="/a/c.md", staged="s1", expect=None))

    assert answer.outcome is Outcome.CHANGED
    assert (directories.tree / "a/c.md").read_text() == "local"
    assert (directories.staging / "s1").read_bytes() == b"new"


def test_directories_made_for_nothing_go_again(directories: Directories, places: Places) -> None:
    with pytest.raises(FileNotFoundError):
        done(places, Replace(store_id=STORE, path="/a/b/c.md", staged="missing", expect=None))

    assert list(directories.tree.iterdir()) == []


def test_a_file_in_the_way_of_a_directory_is_a_change_to_look_at(directories: Directories, places: Places) -> None:
    put(directories.tree / "a", "I am a file")
    stage(directories.staging, "s1", b"new")

    answer = done(places, Replace(store_id=STORE, path="/a/b.md", staged="s1", expect=None))

    assert answer.outcome is Outcome.CHANGED


def test_the_expected_file_is_replaced_and_keeps_its_mode(directories: Directories, places: Places) -> None:
    path = directories.tree / "a.md"
    put(path, "old")
    path.chmod(0o600)
    stage(directories.staging, "s1", b"newer")

    answer = done(places, Replace(store_id=STORE, path="/a.md", staged="s1", expect=identity(path)))

    assert Answer(identity=identity(path)) == answer
    assert path.read_text() == "newer"
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_displaced_file_can_still_be_read(directories: Directories, places: Places) -> None:
    expect = put(directories.tree / "a.md", "old")
    stage(directories.staging, "s1", b"new")

    result = swap.perform(places, Replace(store_id=STORE, path="/a.md", staged="s1", expect=expect))

    swap.settle(result)
    assert os.pread(result.displaced, 100, 0) == b"old"
    os.close(result.displaced)


@pytest.mark.parametrize("path", ["/a.md", "/gone.md", "/no/such.md"])
def test_anything_else_than_the_expected_file_stays(path: str, directories: Directories, places: Places) -> None:
    expect = put(directories.tree / "a.md", "old")
    (directories.tree / "a.md").write_text("edited")
    stage(directories.staging, "s1", b"new")

    answer = done(places, Replace(store_id=STORE, path=path, staged="s1", expect=expect))

    assert Answer(outcome=Outcome.CHANGED) == answer
    assert (directories.tree / "a.md").read_text() == "edited"


def test_bytes_appended_since_follow_the_new_ones(directories: Directories, places: Places) -> None:
    path = directories.tree / "log.md"
    expect = put(path, "one\n")
    with path.open("a") as log:
        log.write("two\n")
    stage(directories.staging, "s1", b"ONE\n")

    answer = done(places, Replace(store_id=STORE, path="/log.md", staged="s1", expect=expect), judge=appended)

    assert Answer(identity=identity(path), appended_bytes=4) == answer
    assert path.read_text() == "ONE\ntwo\n"


def test_appended_bytes_that_do_not_fit_are_left_to_reconcile(directories: Directories, places: Places) -> None:
    path = directories.tree / "log.md"
    expect = put(path, "one\n")
    path.write_text("one\ntwo\n")
    stage(directories.staging, "s1", b"ONE\n")
    request = Replace(store_id=STORE, path="/log.md", staged="s1", expect=expect)

    answer = done(places, request, judge=appended, at_most=7)

    assert answer.outcome is Outcome.CHANGED
    assert (directories.staging / "s1").read_bytes() == b"ONE\n"
    assert path.read_text() == "one\ntwo\n"


def test_a_forced_replace_keeps_the_displaced_bytes(directories: Directories, places: Places) -> None:
    expect = put(directories.tree / "d/a.md", "old")
    stage(directories.staging, "s1", b"new")

    done(places, Replace(store_id=STORE, path="/d/a.md", staged="s1", expect=expect, force=True))

    [kept] = directories.trash.iterdir()
    assert kept.read_text() == "old"
    assert kept.name.endswith("Z~d%2Fa.md")


def test_a_judge_may_ask_for_patience(directories: Directories, places: Places) -> None:
    expect = put(directories.tree / "a.md", "old")
    stage(directories.staging, "s1", b"new")
    request = Replace(store_id=STORE, path="/a.md", staged="s1", expect=expect)

    answer = done(places, request, judge=lambda _expected, _found: Outcome.BUSY)

    assert answer.outcome is Outcome.BUSY
    assert (directories.tree / "a.md").read_text() == "old"


def test_a_removed_file_is_in_trash_and_its_empty_directories_are_gone(
    directories: Directories, places: Places
) -> None:
    expect = put(directories.tree / "a/b/c.md", "old")
    put(directories.tree / "a/other.md", "stays")
    request = Remove(store_id=STORE, path="/a/b/c.md", expect=expect, trash="kept", prune=("/a", "/a/b"))

    answer = done(places, request)

    assert answer.outcome is Outcome.APPLIED
    assert (directories.trash / "kept").read_text() == "old"
    assert [path.name for path in (directories.tree / "a").iterdir()] == ["other.md"]


def test_a_changed_file_is_not_removed(directories: Directories, places: Places) -> None:
    expect = put(directories.tree / "a.md", "old")
    (directories.tree / "a.md").write_text("edited")

    answer = done(places, Remove(store_id=STORE, path="/a.md", expect=expect, trash="kept"), judge=appended)

    assert answer.outcome is Outcome.CHANGED
    assert list(directories.trash.iterdir()) == []


def test_trash_never_loses_what_it_has(directories: Directories, places: Places) -> None:
    (directories.trash / "kept").write_text("precious")
    expect = put(directories.tree / "a.md", "old")

    with pytest.raises(FileExistsError):
        done(places, Remove(store_id=STORE, path="/a.md", expect=expect, trash="kept"))

    assert (directories.trash / "kept").read_text() == "precious"
    assert (directories.tree / "a.md").read_text() == "old"


def test_a_moved_file_keeps_its_inode(directories: Directories, places: Places) -> None:
    expect = put(directories.tree / "a/x.md", "text")
    request = Move(store_id=STORE, path="/a/x.md", target="/b/c/y.md", expect=expect, prune=("/a",))

    answer = done(places, request)

    target = directories.tree / "b/c/y.md"
    assert Answer(identity=identity(target), made=("/b", "/b/c")) == answer
    assert identity(target).inode == expect.inode
    assert not (directories.tree / "a").exists()


def test_a_move_never_overwrites(directories: Directories, places: Places) -> None:
    expect = put(directories.tree / "x.md", "text")
    put(directories.tree / "y.md", "other")

    answer = done(places, Move(store_id=STORE, path="/x.md", target="/y.md", expect=expect))

    assert answer.outcome is Outcome.CHANGED
    assert (directories.tree / "y.md").read_text() == "other"


def test_a_symlink_leads_nowhere(directories: Directories, places: Places, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    expect = put(outside / "a.md", "secret")
    (directories.tree / "link").symlink_to(outside)
    (directories.tree / "a.md").symlink_to(outside / "a.md")

    through = done(places, Remove(store_id=STORE, path="/link/a.md", expect=expect, trash="kept"))
    itself = done(places, Remove(store_id=STORE, path="/a.md", expect=expect, trash="kept"))

    assert (Outcome.CHANGED, Outcome.CHANGED) == (through.outcome, itself.outcome)
    assert (outside / "a.md").read_text() == "secret"


@pytest.mark.parametrize("path", ["/../a.md", "a.md", "/a//b.md", "/./a.md"])
def test_a_path_that_is_no_store_path_is_refused(path: str, places: Places) -> None:
    with pytest.raises(InvalidPath):
        done(places, Remove(store_id=STORE, path=path, expect=Identity(1, 1, 1, 1), trash="kept"))


def test_no_descriptor_is_left_open(directories: Directories, places: Places) -> None:
    before = open_descriptors()
    expect = put(directories.tree / "a/b.md", "old")
    stage(directories.staging, "s1", b"new")

    replaced = done(places, Replace(store_id=STORE, path="/a/b.md", staged="s1", expect=expect, force=True))
    assert replaced.identity is not None
    moved = done(places, Move(store_id=STORE, path="/a/b.md", target="/c/d.md", expect=replaced.identity))
    assert moved.identity is not None
    done(places, Move(store_id=STORE, path="/a/b.md", target="/e/f.md", expect=replaced.identity))
    done(places, Remove(store_id=STORE, path="/c/d.md", expect=moved.identity, trash="kept", prune=("/c",)))

    assert open_descriptors() == before
    with LocalTree(directories.tree) as tree:
        assert [entry.relative for entry in tree.scan()] == [b"a"]


@pytest.mark.parametrize("failing", range(14))
@pytest.mark.parametrize("kind", ["put", "replace", "remove", "move"])
def test_a_process_without_descriptors_changes_nothing_or_all(
    kind: str, failing: int, directories: Directories, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    expect = put(directories.tree / "d/a.md", "old")
    staged = stage(directories.staging, "s", b"new").name
    request = {
        "put": Replace(store_id=STORE, path="/x/y.md", staged=staged, expect=None),
        "replace": Replace(store_id=STORE, path="/d/a.md", staged=staged, expect=expect, force=True),
        "remove": Remove(store_id=STORE, path="/d/a.md", expect=expect, trash="kept", prune=("/d",)),
        "move": Move(store_id=STORE, path="/d/a.md", target="/x/y.md", expect=expect, prune=("/d",)),
    }[kind]
    before, opened = names(directories), open_descriptors()
    calls = iter(range(100))

    def scarce(real: Callable[..., int]) -> Callable[..., int]:
        def call(*arguments: object, **named: object) -> int:
            if next(calls) == failing:
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
            return real(*arguments, **named)

        return call

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", scarce(os.open))
        patched.setattr(os, "dup", scarce(os.dup))
        try:
            answer = done(places, request)
        except OSError:
            answer = None

    assert (answer is None) == (before == names(directories))
    assert answer is None or answer.outcome is Outcome.APPLIED
    assert opened == open_descriptors()
