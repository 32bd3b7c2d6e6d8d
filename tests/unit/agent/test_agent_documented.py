"""Each documented outcome of each command has exactly the documented text."""

from collections.abc import Callable
from pathlib import Path

import pytest

Ask = Callable[..., tuple[object, bool]]
Files = Callable[[Path], dict[str, bytes]]

HEADER = "Here're the files and directories up to 2 levels deep in {path}, excluding hidden items and node_modules:\n"


@pytest.fixture(autouse=True)
def contents(root: Path) -> None:
    (root / "notes.txt").write_bytes(b"Hello World\nThis is line two\nblue\n")
    (root / "twice.txt").write_bytes(b"x\ny\nx\n")
    (root / "dir").mkdir()
    (root / "dir" / "in.md").write_bytes(b"in\n")


SUCCESSES = [
    (
        {"command": "view", "path": "/memories/notes.txt"},
        (
            "Here's the content of /memories/notes.txt with line numbers:\n"
            "     1\tHello World\n     2\tThis is line two\n     3\tblue"
        ),
    ),
    (
        {"command": "view", "path": "/memories/notes.txt", "view_range": [2, 3]},
        "Here's the content of /memories/notes.txt with line numbers:\n     2\tThis is line two\n     3\tblue",
    ),
    (
        {"command": "view", "path": "/memories/notes.txt", "view_range": [3, -1]},
        "Here's the content of /memories/notes.txt with line numbers:\n     3\tblue",
    ),
    (
        {"command": "view", "path": "/memories/dir"},
        HEADER.format(path="/memories/dir") + "1.0K\t/memories/dir\n0.5K\t/memories/dir/in.md",
    ),
    (
        {"command": "create", "path": "/memories/new.txt", "file_text": "x\n"},
        "File created successfully at: /memories/new.txt",
    ),
    (
        {"command": "str_replace", "path": "/memories/notes.txt", "old_str": "blue", "new_str": "green"},
        "The memory file has been edited.\n     1\tHello World\n     2\tThis is line two\n     3\tgreen",
    ),
    (
        {"command": "insert", "path": "/memories/notes.txt", "insert_line": 2, "insert_text": "- x\n"},
        "The file /memories/notes.txt has been edited.",
    ),
    ({"command": "delete", "path": "/memories/notes.txt"}, "Successfully deleted /memories/notes.txt"),
    ({"command": "delete", "path": "/memories/dir"}, "Successfully deleted /memories/dir"),
    (
        {"command": "rename", "old_path": "/memories/notes.txt", "new_path": "/memories/deep/er/final.txt"},
        "Successfully renamed /memories/notes.txt to /memories/deep/er/final.txt",
    ),
    (
        {"command": "rename", "old_path": "/memories/dir", "new_path": "/memories/other"},
        "Successfully renamed /memories/dir to /memories/other",
    ),
]

