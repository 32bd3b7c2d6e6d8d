"""The texts of ``.memfs/``: what the worker and the mount know of stores and memories, as bytes. Pure.

JSON is one fact a line, so that `grep` finds it. A name that is no UTF-8 is shown escaped, as problems show it.
"""

import json
import re
from collections.abc import Container, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from memfs.core.attachment import Access, Attachment
from memfs.core.errors import MemfsError
from memfs.state.summary import MemoryFacts, StoreSummary, SyncedFile

MOST_PROBLEMS = 100
"""How many problems of a store are told; `info` tells each file's own."""
_UNREADABLE = "what is known of the store cannot be read now"
_CREDENTIALS = re.compile(r"(?<=//)[^/\s@]*@")


class Standing(NamedTuple):
    """One store: how it is attached, and what was found about it. Neither summary nor error: no worker ran yet."""

    attachment: Attachment
    summary: StoreSummary | None
    error: MemfsError | None


class Kept(NamedTuple):
    """One file of a tree: how it is now, and whether its name is one that programs use while saving."""

    file: SyncedFile
    is_local_only: bool
    is_held_back: bool


def path_text(relative: bytes) -> str:
    """Return the path of a file below a tree as the worker records it."""
    return "/" + relative.decode(errors="backslashreplace")


def status_text(stores: Sequence[Standing], *, is_watched: bool, kernel_holds: Container[str] = ()) -> bytes:
    """Return how each store stands, given whether a worker runs and which slugs the kernel, too, holds read-only."""
    return _json({"stores": [_status(one, kernel_holds, is_watched=is_watched) for one in stores]})


def conflicts_text(copies: Mapping[str, Mapping[str, str]]) -> bytes:
    """Return a line for each conflict copy: its path, a tab, the path that it conflicts with; by slug."""
    pairs = ((f"{slug}{copy}", f"{slug}{path}") for slug, found in copies.items() for copy, path in found.items())
    return "".join(f"{copy}\t{path}\n" for copy, path in pairs).encode(errors="backslashreplace")


def memory_text(path: str, facts: MemoryFacts | None, kept: Kept) -> bytes:
    """Return what is known of one file, None where that cannot be read now.

    ``id`` to ``updated_at`` are those of the last version that both sides had.
    """
    if facts is None:
        return _flat_json({"path": path, "state": "unknown", "reason": _UNREADABLE})
    state = memory_state(facts, kept)
    return _flat_json({
        "path": path,
        "state": state,
        "reason": facts.reason if state == "refused" else None,
        "id": facts.memory_id or None,
        "version": facts.version_id or None,
        "sha256": facts.content_sha256 or None,
        "size": facts.size_bytes if facts.memory_id else None,
        "updated_at": facts.updated_at or None,
    })  # fmt: skip


def memory_state(facts: MemoryFacts, kept: Kept) -> str:
    """Return synced, pending, held, halted, conflict, refused or local-only.

    The worker's word counts until the file is another one than it saw: what a program has just written is pending.
    """
    if kept.is_local_only:
        return "local-only"
    if facts.state == "unknown":
        return "held" if kept.is_held_back else "pending"
    is_same = facts.file is None or facts.file == kept.file
    return facts.state if is_same or facts.state in {"refused", "held", "halted"} else "pending"


def _status(one: Standing, kernel_holds: Container[str], *, is_watched: bool) -> dict[str, Any]:
    attachment, found, error = one
    refused_by = "kernel" if attachment.slug in kernel_holds else "policy"
    told: dict[str, Any] = {
        "slug": attachment.slug,
        "id": attachment.store_id,
        "name": attachment.name,
        "access": (Access.READ_WRITE if attachment.is_writable else Access.READ_ONLY).value,
        "read_only_by": None if attachment.is_writable else refused_by,
        "archived": attachment.archived,
    }
    if found is None:
        # The error's own message names a file that programs in a sandbox cannot see.
        state = "never_synced" if error is None else error.code
        return told | {"state": state, "error": error and {"code": error.code, "message": _UNREADABLE}}
    problems = [
        {"path": problem.path, "code": problem.code, "message": _public(problem.message)} for problem in found.problems
    ]
    return told | {
        "state": found.state(is_watched=is_watched).replace(" ", "_"),
        "memories": found.memories,
        "pending": found.pending,
        "refused": len(found.problems),
        "conflicts": len(found.copies),
        "last_sync_at": None if found.last_sync_at is None else _moment(found.last_sync_at),
        "error": found.sync_error and {"code": found.sync_error[0], "message": _public(found.sync_error[1])},
        "problems": problems[:MOST_PROBLEMS],
    }


def _public(message: str) -> str:
    """Return a message without the password that an address in it may carry."""
    return _CREDENTIALS.sub("", message)


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _json(told: Mapping[str, Any]) -> bytes:
    text = json.dumps(told, ensure_ascii=False, indent=2) + "\n"
    return text.encode(errors="backslashreplace")  # Half a surrogate pair comes out as JSON's own escape of it.


def _flat_json(told: Mapping[str, str | int | None]) -> bytes:
    """Return the same for what holds nothing nested, in a third of the time: there are thousands of these."""
    lines = ",\n".join([f'  "{name}": {_encode(value)}' for name, value in told.items()])
    return f"{{\n{lines}\n}}\n".encode(errors="backslashreplace")


_encode = json.JSONEncoder(ensure_ascii=False).encode
