"""The schema: what each table and column means, which value stands for nothing, and what always holds.

Used by the modules beside it. Portable SQL: moments are microseconds since 1970 in UTC, texts that are compared sort
by their UTF-8 bytes, contents are bytes, since a memory may hold NUL and not every engine's text may.
"""

from typing import Final

from sqlalchemy import BigInteger, Column, ForeignKey, Index, LargeBinary, MetaData, Table, Text

SCHEMA: Final = 2
"""The layout below. A database that says another number is not opened."""

METADATA = MetaData()

# Byte order on every engine: SQLite compares UTF-8 bytes by itself, PostgreSQL where the column says so.
_BYTES_ORDER = Text().with_variant(Text(collation="C"), "postgresql")

schema = Table(
    "schema",
    METADATA,
    Column("version", BigInteger, primary_key=True, comment="the layout; the table has exactly one row"),
)

api_keys = Table(
    "api_keys",
    METADATA,
    Column("id", _BYTES_ORDER, primary_key=True, comment="apikey_…, the actor that versions name"),
    Column("token_sha256", _BYTES_ORDER, nullable=False, unique=True, comment="of the key; the key is not kept"),
    Column("created_at", BigInteger, nullable=False),
    comment="who may use the server; a key has enough entropy for a plain digest",
)

stores = Table(
    "stores",
    METADATA,
    Column("id", _BYTES_ORDER, primary_key=True, comment="memstore_…, in the order of creation"),
    Column("name", Text, nullable=False, comment="1 to 255 characters, not unique"),
    Column("description", Text, nullable=False, comment="empty where unset"),
    Column("metadata", Text, nullable=False, comment="a JSON object of strings, {} where unset"),
    Column("created_at", BigInteger, nullable=False),
    Column("created_by", _BYTES_ORDER, nullable=False, comment="an actor's id, as in versions"),
    Column("updated_at", BigInteger, nullable=False, comment="moves with this row's own fields, not with memories"),
    Column("archived_at", BigInteger, comment="NULL while memories may be written; never goes back to NULL"),
    Column("memories", BigInteger, nullable=False, comment="always the number of this store's rows in memories"),
    Index("stores_newest", "created_at", "id"),
)

memories = Table(
    "memories",
    METADATA,
    Column("id", _BYTES_ORDER, primary_key=True, comment="mem_…, kept across renames, never used again"),
    Column("store_id", ForeignKey("stores.id", ondelete="CASCADE"), nullable=False),
    Column("path", _BYTES_ORDER, nullable=False, comment="no row's path lies below another's of the same store"),
    Column("version_id", _BYTES_ORDER, nullable=False, comment="the head in versions, which holds the content"),
    Column("content_sha256", _BYTES_ORDER, nullable=False, comment="equal to the head's"),
    Column("content_size_bytes", BigInteger, nullable=False, comment="equal to the head's"),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False, comment="when the head was written"),
    Index("memories_by_path", "store_id", "path", unique=True),
    comment="the memories that live; a deleted one is only in versions",
)

versions = Table(
    "versions",
    METADATA,
    Column("id", _BYTES_ORDER, primary_key=True, comment="memver_…, in the order of writing"),
    Column("store_id", ForeignKey("stores.id", ondelete="CASCADE"), nullable=False),
    Column("memory_id", _BYTES_ORDER, nullable=False, comment="may name a memory that is gone"),
    Column("operation", Text, nullable=False, comment="created, modified or deleted"),
    Column("path", _BYTES_ORDER, comment="as of this version; a deletion keeps it; NULL exactly where redacted"),
    Column("content_sha256", _BYTES_ORDER, comment="NULL exactly for a deletion or where redacted"),
    Column("content_size_bytes", BigInteger, comment="NULL exactly for a deletion or where redacted"),
    Column("created_at", BigInteger, nullable=False),
    Column("created_by", _BYTES_ORDER, nullable=False, comment="an actor's id; its prefix tells the kind"),
    Column("redacted_at", BigInteger, comment="NULL unless redacted; a memory's head never is"),
    Column("redacted_by", _BYTES_ORDER, comment="an actor's id; NULL unless redacted"),
    Column("content", LargeBinary, comment="the exact UTF-8 bytes, NULL as their digest is; last: it is long"),
    Index("versions_newest", "store_id", "created_at", "id"),
    Index("versions_of_memory", "store_id", "memory_id", "created_at", "id"),
    Index("versions_by_actor", "store_id", "created_by", "created_at", "id"),
    comment="the history; rows are added, changed by redaction only, and go with their store",
)
