"""A save is one edit of the memory, whatever the program does on the way: same id, one version, nothing beside it."""

import pytest
from programs.saves import AFTER, BEFORE, SAVES
from synced import Synced


@pytest.fixture(scope="module")
def notes(store: Synced) -> dict[str, str]:
    """A directory with a note, ``note.md``, for each way of saving; by the way's name, the memory's id."""
    for name in SAVES:
        (store.root / name).mkdir()
        (store.root / name / "note.md").write_text(BEFORE)
        (store.root / name / "note.md").chmod(0o640)
    store.settle()
    return {name: store.memories(name)["note.md"].id for name in SAVES}


@pytest.mark.parametrize("name", SAVES)
def test_a_save_is_one_edit_of_the_memory(store: Synced, notes: dict[str, str], name: str) -> None:
    save, left = SAVES[name]
    note = store.root / name / "note.md"

    save(note)
    store.settle()

    assert AFTER == note.read_text()
    assert name == "tempfile-and-replace" or 0o640 == note.stat().st_mode & 0o777
    assert {"note.md"} | left == {one.name for one in note.parent.iterdir()}
    assert {"note.md": AFTER} == store.contents(name)
    assert notes[name] == store.memories(name)["note.md"].id
    assert [("created", "note.md"), ("modified", "note.md")] == store.history(name)