ERRORS = [
    (
        {"command": "view", "path": "/memories/no.txt"},
        "The path /memories/no.txt does not exist. Please provide a valid path.",
    ),
    (
        {"command": "view", "path": "/memories/notes.txt/below"},
        "The path /memories/notes.txt/below does not exist. Please provide a valid path.",
    ),
    (
        {"command": "create", "path": "/memories/notes.txt", "file_text": ""},
        "Error: File /memories/notes.txt already exists",
    ),
    ({"command": "create", "path": "/memories/dir", "file_text": ""}, "Error: File /memories/dir already exists"),
    ({"command": "create", "path": "/memories", "file_text": ""}, "Error: File /memories already exists"),
    (
        {"command": "str_replace", "path": "/memories/no.txt", "old_str": "a", "new_str": "b"},
        "Error: The path /memories/no.txt does not exist. Please provide a valid path.",
    ),
    (
        {"command": "str_replace", "path": "/memories/dir", "old_str": "a", "new_str": "b"},
        "Error: The path /memories/dir does not exist. Please provide a valid path.",
    ),
    (
        {"command": "str_replace", "path": "/memories", "old_str": "a", "new_str": "b"},
        "Error: The path /memories does not exist. Please provide a valid path.",
    ),
    (
        {"command": "str_replace", "path": "/memories/notes.txt", "old_str": "red", "new_str": "b"},
        "No replacement was performed, old_str `red` did not appear verbatim in /memories/notes.txt.",
    ),
    (
        {"command": "str_replace", "path": "/memories/twice.txt", "old_str": "x", "new_str": "b"},
        "No replacement was performed. Multiple occurrences of old_str `x` in lines: 1, 3. Please ensure it is unique",
    ),
    (
        {"command": "insert", "path": "/memories/no.txt", "insert_line": 0, "insert_text": "x"},
        "Error: The path /memories/no.txt does not exist",
    ),
    (
        {"command": "insert", "path": "/memories/dir", "insert_line": 0, "insert_text": "x"},
        "Error: The path /memories/dir does not exist",
    ),
    (
        {"command": "insert", "path": "/memories/notes.txt", "insert_line": 4, "insert_text": "x"},
        "Error: Invalid `insert_line` parameter: 4. It should be within the range of lines of the file: [0, 3]",
    ),
    (
        {"command": "insert", "path": "/memories/notes.txt", "insert_line": -1, "insert_text": "x"},
        "Error: Invalid `insert_line` parameter: -1. It should be within the range of lines of the file: [0, 3]",
    ),
    ({"command": "delete", "path": "/memories/no.txt"}, "Error: The path /memories/no.txt does not exist"),
    ({"command": "delete", "path": "/memories"}, "Error: Cannot delete the /memories directory itself"),
    ({"command": "delete", "path": "/memories/"}, "Error: Cannot delete the /memories directory itself"),
    (
        {"command": "rename", "old_path": "/memories/no.txt", "new_path": "/memories/b"},
        "Error: The path /memories/no.txt does not exist",
    ),
    (
        {"command": "rename", "old_path": "/memories/twice.txt", "new_path": "/memories/notes.txt"},
        "Error: The destination /memories/notes.txt already exists",
    ),
    (
        {"command": "rename", "old_path": "/memories/twice.txt", "new_path": "/memories/twice.txt"},
        "Error: The destination /memories/twice.txt already exists",
    ),
    (
        {"command": "rename", "old_path": "/memories/dir", "new_path": "/memories"},
        "Error: The destination /memories already exists",
    ),
    (
        {"command": "rename", "old_path": "/memories", "new_path": "/memories/x"},
        "Error: Cannot rename the /memories directory itself",
    ),
]


@pytest.mark.parametrize(("sent", "text"), SUCCESSES)
def test_a_success_has_the_documented_text(ask: Ask, sent: dict[str, object], text: str) -> None:
    assert ask(**sent) == (text, False)


@pytest.mark.parametrize(("sent", "text"), ERRORS)
def test_an_error_has_the_documented_text_and_changes_nothing(
    ask: Ask, root: Path, files: Files, sent: dict[str, object], text: str
) -> None:
    before = files(root)

    assert ask(**sent) == (text, True)
    assert before == files(root)


def test_the_documented_listing_comes_out_of_the_documented_sizes(ask: Ask, root: Path) -> None:
    store = root / "dir" / "example"
    store.mkdir()
    (store / "customer_service_guidelines.xml").write_bytes(b"x" * 1_400)
    (store / "refund_policies.xml").write_bytes(b"x" * 2_000)

    content, _ = ask("view", path="/memories/dir/example")

    assert content == HEADER.format(path="/memories/dir/example") + (
        "4.0K\t/memories/dir/example\n"
        "1.5K\t/memories/dir/example/customer_service_guidelines.xml\n"
        "2.0K\t/memories/dir/example/refund_policies.xml"
    )
