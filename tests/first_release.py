"""A database exactly as the first release made it, whose layout it called 2, with one of everything in it."""

from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, text

from memfs.core.digest import content_sha256

TOKEN = "memfs-key-of-the-first-release"
API_KEY = "apikey_0111111111111111111111"
STORE = "memstore_0111111111111111111111"
ARCHIVED = "memstore_0111111111111111111112"
CONTENTS = {
    "/nul": b"a\0b",
    "/a/crlf.md": b"\xef\xbb\xbfone\r\ntwo\r\n",
    "/a/\u00e4": "\u2028\U0001f40d".encode(),
    "/empty": b"",
}
"""Of the memories that live."""
NEWEST = 1_000_000_009

_TABLES = """
CREATE TABLE schema (version BIGINT NOT NULL, PRIMARY KEY (version));
CREATE TABLE api_keys (
    id {key} NOT NULL, token_sha256 {key} NOT NULL, created_at BIGINT NOT NULL, PRIMARY KEY (id), UNIQUE (token_sha256)
);
CREATE TABLE stores (
    id {key} NOT NULL, name TEXT NOT NULL, description TEXT NOT NULL, metadata TEXT NOT NULL,
    created_at BIGINT NOT NULL, created_by {key} NOT NULL, updated_at BIGINT NOT NULL, archived_at BIGINT,
    memories BIGINT NOT NULL, PRIMARY KEY (id)
);
CREATE INDEX stores_newest ON stores (created_at, id);
CREATE TABLE memories (
    id {key} NOT NULL, store_id {key} NOT NULL, path {key} NOT NULL, version_id {key} NOT NULL,
    content_sha256 {key} NOT NULL, content_size_bytes BIGINT NOT NULL, created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL, PRIMARY KEY (id), FOREIGN KEY(store_id) REFERENCES stores (id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX memories_by_path ON memories (store_id, path);
CREATE TABLE versions (
    id {key} NOT NULL, store_id {key} NOT NULL, memory_id {key} NOT NULL, operation TEXT NOT NULL, path {key},
    content_sha256 {key}, content_size_bytes BIGINT, created_at BIGINT NOT NULL, created_by {key} NOT NULL,
    redacted_at BIGINT, redacted_by {key}, content {bytes}, PRIMARY KEY (id),
    FOREIGN KEY(store_id) REFERENCES stores (id) ON DELETE CASCADE
);
CREATE INDEX versions_newest ON versions (store_id, created_at, id);
CREATE INDEX versions_of_memory ON versions (store_id, memory_id, created_at, id);
CREATE INDEX versions_by_actor ON versions (store_id, created_by, created_at, id);
INSERT INTO schema VALUES (2)
"""
_ENGINES = {"sqlite": {"key": "TEXT", "bytes": "BLOB"}, "postgresql": {"key": 'TEXT COLLATE "C"', "bytes": "BYTEA"}}


def plain_engine(where: Path | str) -> Engine:
    """Return an engine without anything that memfs adds."""
    if isinstance(where, Path):
        return create_engine(f"sqlite:///{where}")
    return create_engine(where.replace("postgresql://", "postgresql+psycopg://"))


def make(where: Path | str) -> None:
    """Make the database at a path or URL."""
    engine = plain_engine(where)
    with engine.begin() as connection:
        for statement in _TABLES.format(**_ENGINES[engine.dialect.name]).split(";"):
            connection.exec_driver_sql(statement)
        _insert(connection, "api_keys", id=API_KEY, token_sha256=content_sha256(TOKEN.encode()), created_at=1)
        for store_id, archived_at, count in ((STORE, None, len(CONTENTS)), (ARCHIVED, 7, 0)):
            _insert(
                connection, "stores", id=store_id, name="N\u00f6tes", description="", metadata='{"k":"v"}',
                created_at=2, created_by=API_KEY, updated_at=3, archived_at=archived_at, memories=count,
            )  # fmt: skip
        for number, (path, content) in enumerate(CONTENTS.items()):
            _memory(connection, number, path, content)
        _version(
            connection, "memver_gone1", "mem_gone", "created", path="/gone", content=b"gone", created_at=NEWEST - 1
        )
        _version(connection, "memver_gone2", "mem_gone", "deleted", path="/gone", created_at=NEWEST)
        _version(connection, "memver_redacted", "mem_0", "created", created_at=4, redacted_at=8, redacted_by=API_KEY)
    engine.dispose()


def _memory(connection: Connection, number: int, path: str, content: bytes) -> None:
    at = 1_000 + number
    sha256, size = content_sha256(content), len(content)
    _insert(
        connection, "memories", id=f"mem_{number}", store_id=STORE, path=path, version_id=f"memver_{number}",
        content_sha256=sha256, content_size_bytes=size, created_at=4, updated_at=at,
    )  # fmt: skip
    _version(connection, f"memver_{number}", f"mem_{number}", "modified", path=path, content=content, created_at=at)


def _version(
    connection: Connection,
    version_id: str,
    memory_id: str,
    operation: str,
    *,
    content: bytes | None = None,
    **more: Any,
) -> None:
    row = {"path": None, "redacted_at": None, "redacted_by": None} | more
    _insert(
        connection, "versions", id=version_id, store_id=STORE, memory_id=memory_id, operation=operation,
        content=content, content_sha256=None if content is None else content_sha256(content),
        content_size_bytes=None if content is None else len(content), created_by=API_KEY, **row,
    )  # fmt: skip


def _insert(connection: Connection, table: str, **row: Any) -> None:
    names = ", ".join(row)
    values = ", ".join(f":{name}" for name in row)
    connection.execute(text(f"INSERT INTO {table} ({names}) VALUES ({values})"), row)
