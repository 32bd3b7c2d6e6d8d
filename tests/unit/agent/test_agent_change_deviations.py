"""Ways 11 to 29 in which the SDK's own local memory tool departs from its documentation: those of the changes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from memfs.agent import MemoryTool

Ask = Callable[..., tuple[object, bool]]
Files = Callable[[Path], dict[str, bytes]]

MISSING = "Error: The path {} does not exist"
MISSING_TO_VIEW = "The path {} does not exist. Please provide a valid path."


def test_11_create_says_error_when_the_file_exists(ask: Ask, root: Path) -> None:
    (root / "a.md").write_bytes(b"kept")

    assert ask("create", path="/memories/a.md", file_text="x") == ("Error: File /memories/a.md already exists", True)
    assert (root / "a.md").read_bytes() == b"kept"


def test_11_create_may_be_told_to_overwrite(asking: Callable[[MemoryTool], Ask], root: Path) -> None:
    (root / "a.md").write_bytes(b"\xff old")
    (root / "a.md").chmod(0o640)
    (root / "dir").mkdir()
    ask = asking(MemoryTool(root, overwrite_on_create=True))

    assert ask("create", path="/memories/a.md", file_text="x") == (
        "File created successfully at: /memories/a.md",
        False,
    )
    assert (root / "a.md").read_bytes() == b"x"
    assert (root / "a.md").stat().st_mode & 0o777 == 0o640
    assert ask("create", path="/memories/dir", file_text="x") == ("Error: File /memories/dir already exists", True)


def test_12_create_below_a_file_is_told_without_a_host_path(ask: Ask, root: Path) -> None:
    (root / "a.md").write_bytes(b"")

    assert ask("create", path="/memories/a.md/b.md", file_text="x") == (
        "Error: /memories/a.md/b.md cannot be created: a part of its path is a file, not a directory",
        True,
    )


def test_13_str_replace_says_error_when_the_file_is_missing(ask: Ask) -> None:
    told = "Error: " + MISSING_TO_VIEW.format("/memories/a.md")

    assert ask("str_replace", path="/memories/a.md", old_str="a", new_str="b") == (told, True)


def test_14_str_replace_of_a_directory_says_that_it_is_missing(ask: Ask, root: Path) -> None:
    (root / "dir").mkdir()
    told = "Error: " + MISSING_TO_VIEW.format("/memories/dir")

    assert ask("str_replace", path="/memories/dir", old_str="a", new_str="b") == (told, True)


def test_15_str_replace_without_new_str_deletes(ask: Ask, root: Path) -> None:
    (root / "a.md").write_bytes(b"keep drop\n")

    content, is_error = ask("str_replace", path="/memories/a.md", old_str=" drop")

    assert (content, is_error) == ("The memory file has been edited.\n     1\tkeep", False)
    assert (root / "a.md").read_bytes() == b"keep\n"


def test_16_str_replace_answers_the_documented_sentence_and_the_snippet(ask: Ask, root: Path) -> None:
    (root / "a.md").write_bytes(b"1\n2\n3\n4\n5\n")

    content, _ = ask("str_replace", path="/memories/a.md", old_str="3", new_str="x")

    assert content == ("The memory file has been edited.\n     1\t1\n     2\t2\n     3\tx\n     4\t4\n     5\t5")


def test_17_several_matches_name_each_line_once_and_no_overlap(ask: Ask, root: Path) -> None:
    (root / "a.md").write_bytes(b"aaaa\nb\naa\n")

    assert ask("str_replace", path="/memories/a.md", old_str="aa", new_str="x") == (
        "No replacement was performed. Multiple occurrences of old_str `aa` in lines: 1, 3. Please ensure it is unique",
        True,
    )


def test_18_insert_into_a_missing_file_has_its_own_text(ask: Ask) -> None:
    told = (MISSING.format("/memories/a.md"), True)

    assert told == ask("insert", path="/memories/a.md", insert_line=0, insert_text="x")


def test_19_insert_into_a_directory_says_that_it_is_missing(ask: Ask, root: Path) -> None:
    (root / "dir").mkdir()
    told = (MISSING.format("/memories/dir"), True)

    assert told == ask("insert", path="/memories/dir", insert_line=0, insert_text="x")


def test_20_insert_at_a_bad_line_has_the_documented_text(ask: Ask, root: Path) -> None:
    (root / "a.md").write_bytes(b"1\n2\n")

    assert ask("insert", path="/memories/a.md", insert_line=3, insert_text="x") == (
        "Error: Invalid `insert_line` parameter: 3. It should be within the range of lines of the file: [0, 2]",
        True,
    )


@pytest.mark.parametrize(
    ("before", "text", "after"),
    [
        (b"1\n2", "x\n\n\n", b"1\nx\n\n\n2"),
        (b"1\n", "x", b"1\nx\n"),
        (b"1", "x\n", b"1\nx"),
        (b"1\r\n2\r\n", "x\r\n", b"1\r\nx\r\n2\r\n"),
    ],
)
def test_21_insert_drops_at_most_one_newline_and_forces_none(
    ask: Ask, root: Path, before: bytes, text: str, after: bytes
) -> None:
    (root / "a.md").write_bytes(before)

    ask("insert", path="/memories/a.md", insert_line=1, insert_text=text)

    assert after == (root / "a.md").read_bytes()


def test_22_delete_of_a_missing_path_says_error(ask: Ask) -> None:
    assert ask("delete", path="/memories/a.md") == (MISSING.format("/memories/a.md"), True)


def test_23_delete_of_a_link_deletes_the_link_and_never_its_target(ask: Ask, root: Path, files: Files) -> None:
    (root / "kept.md").write_bytes(b"kept")
    (root / "dir").mkdir()
    (root / "dir" / "kept.md").write_bytes(b"kept")
    (root / "to-file").symlink_to("kept.md")
    (root / "to-directory").symlink_to("dir")
    (root / "dangling").symlink_to("nowhere")

    for name in ("to-file", "to-directory", "dangling"):
        assert ask("delete", path=f"/memories/{name}") == (f"Successfully deleted /memories/{name}", False)

    assert files(root) == {"dir": b"/", "dir/kept.md": b"kept", "kept.md": b"kept"}


def test_24_rename_errors_say_error(ask: Ask, root: Path) -> None:
    (root / "a.md").write_bytes(b"a")
    (root / "b.md").write_bytes(b"b")

    assert ask("rename", old_path="/memories/no.md", new_path="/memories/c.md") == (
        MISSING.format("/memories/no.md"),
        True,
    )
    assert ask("rename", old_path="/memories/a.md", new_path="/memories/b.md") == (
        "Error: The destination /memories/b.md already exists",
        True,
    )


def test_25_a_missing_source_is_named_before_an_existing_target(ask: Ask, root: Path) -> None:
    (root / "b.md").write_bytes(b"kept")

    assert ask("rename", old_path="/memories/no.md", new_path="/memories/b.md") == (
        MISSING.format("/memories/no.md"),
        True,
    )
    assert (root / "b.md").read_bytes() == b"kept"


def test_26_a_directory_is_not_renamed_into_itself_and_nothing_is_left(ask: Ask, root: Path, files: Files) -> None:
    (root / "dir").mkdir()
    (root / "dir" / "a.md").write_bytes(b"a")
    before = files(root)

    assert ask("rename", old_path="/memories/dir", new_path="/memories/dir/x/y") == (
        "Error: Cannot rename /memories/dir to /memories/dir/x/y: the new path lies inside the old one",
        True,
    )
    assert before == files(root)
    ask("rename", old_path="/memories/dir", new_path="/memories/dir2")
    assert files(root) == {"dir2": b"/", "dir2/a.md": b"a"}


def test_27_memories_is_a_whole_name(ask: Ask, root: Path, files: Files) -> None:
    content, is_error = ask("create", path="/memoriesX.md", file_text="x")

    assert is_error
    assert content == "Error: The path /memoriesX.md is outside /memories. Paths look like /memories/notes.md"
    assert files(root) == {}


def test_28_an_encoded_traversal_is_refused(ask: Ask) -> None:
    content, is_error = ask("view", path="/memories/%2e%2e%2fsecret.md")

    assert is_error
    assert content == (
        "Error: The path /memories/%2e%2e%2fsecret.md has an encoded separator, dot or control character"
    )


def test_29_an_unknown_command_or_a_missing_argument_is_told_in_words(ask: Ask) -> None:
    assert ask("undo", path="/memories") == (
        "Error: Unknown command `undo`. The commands are: view, create, str_replace, insert, delete, rename",
        True,
    )
    assert ask("view") == ("Error: The command `view` needs the parameter `path`", True)


def test_no_command_leaves_a_descriptor_open(ask: Ask, root: Path) -> None:
    def commands() -> None:
        ask("create", path="/memories/a/b/c.md", file_text="x\n")
        ask("create", path="/memories/a/b/c.md/d", file_text="x\n")
        ask("view", path="/memories")
        ask("view", path="/memories/a/b/c.md")
        ask("view", path="/memories/no/no")
        ask("str_replace", path="/memories/a/b/c.md", old_str="x", new_str="y")
        ask("insert", path="/memories/a/b/c.md", insert_line=9, insert_text="y")
        ask("rename", old_path="/memories/a/b/c.md", new_path="/memories/c.md")
        ask("rename", old_path="/memories/c.md", new_path="/memories/c.md/d")
        ask("delete", path="/memories/a")
        ask("delete", path="/memories/c.md")

    commands()
    before = {path.name for path in Path("/proc/self/fd").iterdir()}
    commands()

    assert before == {path.name for path in Path("/proc/self/fd").iterdir()}
    assert list(root.iterdir()) == []
