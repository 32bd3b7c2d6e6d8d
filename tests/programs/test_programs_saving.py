"""A save is one edit of the memory, whatever the program does on the way: same id, one version, nothing beside it."""

from dataclasses import dataclass

import pytest
from programs.saves import AFTER, BEFORE, SAVES
from synced import Synced


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """A note that a program saved, in a directory of its own."""

    memory_id: str
    """What it was before."""
    failure: Exception | None
    """Why the program did not save it."""


@pytest.fixture(scope="module")
def saved(store: Synced) -> dict[str, Saved]:
    """What each way of saving, one after the other, made of ``note.md``; all have arrived at the server."""
    for name in SAVES:
        note = store.root / name / "note.md"
        note.parent.mkdir()
        note.write_text(BEFORE)
        note.chmod(0o640)
    store.settle()
    before = {name: store.memories(name)["note.md"].id for name in SAVES}
    found = {name: Saved(memory_id=before[name], failure=save(store, name)) for name in SAVES}
    store.settle()
    return found


def save(store: Synced, name: str) -> Exception | None:
    program, _ = SAVES[name]
    try:
        program(store.root / name / "note.md")
    except Exception as error:  # noqa: BLE001  (the program's own test tells it)
        return error
    return None


@pytest.mark.parametrize("name", SAVES)
def test_a_save_is_one_edit_of_the_memory(store: Synced, saved: dict[str, Saved], name: str) -> None:
    note, (_, left) = store.root / name / "note.md", SAVES[name]
    if failure := saved[name].failure:
        raise failure

    assert AFTER == note.read_text()
    assert name == "tempfile-and-replace" or 0o640 == note.stat().st_mode & 0o777
    assert {"note.md"} | left == {one.name for one in note.parent.iterdir()}
    assert {"note.md": AFTER} == store.contents(name)
    assert saved[name].memory_id == store.memories(name)["note.md"].id
    assert [("created", "note.md"), ("modified", "note.md")] == store.history(name)


def test_a_temporary_file_that_became_a_memory_is_none_once_it_is_renamed_over_another(store: Synced) -> None:
    """Who writes it so slowly that it is taken for a memory edits the memory at the target all the same."""
    note = store.root / "slow" / "note.md"
    note.parent.mkdir()
    note.write_text(BEFORE)
    (note.parent / "slowly").write_text("alpha\n")
    store.settle()
    memory_id = store.memories("slow")["note.md"].id

    (note.parent / "slowly").write_text(AFTER)
    (note.parent / "slowly").rename(note)
    store.settle()

    assert {"note.md": AFTER} == store.contents("slow")
    assert memory_id == store.memories("slow")["note.md"].id
    assert [("created", "note.md"), ("modified", "note.md")] == [
        one for one in store.history("slow") if one[1] == "note.md"
    ]
