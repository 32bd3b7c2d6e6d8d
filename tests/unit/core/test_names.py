"""Names that programs use while saving: which files are no memories, or not yet."""

import pytest
from pathspec import GitIgnoreSpec

from memfs.core.names import LOCAL_ONLY, Names


@pytest.mark.parametrize(
    "relative",
    [
        ".note.md.swp",
        ".note.md.kate-swp",
        "deep/.note.md.swx",
        "note.md~",
        ".#note.md",
        "#note.md#",
        ".nfs000000001",
        ".fuse_hidden0001",
        ".~lock.table.ods#",
        "a/b/.DS_Store",
        ".git",
        ".git/objects/pack/x.pack",
        "repo/.git/HEAD",
        "a/__pycache__/x.pyc",
    ],
)
def test_a_name_of_an_editor_or_a_tool_is_local_only(relative: str) -> None:
    names = Names()

    assert names.is_local_only(relative)
    assert not names.is_held_back(relative)


@pytest.mark.parametrize(
    "relative",
    [
        "4913", "d/4913", "sedAb3xYz", "sedentary", "note.tmp", ".tmp-123", "a/.tmp-x", "tmpab3d_f9h", "d/tmpabcdefgh",
        ".goutputstream-X4T2A1", "note.md.vsctmp", "note.md___jb_tmp___", ".note.md.Xa3bZ9",
    ],
)  # fmt: skip
def test_a_name_that_may_be_a_note_is_held_back(relative: str) -> None:
    names = Names()

    assert names.is_held_back(relative)
    assert not names.is_local_only(relative)


@pytest.mark.parametrize(
    "relative",
    [
        "note.md",
        "sedentary.md",
        "sed",
        "note.swp",
        ".gitignore",
        ".github/x.md",
        "#note",
        "a#b#c",
        "__pycache__",  # a file, not the directory
        "tmp/note.md",
        "49131",
        "tmp",
        "tmp/abcdefgh",
        "template.md",
        ".note.md.Xa3bZ9x",
        ".env.local",
        "!important.md",
    ],
)
def test_an_ordinary_name_is_a_memory(relative: str) -> None:
    names = Names()

    assert not names.is_local_only(relative)
    assert not names.is_held_back(relative)


@pytest.mark.parametrize(
    ("relative", "expected"),
    [(".git", True), ("a/.git", True), ("a/__pycache__", True), ("a", False), (".github", False)],
)
def test_what_lies_below_a_local_only_directory_is_local_only(relative: str, expected: bool) -> None:
    assert expected == Names().is_local_only_directory(relative)
    assert expected == Names().is_local_only(relative + "/any/thing.md")


def test_the_configuration_adds_to_either_kind() -> None:
    names = Names(local_only=["*.log", "#draft"], held_back=["new-*"])

    assert names.is_local_only("a/b.log")
    assert names.is_local_only("#draft")
    assert names.is_local_only("note.md~")
    assert names.is_held_back("a/new-1")
    assert names.is_held_back("4913")


@pytest.mark.parametrize(
    ("patterns", "relative"),
    [
        ((), "a/.note.swp"),
        ((), "a/b/__pycache__/c.pyc"),
        ((), "a/__pycache__"),
        ((), "a/note.md"),
        (("/top.md", "drafts/*.md", "deep/**/x", "[ab].txt"), "drafts/a.md"),
        (("/top.md", "drafts/*.md", "deep/**/x", "[ab].txt"), "a/top.md"),
        (("/top.md", "drafts/*.md", "deep/**/x", "[ab].txt"), "deep/er/x/y"),
        (("*.log", "!keep.log"), "a/keep.log"),
        (("*.log", "!keep.log"), "a/lose.log"),
        (("*.log", "!keep.log"), "a/.DS_Store"),
    ],
)
def test_a_configured_pattern_means_what_gitignore_means(patterns: tuple[str, ...], relative: str) -> None:
    """All patterns are one search where none takes another back: the answer must be the specification's."""
    specification = GitIgnoreSpec.from_lines(one.replace("#*#", r"\#*#") for one in (*LOCAL_ONLY, *patterns))

    assert specification.match_file(relative) == Names(local_only=patterns).is_local_only(relative)


def test_local_only_wins_over_held_back() -> None:
    names = Names(local_only=["*.tmp"])

    assert names.is_local_only("a.tmp")
    assert not names.is_held_back("a.tmp")
