"""Workspaces, keys with a scope, sessions, and the change feed.

What was there belongs to the workspace ``default`` from now on; its feed begins empty.
"""

import secrets
import time

import sqlalchemy as sa
from alembic import op

from memfs.server.store.stamps import identifier

revision = "0002"
down_revision = "0001"

_BYTES_ORDER = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Make what is new, and give every row of before its place in it."""
    op.drop_table("schema")
    _make_server()
    workspace_id = _make_workspaces()
    _scope_keys(workspace_id)
    _scope_stores(workspace_id)
    _make_changes()
    _make_sessions()


def _make_server() -> None:
    server = op.create_table("server", sa.Column("epoch", _BYTES_ORDER, primary_key=True))
    op.bulk_insert(server, [{"epoch": secrets.token_hex(8)}])


def _make_workspaces() -> str:
    workspaces = op.create_table(
        "workspaces",
        sa.Column("id", _BYTES_ORDER, primary_key=True),
        sa.Column("name", _BYTES_ORDER, nullable=False, unique=True),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )
    at_us = time.time_ns() // 1_000
    workspace_id = identifier("wrkspc", at_us)
    op.bulk_insert(workspaces, [{"id": workspace_id, "name": "default", "created_at": at_us}])
    return workspace_id


def _scope_keys(workspace_id: str) -> None:
    with op.batch_alter_table("api_keys") as table:
        table.add_column(sa.Column("workspace_id", _BYTES_ORDER))
        table.add_column(sa.Column("name", sa.Text))
        table.add_column(sa.Column("access", sa.Text))
        table.add_column(sa.Column("revoked_at", sa.BigInteger))
    columns = sa.table("api_keys", sa.column("workspace_id"), sa.column("name"), sa.column("access"))
    op.execute(sa.update(columns).values(workspace_id=workspace_id, name="first key", access="read_write"))
    with op.batch_alter_table("api_keys") as table:
        for name in ("workspace_id", "name", "access"):
            table.alter_column(name, nullable=False)
        table.create_foreign_key("api_keys_workspace_id_fkey", "workspaces", ["workspace_id"], ["id"])


def _scope_stores(workspace_id: str) -> None:
    added = ("last_seq", "last_at", "feed_from")
    with op.batch_alter_table("stores") as table:
        table.add_column(sa.Column("workspace_id", _BYTES_ORDER))
        for name in added:
            table.add_column(sa.Column(name, sa.BigInteger))
    stores = sa.table("stores", *(sa.column(name) for name in ("id", "workspace_id", "created_at", *added)))
    versions = sa.table("versions", sa.column("store_id"), sa.column("created_at"))
    newest = sa.select(sa.func.max(versions.c.created_at)).where(versions.c.store_id == stores.c.id).scalar_subquery()
    values = {"workspace_id": workspace_id, "last_seq": 0, "feed_from": 0}
    op.execute(sa.update(stores).values(last_at=sa.func.coalesce(newest, stores.c.created_at), **values))
    with op.batch_alter_table("stores") as table:
        for name in ("workspace_id", *added):
            table.alter_column(name, nullable=False)
        table.create_foreign_key("stores_workspace_id_fkey", "workspaces", ["workspace_id"], ["id"])
        table.drop_index("stores_newest")
        table.create_index("stores_newest", ["workspace_id", "created_at", "id"])


def _make_changes() -> None:
    op.create_table(
        "changes",
        sa.Column("store_id", _BYTES_ORDER, sa.ForeignKey("stores.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("seq", sa.BigInteger, primary_key=True),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("memory_id", _BYTES_ORDER),
        sa.Column("version_id", _BYTES_ORDER),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )


def _make_sessions() -> None:
    op.create_table(
        "sessions",
        sa.Column("id", _BYTES_ORDER, primary_key=True),
        sa.Column("workspace_id", _BYTES_ORDER, sa.ForeignKey("workspaces.id"), nullable=False),
        sa.Column("agent_id", _BYTES_ORDER, nullable=False),
        sa.Column("agent_version", sa.BigInteger, nullable=False),
        sa.Column("environment_id", _BYTES_ORDER, nullable=False),
        sa.Column("title", sa.Text),
        sa.Column("metadata", sa.Text, nullable=False),
        sa.Column("token_sha256", _BYTES_ORDER, nullable=False, unique=True),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("created_by", _BYTES_ORDER, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.Column("archived_at", sa.BigInteger),
        sa.Index("sessions_newest", "workspace_id", "created_at", "id"),
    )
    op.create_table(
        "session_resources",
        sa.Column("session_id", _BYTES_ORDER, sa.ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("position", sa.BigInteger, primary_key=True),
        sa.Column("store_id", _BYTES_ORDER, nullable=False),
        sa.Column("access", sa.Text, nullable=False),
        sa.Column("instructions", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("description", sa.Text, nullable=False),
        sa.Column("mount_path", sa.Text, nullable=False),
        sa.Index("sessions_of_store", "store_id"),
    )
