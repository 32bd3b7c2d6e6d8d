"""Which stores are attached, and how: written by the worker, read by the mount and the command line.

Kept in each store's own database, so that the mount starts without the remote and a store's directory is complete in
itself. `attached` may be called from any thread and never makes anything.
"""

import sqlite3
from collections.abc import Sequence
from contextlib import closing

from memfs.core.attachment import Access, Attachment
from memfs.state.database import open_to_read, open_to_write, readable, transaction
from memfs.state.layout import Layout, StoreLayout

_PRIVATE = 0o700


def attach(layout: Layout, attachments: Sequence[Attachment], session_id: str = "") -> None:
    """Make each store's directory and record how it is attached; every other store is detached, its files stay.

    ``session_id`` names the session whose stores they are. It is forgotten first and written last: a session is never
    taken to have stores that another one has.

    Raises:
        StateDamaged: A store's database cannot be read.
        StateUnavailable: It cannot be written for now, for instance on a full disk.
        OSError: A directory cannot be made.
    """
    layout.root.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
    layout.stores.mkdir(mode=_PRIVATE, exist_ok=True)
    if attached_session(layout) != session_id:
        layout.session.unlink(missing_ok=True)
    wanted = {attachment.store_id for attachment in attachments}
    for store in _known(layout):
        if store.store_id not in wanted:
            _write(store, _DETACH)
    for position, attachment in enumerate(attachments):
        store = layout.store(attachment.store_id)
        for directory in (store.root, store.tree, store.base, store.trash, store.staging):
            directory.mkdir(mode=_PRIVATE, exist_ok=True)
        _write(store, _REPLACE, _fields(attachment, position))
    if session_id and attached_session(layout) != session_id:
        layout.session.write_text(session_id, encoding="utf-8")


def attached_session(layout: Layout) -> str:
    """Return the id of the session whose stores are attached, "" where they were named."""
    try:
        return layout.session.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def attached(layout: Layout) -> list[Attachment]:
    """Return the attached stores in the order of the mount; none for a new state directory.

    Raises:
        StateDamaged: A store's database cannot be read.
    """
    return _read(layout, is_attached=True)


def detached(layout: Layout) -> list[Attachment]:
    """Return the stores that were attached once and are not now; their files are still here.

    Raises:
        StateDamaged: A store's database cannot be read.
    """
    return _read(layout, is_attached=False)


_REPLACE = """
INSERT OR REPLACE INTO attachment (only_row, store_id, name, slug, access, description, instructions, archived,
    position, is_attached)
SELECT 1, :store_id, :name, :slug, :access, :description, :instructions, :archived, :position, 1
WHERE NOT EXISTS (
    SELECT 1 FROM attachment WHERE is_attached AND store_id = :store_id AND name = :name AND slug = :slug
    AND access = :access AND description = :description AND instructions = :instructions AND archived = :archived
    AND position = :position)
"""
_DETACH = "UPDATE attachment SET is_attached = 0 WHERE is_attached"
"""Neither writes anything where it is so already: a worker starts on a full disk with what is attached."""


def _read(layout: Layout, *, is_attached: bool) -> list[Attachment]:
    found: list[tuple[int, Attachment]] = []
    for store in _known(layout):
        with open_to_read(store.database) as connection:
            row = None if connection is None else connection.execute("SELECT * FROM attachment").fetchone()
        if row is not None and bool(row["is_attached"]) is is_attached:
            found.append((row["position"], _attachment(row)))
    return [attachment for _, attachment in sorted(found, key=lambda pair: pair[0])]


def _known(layout: Layout) -> list[StoreLayout]:
    if not layout.stores.is_dir():
        return []
    return [StoreLayout(one) for one in sorted(layout.stores.iterdir()) if (one / "state.db").exists()]


def _write(store: StoreLayout, statement: str, fields: dict[str, str | int] | None = None) -> None:
    with (
        closing(open_to_write(store.database)) as connection,
        readable(store.database),
        transaction(connection),
    ):
        connection.execute(statement, fields or {})


def _fields(attachment: Attachment, position: int) -> dict[str, str | int]:
    return {
        "store_id": attachment.store_id,
        "name": attachment.name,
        "slug": attachment.slug,
        "access": attachment.access.value,
        "description": attachment.description,
        "instructions": attachment.instructions,
        "archived": int(attachment.archived),
        "position": position,
    }


def _attachment(row: sqlite3.Row) -> Attachment:
    return Attachment(
        store_id=row["store_id"],
        name=row["name"],
        slug=row["slug"],
        access=Access(row["access"]),
        description=row["description"],
        instructions=row["instructions"],
        archived=bool(row["archived"]),
    )
