"""Whatever a model sends is a command or a text that says what is wrong with it."""

import pytest

from memfs.agent.commands import Create, Delete, Insert, Rename, StrReplace, View, command_of
from memfs.agent.paths import memory_path
from memfs.agent.refusal import ToolFailure

A, B = memory_path("/memories/a.md"), memory_path("/memories/b.md")


@pytest.mark.parametrize(
    ("sent", "command"),
    [
        ({"command": "view", "path": "/memories/a.md"}, View(path=A)),
        ({"command": "view", "path": "/memories/a.md", "view_range": None}, View(path=A)),
        ({"command": "view", "path": "/memories/a.md", "view_range": [2, -1]}, View(path=A, view_range=(2, -1))),
        ({"command": "create", "path": "/memories/a.md", "file_text": ""}, Create(path=A, file_text="")),
        ({"command": "str_replace", "path": "/memories/a.md", "old_str": "x"}, StrReplace(path=A, old_str="x")),
        (
            {"command": "str_replace", "path": "/memories/a.md", "old_str": "x", "new_str": "y"},
            StrReplace(path=A, old_str="x", new_str="y"),
        ),
        (
            {"command": "insert", "path": "/memories/a.md", "insert_line": 0, "insert_text": "x"},
            Insert(path=A, insert_line=0, insert_text="x"),
        ),
        ({"command": "delete", "path": "/memories/a.md"}, Delete(path=A)),
        (
            {"command": "rename", "old_path": "/memories/a.md", "new_path": "/memories/b.md"},
            Rename(old_path=A, new_path=B),
        ),
    ],
)
def test_each_command_is_parsed(sent: object, command: object) -> None:
    assert command == command_of(sent)


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        (None, "Error: The input of the memory tool must be an object, not null"),
        ([], "Error: The input of the memory tool must be an object, not an array"),
        ("view", "Error: The input of the memory tool must be an object, not a string"),
        (
            {},
            (
                "Error: The parameter `command` is missing. "
                "The commands are: view, create, str_replace, insert, delete, rename"
            ),
        ),
        (
            {"command": "undo"},
            "Error: Unknown command `undo`. The commands are: view, create, str_replace, insert, delete, rename",
        ),
        (
            {"command": 7},
            (
                "Error: The parameter `command` must be a string, not an integer. "
                "The commands are: view, create, str_replace, insert, delete, rename"
            ),
        ),
        ({"command": "view"}, "Error: The command `view` needs the parameter `path`"),
        ({"command": "view", "path": None}, "Error: The command `view` needs the parameter `path`"),
        ({"command": "view", "path": 1}, "Error: The parameter `path` of `view` must be a string, not an integer"),
        (
            {"command": "view", "path": "/memories", "range": [1, 2]},
            "Error: The command `view` has no parameter `range`. It takes `path`, `view_range`",
        ),
        ({"command": "create", "path": "/memories/a"}, "Error: The command `create` needs the parameter `file_text`"),
        (
            {"command": "create", "path": "/memories/a", "file_text": ["x"]},
            "Error: The parameter `file_text` of `create` must be a string, not an array",
        ),
        (
            {"command": "create", "path": "/memories/a", "file_text": "\ud800"},
            "Error: The parameter `file_text` of `create` holds an unpaired surrogate",
        ),
        (
            {"command": "str_replace", "path": "/memories/a", "old_str": ""},
            "Error: The parameter `old_str` of `str_replace` must not be empty",
        ),
        (
            {"command": "str_replace", "path": "/memories/a"},
            "Error: The command `str_replace` needs the parameter `old_str`",
        ),
        (
            {"command": "insert", "path": "/memories/a", "insert_line": "2", "insert_text": "x"},
            "Error: The parameter `insert_line` of `insert` must be an integer, not a string",
        ),
        (
            {"command": "insert", "path": "/memories/a", "insert_line": True, "insert_text": "x"},
            "Error: The parameter `insert_line` of `insert` must be an integer, not a boolean",
        ),
        (
            {"command": "insert", "path": "/memories/a", "insert_line": 1.0, "insert_text": "x"},
            "Error: The parameter `insert_line` of `insert` must be an integer, not a number",
        ),
        (
            {"command": "rename", "old_path": "/memories/a"},
            "Error: The command `rename` needs the parameter `new_path`",
        ),
        (
            {"command": "delete", "path": "/memories/a", "recursive": True},
            "Error: The command `delete` has no parameter `recursive`. It takes `path`",
        ),
    ],
)
def test_each_mistake_is_named(sent: object, text: str) -> None:
    with pytest.raises(ToolFailure) as failure:
        command_of(sent)

    assert text == failure.value.text


@pytest.mark.parametrize(
    "view_range", [[], [1], [1, 2, 3], "1-2", 1, {"start": 1}, ["1", "2"], [1.0, 2], [True, 2], [1, None], [None, None]]
)
def test_a_view_range_is_two_integers(view_range: object) -> None:
    with pytest.raises(ToolFailure) as failure:
        command_of({"command": "view", "path": "/memories", "view_range": view_range})

    assert failure.value.text == (
        "Error: Invalid `view_range` parameter. It should be two integers: [start_line, end_line]"
    )
