"""The schema: what each table and column means, which value stands for nothing, and what always holds.

Used by the modules beside it. Portable SQL: moments are microseconds since 1970 in UTC, texts that are compared sort
by their UTF-8 bytes, contents are bytes, since a memory may hold NUL and not every engine's text may.
"""

from sqlalchemy import BigInteger, Column, ForeignKey, Index, LargeBinary, MetaData, Table, Text

METADATA = MetaData()

# Byte order on every engine: SQLite compares UTF-8 bytes by itself, PostgreSQL where the column says so.
_BYTES_ORDER = Text().with_variant(Text(collation="C"), "postgresql")

server = Table(
    "server",
    METADATA,
    Column("epoch", _BYTES_ORDER, primary_key=True, comment="new with each restored backup: older cursors are void"),
    comment="what the whole database says of itself; exactly one row",
)

workspaces = Table(
    "workspaces",
    METADATA,
    Column("id", _BYTES_ORDER, primary_key=True, comment="wrkspc_…"),
    Column("name", _BYTES_ORDER, nullable=False, unique=True),
    Column("created_at", BigInteger, nullable=False),
    comment="what keys, stores and sessions belong to; none sees another's",
)

api_keys = Table(
    "api_keys",
    METADATA,
    Column("id", _BYTES_ORDER, primary_key=True, comment="apikey_…, the actor that versions name"),
    Column("workspace_id", ForeignKey("workspaces.id"), nullable=False),
    Column("name", Text, nullable=False, comment="for people; not unique"),
    Column("access", Text, nullable=False, comment="read_write or read_only"),
    Column("token_sha256", _BYTES_ORDER, nullable=False, unique=True, comment="of the key; the key is not kept"),
    Column("created_at", BigInteger, nullable=False),
    Column("revoked_at", BigInteger, comment="NULL while the key opens the server; never goes back to NULL"),
    comment="who may use the server; a key has enough entropy for a plain digest",
)

stores = Table(
    "stores",
    METADATA,
    Column("id", _BYTES_ORDER, primary_key=True, comment="memstore_…, in the order of creation"),
    Column("workspace_id", ForeignKey("workspaces.id"), nullable=False),
    Column("name", Text, nullable=False, comment="1 to 255 characters, not unique"),
    Column("description", Text, nullable=False, comment="empty where unset"),
    Column("metadata", Text, nullable=False, comment="a JSON object of strings, {} where unset"),
    Column("created_at", BigInteger, nullable=False),
    Column("created_by", _BYTES_ORDER, nullable=False, comment="an actor's id, as in versions"),
    Column("updated_at", BigInteger, nullable=False, comment="moves with this row's own fields, not with memories"),
    Column("archived_at", BigInteger, comment="NULL while memories may be written; never goes back to NULL"),
    Column("memories", BigInteger, nullable=False, comment="always the number of this store's rows in memories"),
    Column("last_seq", BigInteger, nullable=False, comment="of the newest row in changes there ever was; 0 before it"),
    Column("last_at", BigInteger, nullable=False, comment="the moment of that change: the next one's is later"),
    Column("feed_from", BigInteger, nullable=False, comment="every change with a greater seq is still in changes"),
    Index("stores_newest", "workspace_id", "created_at", "id"),
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

changes = Table(
    "changes",
    METADATA,
    Column("store_id", ForeignKey("stores.id", ondelete="CASCADE"), primary_key=True),
    Column("seq", BigInteger, primary_key=True, comment="1, 2, 3 … in the order of commits, without a gap"),
    Column("kind", Text, nullable=False, comment="a version's operation, or redacted, store_updated, store_archived"),
    Column("memory_id", _BYTES_ORDER, comment="NULL exactly for what happened to the store itself"),
    Column("version_id", _BYTES_ORDER, comment="may name a version that is pruned; NULL as memory_id is"),
    Column("created_at", BigInteger, nullable=False),
    comment="the change feed: what a listing of before would show differently, oldest first",
)

sessions = Table(
    "sessions",
    METADATA,
    Column("id", _BYTES_ORDER, primary_key=True, comment="sesn_…, the actor that versions name"),
    Column("workspace_id", ForeignKey("workspaces.id"), nullable=False),
    Column("title", Text, comment="NULL where none was given"),
    Column("metadata", Text, nullable=False, comment="a JSON object of strings, {} where unset"),
    Column("agent_id", _BYTES_ORDER, nullable=False, comment="as the client named it; nothing here runs agents"),
    Column("agent_version", BigInteger, nullable=False, comment="as the client named it, 1 where it did not"),
    Column("environment_id", _BYTES_ORDER, nullable=False, comment="as the client named it"),
    Column("token_sha256", _BYTES_ORDER, nullable=False, unique=True, comment="of the session's token; it is not kept"),
    Column("created_at", BigInteger, nullable=False),
    Column("created_by", _BYTES_ORDER, nullable=False, comment="an actor's id, as in versions"),
    Column("updated_at", BigInteger, nullable=False),
    Column("archived_at", BigInteger, comment="NULL while its token opens its stores; never goes back to NULL"),
    Index("sessions_newest", "workspace_id", "created_at", "id"),
)

session_resources = Table(
    "session_resources",
    METADATA,
    Column("session_id", ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
    Column("position", BigInteger, primary_key=True, comment="0, 1 … as they were asked for"),
    Column("store_id", _BYTES_ORDER, nullable=False, comment="stays where the store is deleted"),
    Column("access", Text, nullable=False, comment="read_write or read_only"),
    Column("instructions", Text, nullable=False, comment="empty where none were given"),
    Column("name", Text, nullable=False, comment="the store's when the session was made"),
    Column("description", Text, nullable=False, comment="the store's when the session was made"),
    Column("mount_path", Text, nullable=False, comment="unique within the session"),
    Index("sessions_of_store", "store_id"),
    comment="which stores a session has, and how; never changed",
)
