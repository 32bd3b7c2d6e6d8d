"""The first release: stores, memories, versions and keys of one workspace."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_BYTES_ORDER = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Make the tables."""
    op.create_table("schema", sa.Column("version", sa.BigInteger, primary_key=True))
    op.create_table(
        "api_keys",
        sa.Column("id", _BYTES_ORDER, primary_key=True),
        sa.Column("token_sha256", _BYTES_ORDER, nullable=False, unique=True),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "stores",
        sa.Column("id", _BYTES_ORDER, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("description", sa.Text, nullable=False),
        sa.Column("metadata", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("created_by", _BYTES_ORDER, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.Column("archived_at", sa.BigInteger),
        sa.Column("memories", sa.BigInteger, nullable=False),
        sa.Index("stores_newest", "created_at", "id"),
    )
    _make_memories()


def _make_memories() -> None:
    op.create_table(
        "memories",
        sa.Column("id", _BYTES_ORDER, primary_key=True),
        sa.Column("store_id", _BYTES_ORDER, sa.ForeignKey("stores.id", ondelete="CASCADE"), nullable=False),
        sa.Column("path", _BYTES_ORDER, nullable=False),
        sa.Column("version_id", _BYTES_ORDER, nullable=False),
        sa.Column("content_sha256", _BYTES_ORDER, nullable=False),
        sa.Column("content_size_bytes", sa.BigInteger, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.Index("memories_by_path", "store_id", "path", unique=True),
    )
    op.create_table(
        "versions",
        sa.Column("id", _BYTES_ORDER, primary_key=True),
        sa.Column("store_id", _BYTES_ORDER, sa.ForeignKey("stores.id", ondelete="CASCADE"), nullable=False),
        sa.Column("memory_id", _BYTES_ORDER, nullable=False),
        sa.Column("operation", sa.Text, nullable=False),
        sa.Column("path", _BYTES_ORDER),
        sa.Column("content_sha256", _BYTES_ORDER),
        sa.Column("content_size_bytes", sa.BigInteger),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("created_by", _BYTES_ORDER, nullable=False),
        sa.Column("redacted_at", sa.BigInteger),
        sa.Column("redacted_by", _BYTES_ORDER),
        sa.Column("content", sa.LargeBinary),
        sa.Index("versions_newest", "store_id", "created_at", "id"),
        sa.Index("versions_of_memory", "store_id", "memory_id", "created_at", "id"),
        sa.Index("versions_by_actor", "store_id", "created_by", "created_at", "id"),
    )
