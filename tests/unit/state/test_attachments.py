"""How stores are attached, as the mount and the command line read it from the state directory."""

import sqlite3
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from memfs.core.attachment import Access, Attachment
from memfs.core.errors import StateDamaged, StateUnavailable
from memfs.state import attachments
from memfs.state.attachments import attach, attached, attached_session
from memfs.state.database import open_to_write
from memfs.state.layout import Layout


def attachment(name: str, *, access: Access = Access.READ_WRITE, archived: bool = False) -> Attachment:
    return Attachment(
        store_id=f"memstore_{name}", name=name.title(), slug=name, access=access, description="about it",
        instructions="read it", archived=archived,
    )  # fmt: skip


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path / "state")


def test_a_new_state_has_no_attachments_and_is_not_made(layout: Layout) -> None:
    assert [] == attached(layout)
    assert not layout.root.exists()


def test_attachments_are_read_back_in_the_order_of_the_mount(layout: Layout) -> None:
    wanted = [attachment("zeta"), attachment("alpha", access=Access.READ_ONLY), attachment("mid", archived=True)]

    attach(layout, wanted)

    assert wanted == attached(layout)


def test_every_directory_is_private(layout: Layout) -> None:
    attach(layout, [attachment("alpha")])

    store = layout.store("memstore_alpha")
    made = [layout.root, layout.stores, store.root, store.tree, store.base, store.trash, store.staging]
    assert [0o700] * len(made) == [stat.S_IMODE(one.stat().st_mode) for one in made]


def test_a_store_that_is_no_longer_wanted_is_detached_with_its_files(layout: Layout) -> None:
    attach(layout, [attachment("alpha"), attachment("beta")])
    note = layout.store("memstore_beta").tree / "note.md"
    note.write_text("kept")

    attach(layout, [attachment("alpha")])

    assert [attachment("alpha")] == attached(layout)
    assert "kept" == note.read_text()


def test_a_store_may_come_back_with_another_access(layout: Layout) -> None:
    attach(layout, [attachment("alpha")])
    attach(layout, [])
    attach(layout, [attachment("alpha", access=Access.READ_ONLY)])

    assert [attachment("alpha", access=Access.READ_ONLY)] == attached(layout)


def test_a_database_that_is_none_is_named_with_the_way_out(layout: Layout) -> None:
    attach(layout, [attachment("alpha")])
    database = layout.store("memstore_alpha").database
    database.write_bytes(b"this is no database" * 100)

    with pytest.raises(StateDamaged, match=r"state\.db cannot be read.*move state\.db away"):
        attached(layout)
    with pytest.raises(StateDamaged, match=r"state\.db cannot be read"):
        attach(layout, [attachment("alpha")])


def test_a_torn_database_is_found_when_it_is_opened(layout: Layout) -> None:
    attach(layout, [attachment("alpha")])
    database = layout.store("memstore_alpha").database
    whole = database.read_bytes()
    database.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))

    with pytest.raises(StateDamaged, match=r"state\.db cannot be read"):
        attach(layout, [attachment("alpha")])


def test_a_database_of_a_newer_memfs_is_left_alone(layout: Layout) -> None:
    attach(layout, [attachment("alpha")])
    database = layout.store("memstore_alpha").database
    content = bytearray(database.read_bytes())
    content[60:64] = (99).to_bytes(4, "big")  # where SQLite keeps user_version
    database.write_bytes(content)

    with pytest.raises(StateDamaged, match="newer memfs"):
        attached(layout)


def test_the_session_whose_stores_are_attached_is_known_until_others_are(layout: Layout) -> None:
    assert attached_session(layout) == ""
    attach(layout, [attachment("alpha")], "sesn_1")
    assert attached_session(layout) == "sesn_1"
    attach(layout, [attachment("alpha")])
    assert attached_session(layout) == ""


def test_a_session_is_never_taken_to_have_another_ones_stores(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed while the second session's stores are attached: neither session is on record."""
    attach(layout, [attachment("alpha")], "sesn_1")
    monkeypatch.setattr(attachments, "_write", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))

    with pytest.raises(KeyboardInterrupt):
        attach(layout, [attachment("beta")], "sesn_2")

    assert attached_session(layout) == ""


def _on_a_full_disk(path: Path) -> sqlite3.Connection:
    connection = open_to_write(path)
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")
    return connection


def _where_nothing_is_written(path: Path) -> sqlite3.Connection:
    connection = open_to_write(path)
    for change in ("INSERT", "UPDATE"):
        connection.execute(
            f"CREATE TEMP TRIGGER no_{change} BEFORE {change} ON attachment "
            "BEGIN SELECT RAISE(ABORT, 'nothing is to be written'); END"
        )
    return connection


def test_a_full_disk_is_told_as_one(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    attach(layout, [attachment("alpha")])
    monkeypatch.setattr(attachments, "open_to_write", _on_a_full_disk)

    with pytest.raises(StateUnavailable, match=r"state\.db cannot be used for now: .*full"):
        attach(layout, [replace(attachment("alpha"), instructions="read it " * 50_000)])

    assert [attachment("alpha")] == attached(layout)


def test_what_is_attached_already_is_not_written_again(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that starts on a full disk goes on with the stores that it had."""
    attach(layout, [attachment("alpha"), attachment("beta")])
    attach(layout, [attachment("alpha")], "sesn_1")
    monkeypatch.setattr(attachments, "open_to_write", _where_nothing_is_written)
    written = layout.session.stat().st_mtime_ns

    attach(layout, [attachment("alpha")], "sesn_1")

    assert [attachment("alpha")] == attached(layout)
    assert written == layout.session.stat().st_mtime_ns
    with pytest.raises(sqlite3.IntegrityError, match="nothing is to be written"):
        attach(layout, [attachment("alpha", access=Access.READ_ONLY)], "sesn_1")
