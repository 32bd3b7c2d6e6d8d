"""No path leads out of /memories, however it is written, on any command."""

from collections.abc import Callable
from pathlib import Path

import pytest

from memfs.agent.paths import memory_path
from memfs.agent.refusal import ToolFailure
from memfs.agent.tool import MemoryTool

TRAVERSALS = [
    "..", "../", "../..", "../secret.md", "../../etc/passwd", "../outside/secret.md", "a/../../outside/secret.md",
    "a/..", "a/../b", "./a", "a/./b", ".", "a/.", "a//b", "//", "/../x", "a/../../../../../../etc/passwd",
]  # fmt: skip
ENCODED = [
    "%2e%2e", "%2E%2E", "%2e.", ".%2e", "%2e%2e/", "%2e%2e%2f", "%2e%2e%2fsecret.md", "..%2fsecret.md",
    "..%2Fsecret.md",
    "%2e%2e/%2e%2e/etc/passwd", "a%2f..%2f..%2fsecret.md", "a%2fb", "%2f", "%2fetc%2fpasswd", "a/%2e%2e/b", "a/%2e/b",
    "%2e", "..%5csecret.md", "%2e%2e%5c", "a%5cb", "%5c%5cserver%5cshare", "a%00.md", "%00", "%0a", "%0d%0aX", "a%1fb",
]  # fmt: skip
ENCODED_TWICE = [
    "%252e%252e", "%252E%252E", "%252e%252e%252f", "%252e%252e%252fsecret.md", "%25%32%65%25%32%65", "%25252e%25252e",
    "%2525252e%2525252e%2525252f", "..%252fsecret.md", "..%255csecret.md", "%255c", "%252f", "%2500", "%252500",
    "%" + "25" * 12 + "2e",
]  # fmt: skip
OTHER_ENCODINGS = [
    "%c0%ae%c0%ae", "%c0%ae%c0%ae%c0%af", "%e0%80%ae%e0%80%ae", "%f0%80%80%ae", "%c0%2e", "%c1%9c", "%c0%af", "%ff",
    "%u002e%u002e", "%u002e%u002e%u2215", "%u002e%u002e%u002f", "%u005c", "%U002e%252e/%u002e%u002e",
    "\uff0e\uff0e", "\u2025", "a/\uff0e\uff0e/b", "\uff0e\uff0e\uff0fsecret.md", "\uff0e", "%ef%bc%8e%ef%bc%8e",
]  # fmt: skip
BACKSLASHES = [
    "..\\", "..\\secret.md", "..\\..\\etc", "a\\b", "\\", "\\\\server\\share", "a\\..\\b", "C:\\x", ".\\a", "a/..\\b",
]  # fmt: skip
CONTROLS = [
    "a\x00", "\x00", "a\x00/../b", "..\x00", "a\nb", "a\rb", "a\tb", "\x1b[2Ja", "a\x7f", "a\x85b", "a\u2028b",
    "a\u2029b",
    "a\u200eb", "a\u202eb", "\ufeffa", "a\u00adb", "a\ud800", "\udcff",
]  # fmt: skip
TOO_LONG = ["x" * 256, "é" * 128, "/".join("x" * 23), "/".join(["y" * 200] * 8), "a/" * 5000 + "b"]
NOT_NFC = ["e\u0301.md", "a/o\u0308"]
OUTSIDE = [
    "", "/", "//", ".", "..", "~", "~root", "*", "memories", "memories/a", "./memories/a", " /memories", "/memories ",
    "/memories.md", "/memoriesX.md", "/memories-2/a", "/memories\x00/a", "/Memories/a", "/MEMORIES", "//memories/a",
    "/./memories/a", "/memories\\a", "/memories\n", "/memories%2fa", "/%6demories/a", "/mem/../memories/a",
    "/etc/passwd",
    "/proc/self/root/etc/passwd", "/dev/zero", "/tmp", "../memories", "file:///memories/a", "/memories\u2215a",
    "C:\\memories", "\\memories\\a", "/mnt/memories/a", "/memories../a", "/memories..", "$HOME", "-rf",
]  # fmt: skip
BELOW = [*TRAVERSALS, *ENCODED, *ENCODED_TWICE, *OTHER_ENCODINGS, *BACKSLASHES, *CONTROLS, *TOO_LONG, *NOT_NFC]
HOSTILE = [*(f"/memories/{path}" for path in BELOW), *OUTSIDE]

COMMANDS = {
    "view": {"path": ...},
    "create": {"path": ..., "file_text": "owned"},
    "str_replace": {"path": ..., "old_str": "secret", "new_str": "owned"},
    "insert": {"path": ..., "insert_line": 0, "insert_text": "owned"},
    "delete": {"path": ...},
    "rename": {"old_path": ..., "new_path": "/memories/stolen.md"},
    "rename onto": {"old_path": "/memories/a/kept.md", "new_path": ...},
}


def test_the_table_is_long_enough_and_names_each_path_once() -> None:
    assert len(HOSTILE) >= 150
    assert len(HOSTILE) == len(set(HOSTILE))


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("path", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_path_is_refused_by_every_command_and_changes_nothing(
    tool: MemoryTool, root: Path, files: Callable[[Path], dict[str, bytes]], command: str, path: str
) -> None:
    (root / "a").mkdir()
    (root / "a" / "kept.md").write_bytes(b"kept")
    before = files(root.parent)
    fields = {name: path if value is ... else value for name, value in COMMANDS[command].items()}

    with pytest.raises(ToolFailure) as failure:
        tool.run({"command": command.removesuffix(" onto"), **fields})

    assert failure.value.text.startswith("Error: The path ")
    assert len(failure.value.text) < 600
    assert failure.value.text.isprintable()
    assert str(root) not in failure.value.text
    assert before == files(root.parent)


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("/memories", ()),
        ("/memories/", ()),
        ("/memories/a.md", (b"a.md",)),
        ("/memories/dir/", (b"dir",)),
        ("/memories/.hidden/x", (b".hidden", b"x")),
        ("/memories/...", (b"...",)),
        ("/memories/..a", (b"..a",)),
        ("/memories/a..b", (b"a..b",)),
        ("/memories/100%.md", (b"100%.md",)),
        ("/memories/100%25.md", (b"100%25.md",)),
        ("/memories/a%2eb.md", (b"a%2eb.md",)),
        ("/memories/a b.md", (b"a b.md",)),
        ("/memories/\u65e5\u672c/\u00e9.md", ("\u65e5\u672c".encode(), "\u00e9.md".encode())),
        ("/memories/~/x", (b"~", b"x")),
        ("/memories/" + "x" * 255, (b"x" * 255,)),
    ],
)
def test_an_honest_path_is_taken_as_it_is(path: str, names: tuple[bytes, ...]) -> None:
    found = memory_path(path)

    assert names == found.names
    assert path.rstrip("/") == found.text


def test_a_refusal_says_what_a_path_looks_like() -> None:
    with pytest.raises(ToolFailure) as failure:
        memory_path("/etc/passwd")

    assert failure.value.text == "Error: The path /etc/passwd is outside /memories. Paths look like /memories/notes.md"
