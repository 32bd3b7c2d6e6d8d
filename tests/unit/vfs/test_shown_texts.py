"""The texts of ``.memfs/``: right JSON whatever a name holds, and each state of a memory."""

import json
from dataclasses import replace

import pytest

from memfs.state.summary import MemoryFacts, SyncedFile
from memfs.vfs.shown.texts import Kept, conflicts_text, memory_state, memory_text, path_text

FILE, OTHER = SyncedFile(7, 4, 100), SyncedFile(7, 4, 200)
NEW = MemoryFacts(
    path="/a.md",
    memory_id="",
    version_id="",
    content_sha256="",
    size_bytes=0,
    updated_at="",
    state="unknown",
    reason="",
)
KNOWN = MemoryFacts(
    path="/a.md",
    memory_id="mem_1",
    version_id="memver_1",
    content_sha256="1" * 64,
    size_bytes=4,
    updated_at="2026-11-30T10:00:00Z",
    state="synced",
    reason="",
    file=FILE,
)
KEPT = Kept(file=FILE, is_local_only=False, is_held_back=False)
EDITED, HELD_BACK, LOCAL_ONLY = (
    KEPT._replace(file=OTHER),
    KEPT._replace(is_held_back=True),
    KEPT._replace(is_local_only=True),
)


def recorded(state: str, *, reason: str = "") -> MemoryFacts:
    return replace(KNOWN, state=state, reason=reason)


@pytest.mark.parametrize(
    ("description", "facts", "kept", "expected"),
    [
        ("never seen", NEW, KEPT, "pending"),
        ("never seen, a name of a save", NEW, HELD_BACK, "held"),
        ("never synced", NEW, LOCAL_ONLY, "local-only"),
        ("never synced, whatever is recorded", KNOWN, LOCAL_ONLY, "local-only"),
        ("as it was synced", KNOWN, KEPT, "synced"),
        ("a memory whose name is one of a save", KNOWN, HELD_BACK, "synced"),
        ("edited since", KNOWN, EDITED, "pending"),
        ("nobody knows what it was like", replace(KNOWN, file=None), EDITED, "synced"),
        ("replaced by another file of the same size", KNOWN, KEPT._replace(file=SyncedFile(8, 4, 100)), "pending"),
        ("owed", recorded("pending"), KEPT, "pending"),
        ("owed and edited", recorded("pending"), EDITED, "pending"),
        ("held", recorded("held"), EDITED, "held"),
        ("halted", recorded("halted"), EDITED, "halted"),
        ("refused", recorded("refused", reason="no"), EDITED, "refused"),
        ("in conflict", recorded("conflict"), KEPT, "conflict"),
        ("in conflict and edited", recorded("conflict"), EDITED, "pending"),
    ],
)
def test_a_memory_stands_so(description: str, facts: MemoryFacts, kept: Kept, expected: str) -> None:
    assert expected == memory_state(facts, kept), description
    assert expected == json.loads(memory_text("/a.md", facts, kept))["state"]


HOSTILE = [
    "\"'`",
    'a","state":"synced',
    "back\\slash",
    "naïve 日本 👩\u200d💻",
    "new\nline",
    "tab\t",
    "\u2028",
    "\x1b[31m",
    "</x>",
]


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_any_name_and_reason_make_right_json(name: str) -> None:
    facts = recorded("refused", reason=name)

    told = json.loads(memory_text(f"/{name}", facts, KEPT))

    assert (f"/{name}", name, "refused") == (told["path"], told["reason"], told["state"])


def test_one_fact_a_line_as_all_json_here() -> None:
    told = memory_text("/a.md", KNOWN, KEPT)

    assert told.decode() == json.dumps(json.loads(told), indent=2) + "\n"


def test_a_name_that_is_no_text_is_escaped_as_problems_escape_it() -> None:
    assert "/\\xff.md" == path_text(b"\xff.md")
    assert "/\\xff.md" == json.loads(memory_text(path_text(b"\xff.md"), NEW, KEPT))["path"]
    assert b"half \\udc80" in memory_text("/half \udc80", NEW, KEPT)


def test_what_cannot_be_read_is_unknown_with_a_reason() -> None:
    told = json.loads(memory_text("/a.md", None, KEPT))

    assert ("unknown", "/a.md") == (told["state"], told["path"])
    assert told["reason"]


def test_each_conflict_is_a_line_of_two_paths() -> None:
    copies = {"a": {"/x.conflict-1.md": "/x.md", "/d e/y.conflict-2.md": "/d e/y.md"}, "b": {}, "c": {"/z": "/z.md"}}

    assert (b"a/x.conflict-1.md\ta/x.md\na/d e/y.conflict-2.md\ta/d e/y.md\nc/z\tc/z.md\n") == conflicts_text(copies)
    assert b"" == conflicts_text({})
