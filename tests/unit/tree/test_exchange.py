"""Programs that change a tree behind its owner's back lose nothing by a pull that comes at the same moment."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memfs.core.tree_requests import Identity, Outcome, Remove, Replace
from memfs.tree import exchange
from memfs.tree.atomic import stage
from memfs.tree.local import identity_of
from memfs.tree.owner import DirectOwner

STORE = "memstore_one"
SAVED = "saved in this very moment"


@pytest.fixture
def owner(directories: Any) -> DirectOwner:
    return DirectOwner(lambda _: directories, is_shared=True)


@pytest.fixture
def file(directories: Any) -> Path:
    path: Path = directories.tree / "a.md"
    path.write_text("old")
    return path


@pytest.fixture
def save_meanwhile(monkeypatch: pytest.MonkeyPatch, file: Path) -> Callable[[], None]:
    """Have a program save the file anew after it was compared, and before it is changed."""
    rename = exchange._rename

    def begin() -> None:
        def interrupted(*words: object) -> None:
            monkeypatch.setattr(exchange, "_rename", rename)
            new = file.with_name("new")
            new.write_text(SAVED)
            new.replace(file)
            rename(*words)

        monkeypatch.setattr(exchange, "_rename", interrupted)

    return begin


def kept(directories: Any) -> list[str]:
    return sorted(path.read_text() for path in directories.trash.iterdir())


def replacing(directories: Any, file: Path, expect: Identity | None = None) -> Replace:
    stage(directories.staging, "one", b"pulled")
    return Replace(store_id=STORE, path="/a.md", staged="one", expect=expect or identity_of(file.stat()))


def test_a_displaced_file_is_kept_and_takes_late_writes_with_it(
    owner: DirectOwner, directories: Any, file: Path
) -> None:
    with file.open("a") as late:
        answer = owner.ask(replacing(directories, file))
        late.write(" and more")

    assert (answer.outcome, file.read_text()) == (Outcome.APPLIED, "pulled")
    assert answer.identity == identity_of(file.stat())
    assert ["old and more"] == kept(directories)


def test_a_save_at_the_moment_of_a_pull_stays(
    owner: DirectOwner, directories: Any, file: Path, save_meanwhile: Callable[[], None]
) -> None:
    request = replacing(directories, file)
    save_meanwhile()
    answer = owner.ask(request)

    assert (answer.outcome, file.read_text(), kept(directories)) == (Outcome.CHANGED, SAVED, [])


@pytest.mark.parametrize("how", ["rename", "append"])
def test_saves_on_both_sides_of_a_pull_that_is_taken_back_are_both_kept(
    owner: DirectOwner, directories: Any, file: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    rename = exchange._rename
    exchanges = []

    def save(text: str) -> None:
        if how == "append" and exchanges:
            with file.open("a") as opened:
                opened.write(text)
        else:
            file.with_name("new").write_text(text)
            file.with_name("new").replace(file)

    def interrupted(*words: Any) -> None:
        if words[-1] == exchange._EXCHANGE:
            save(f"{SAVED} {len(exchanges)}")
            exchanges.append(words)
        rename(*words)

    request = replacing(directories, file)
    monkeypatch.setattr(exchange, "_rename", interrupted)
    answer = owner.ask(request)

    last = f"{SAVED} 1" if how == "rename" else f"pulled{SAVED} 1"
    assert (answer.outcome, file.read_text(), kept(directories)) == (Outcome.CHANGED, f"{SAVED} 0", [last])


def test_a_save_at_the_moment_of_a_removal_stays(
    owner: DirectOwner, directories: Any, file: Path, save_meanwhile: Callable[[], None]
) -> None:
    expect = identity_of(file.stat())
    save_meanwhile()
    answer = owner.ask(Remove(store_id=STORE, path="/a.md", expect=expect, trash="20260101T000000.000000000Z~a.md"))

    assert (answer.outcome, file.read_text(), kept(directories)) == (Outcome.CHANGED, SAVED, [])


def test_a_removed_file_is_kept_beside_one_of_its_name(owner: DirectOwner, directories: Any, file: Path) -> None:
    name = "20260101T000000.000000000Z~a.md"
    (directories.trash / name).write_text("before")
    answer = owner.ask(Remove(store_id=STORE, path="/a.md", expect=identity_of(file.stat()), trash=name))

    assert (answer.outcome, file.exists(), kept(directories)) == (Outcome.APPLIED, False, ["before", "old"])


def test_a_new_file_at_the_moment_of_a_first_pull_stays(
    owner: DirectOwner, directories: Any, file: Path, save_meanwhile: Callable[[], None]
) -> None:
    request = replacing(directories, file)
    file.unlink()
    save_meanwhile()
    answer = owner.ask(Replace(store_id=STORE, path=request.path, staged=request.staged, expect=None))

    assert (answer.outcome, file.read_text()) == (Outcome.CHANGED, SAVED)


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOSYS])
def test_a_file_system_without_such_renames_is_used_all_the_same(
    owner: DirectOwner, directories: Any, file: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(exchange, "_rename", refuse)
    first = owner.ask(replacing(directories, file))
    removed = owner.ask(
        Remove(store_id=STORE, path="/a.md", expect=identity_of(file.stat()), trash="20260101T000000.000000000Z~a.md")
    )

    assert [Outcome.APPLIED] * 2 == [first.outcome, removed.outcome]
    assert ["old", "pulled"] == kept(directories)


def test_a_failure_changes_nothing(
    owner: DirectOwner, directories: Any, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    request = replacing(directories, file)
    monkeypatch.setattr(exchange, "_rename", refuse)
    answer = owner.ask(request)

    assert (answer.outcome, answer.errno, file.read_text(), kept(directories)) == (
        Outcome.CHANGED,
        errno.EIO,
        "old",
        [],
    )
