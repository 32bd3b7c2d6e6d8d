"""The schema of state.db, one store's database, as it grew: each release's part, applied in order by `database`.

Comments say meaning, sentinel and invariant of each table. A reader may meet a file that no newer worker has opened
yet: what came with a later part is missing there.
"""

_FIRST = """
-- How the store is attached. One row. The mount takes it from here, so that it can start while the remote is down.
CREATE TABLE attachment (
    only_row     INTEGER PRIMARY KEY CHECK (only_row = 1),
    store_id     TEXT NOT NULL,
    name         TEXT NOT NULL,
    slug         TEXT NOT NULL,
    access       TEXT NOT NULL,               -- read_only | read_write
    description  TEXT NOT NULL,
    instructions TEXT NOT NULL,
    archived     INTEGER NOT NULL,            -- 1: read-only whatever access says
    position     INTEGER NOT NULL,            -- order among the attached stores
    is_attached  INTEGER NOT NULL             -- 0: detached; its files and everything below stay
);
-- How the last sync went. One row, made with the schema.
CREATE TABLE sync_status (
    only_row      INTEGER PRIMARY KEY CHECK (only_row = 1),
    last_sync_at  REAL,                       -- unix seconds of the last cycle that left nothing owed; NULL: none yet
    error_code    TEXT NOT NULL DEFAULT '',   -- '' while the remote answers; else the code of memfs.core.errors
    error_message TEXT NOT NULL DEFAULT ''
);
INSERT INTO sync_status (only_row) VALUES (1);
-- The last state that both sides agreed on. Written after an action succeeded on both, in one transaction; a row that
-- is missing or old is never wrong, it only makes the worker look.
CREATE TABLE baseline (
    path           TEXT PRIMARY KEY,          -- store path, /a/b.md
    memory_id      TEXT NOT NULL UNIQUE,
    version_id     TEXT NOT NULL,
    content_sha256 TEXT NOT NULL,
    size_bytes     INTEGER NOT NULL,
    updated_at     TEXT NOT NULL,             -- when the remote last changed it, RFC 3339; '' where it did not say
    -- The file when it was last hashed and had these bytes; NULL: not known, the file has to be read again.
    inode          INTEGER,
    file_size      INTEGER,
    mtime_ns       INTEGER,
    ctime_ns       INTEGER,
    hashed_at      REAL NOT NULL              -- unix seconds; within 2 s of a change an identity proves nothing
) WITHOUT ROWID;
-- Digests that were about to be pushed to a path. A remote that shows one of them answered, and the answer was lost:
-- it becomes the baseline. Gone with the next baseline row of the path.
CREATE TABLE intended (
    path           TEXT NOT NULL,
    content_sha256 TEXT NOT NULL,
    PRIMARY KEY (path, content_sha256)
) WITHOUT ROWID;
-- Directories that the worker made for a pull: pruned when their last memory goes.
CREATE TABLE directories (path TEXT PRIMARY KEY) WITHOUT ROWID;
-- Troubles of single paths, which do not stop a cycle. Local paths that are no store paths are here in escaped form.
CREATE TABLE problems (
    path           TEXT NOT NULL,
    side           TEXT NOT NULL,             -- local: these bytes cannot go out; remote: this memory cannot come in
    code           TEXT NOT NULL,
    message        TEXT NOT NULL,
    fingerprint    TEXT NOT NULL,             -- of what was refused: tried again when it changes; '' at each look
    since          REAL NOT NULL,             -- unix seconds
    PRIMARY KEY (path, side)
) WITHOUT ROWID;
-- Paths where the sides are not equal yet.
CREATE TABLE pending (
    path  TEXT PRIMARY KEY,
    state TEXT NOT NULL                       -- pending: owed; held: a name used while saving; halted: by a brake
) WITHOUT ROWID;
-- Conflicts whose copy still lies beside its path.
CREATE TABLE conflicts (
    path          TEXT NOT NULL,
    copy_path     TEXT PRIMARY KEY,
    local_sha256  TEXT NOT NULL,              -- the bytes that were written here
    remote_sha256 TEXT NOT NULL,              -- the remote's; the copy's name says which of the two are in it
    since         REAL NOT NULL
) WITHOUT ROWID;
"""

BRAKES_SINCE = 2
"""The version from which on merges, brakes and replaced versions are kept."""

_SECOND = """
-- Merges that are being put in place. The staged file is still in staging/, or it became the file at the path: then
-- the other columns are the baseline, whatever the file has become since. Gone with the next baseline row of the path.
CREATE TABLE merges (
    path           TEXT PRIMARY KEY,
    staged         TEXT NOT NULL,             -- name of the merged text in staging/
    memory_id      TEXT NOT NULL,             -- the memory as it was merged, in the columns of the baseline
    version_id     TEXT NOT NULL,
    content_sha256 TEXT NOT NULL,
    size_bytes     INTEGER NOT NULL,
    updated_at     TEXT NOT NULL
) WITHOUT ROWID;
-- Deletions that were carried out lately: counted by the brakes, and what `memfs resume --restore` brings back.
CREATE TABLE deletions (
    at             REAL NOT NULL,             -- unix seconds when the deletion was first seen
    side           TEXT NOT NULL,             -- local: a file was removed; remote: a memory was deleted
    path           TEXT NOT NULL,
    version_id     TEXT NOT NULL,             -- the version that held the bytes
    content_sha256 TEXT NOT NULL,
    memories       INTEGER NOT NULL,          -- how many the store had when the deletion was first seen
    kept           TEXT NOT NULL              -- local: the name in trash/; remote: ''
);
CREATE INDEX deletions_at ON deletions (at);
-- The brake, while it is on. One row or none.
CREATE TABLE halt (
    only_row  INTEGER PRIMARY KEY CHECK (only_row = 1),
    reason    TEXT NOT NULL,                  -- of memfs.core.brakes
    deletions INTEGER NOT NULL,               -- how many were counted
    memories  INTEGER NOT NULL,               -- of how many
    since     REAL NOT NULL
);
-- Deletions that somebody allowed: the brakes do not count them.
CREATE TABLE accepted (
    side TEXT NOT NULL,
    path TEXT NOT NULL,
    PRIMARY KEY (side, path)
) WITHOUT ROWID;
-- The directory that the tree was when last seen. One row or none.
CREATE TABLE tree_root (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    device   INTEGER NOT NULL,
    inode    INTEGER NOT NULL
);
-- What older versions held whose bytes may still be in base/ or trash/: when one is redacted, its digest is not told.
CREATE TABLE versions (
    version_id     TEXT PRIMARY KEY,
    content_sha256 TEXT NOT NULL,
    at             REAL NOT NULL              -- unix seconds when another version took its place here
) WITHOUT ROWID;
"""

MIGRATIONS = (_FIRST, _SECOND)
"""What makes version n + 1 of version n."""
SCHEMA_VERSION = len(MIGRATIONS)
"""PRAGMA user_version. 0 is a file without a schema yet: a worker is just making it."""
