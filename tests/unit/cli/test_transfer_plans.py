"""What an import or an export does with each path: the tables."""

from collections.abc import Mapping

import pytest

from memfs.cli.transfer.plans import Kind, Present, Refusal, export_plan, import_plan
from memfs.core.errors import StoreFull
from memfs.core.paths import parse

NO, YES = False, True
OTHER = "the memory there has other content"
FILE_X = Present(kind=Kind.FILE, sha256="x")
DIRECTORY = Present(kind=Kind.DIRECTORY)
LINK = Present(kind=Kind.OTHER)
LOCAL_ONLY = Present(kind=Kind.FILE, is_local_only=True)


@pytest.mark.parametrize(
    ("files", "there", "overwrite", "create", "update", "unchanged", "refused"),
    [
        pytest.param({}, {"/a": "x"}, NO, [], [], [], [], id="nothing to import"),
        pytest.param({"/b": "x", "/a": "x"}, {}, NO, ["/a", "/b"], [], [], [], id="new ones, in order"),
        pytest.param({"/a": "x"}, {"/a": "x"}, NO, [], [], ["/a"], [], id="equal"),
        pytest.param({"/a": "x"}, {"/a": "x"}, YES, [], [], ["/a"], [], id="equal is not overwritten"),
        pytest.param({"/a": "x"}, {"/a": "y"}, NO, [], [], [], [("/a", OTHER)], id="other content"),
        pytest.param({"/a": "x"}, {"/a": "y"}, YES, [], ["/a"], [], [], id="other content, overwrite"),
        pytest.param(
            {"/a/b": "x"}, {"/a": "x"}, YES, [], [], [], [("/a/b", "a memory is in the way, at /a")], id="memory above"
        ),
        pytest.param(
            {"/a": "x"}, {"/a/b/c": "x"}, YES, [], [], [], [("/a", "memories lie below that path")], id="memory below"
        ),
        pytest.param(
            {"/a/b": "x", "/a": "x"}, {}, NO, ["/a"], [], [], [("/a/b", "a memory is in the way, at /a")],
            id="two files exclude each other",
        ),
        pytest.param({"/a.b": "x", "/a": "x"}, {"/ab/c": "x"}, NO, ["/a", "/a.b"], [], [], [], id="whole segments"),
    ],
)  # fmt: skip
def test_an_import_decides_each_path(
    files: Mapping[str, str],
    there: Mapping[str, str],
    overwrite: bool,
    create: list[str],
    update: list[str],
    unchanged: list[str],
    refused: list[tuple[str, str]],
) -> None:
    plan = import_plan(
        {parse(path): sha for path, sha in files.items()},
        {parse(path): sha for path, sha in there.items()},
        overwrite=overwrite,
        at_most=10,
    )

    assert (create, update, unchanged) == (list(plan.create), list(plan.update), list(plan.unchanged))
    assert [Refusal(*one) for one in refused] == list(plan.refused)


def test_a_store_that_would_be_too_full_is_refused_as_a_whole() -> None:
    files = {parse(f"/{name}"): "x" for name in "abc"}

    assert 3 == len(import_plan(files, {}, overwrite=False, at_most=3).create)
    with pytest.raises(StoreFull, match="holds 1 memories and would get 3 more; it may hold 3"):
        import_plan(files, {parse("/z"): "x"}, overwrite=False, at_most=3)


@pytest.mark.parametrize(
    ("memories", "present", "overwrite", "create", "update", "unchanged", "refused"),
    [
        pytest.param({"/b": "x", "/a/c": "x"}, {}, NO, ["/a/c", "/b"], [], [], [], id="new ones, in order"),
        pytest.param({"/a": "x"}, {"/a": FILE_X}, NO, [], [], ["/a"], [], id="equal"),
        pytest.param(
            {"/a": "y"}, {"/a": FILE_X}, NO, [], [], [], [("/a", "the file there has other content")], id="other",
        ),
        pytest.param({"/a": "y"}, {"/a": FILE_X}, YES, [], ["/a"], [], [], id="other content, overwrite"),
        pytest.param({"/a/b": "x"}, {"/a": DIRECTORY}, NO, ["/a/b"], [], [], [], id="its directory is there"),
        pytest.param({"/a": "x"}, {"/d": DIRECTORY}, NO, ["/a"], [], [], [], id="an empty directory is nobody's"),
        pytest.param(
            {"/a": "x"}, {"/a": DIRECTORY}, YES, [], [], [], [("/a", "a directory is in the way")], id="a directory"
        ),
        pytest.param(
            {"/a": "x"}, {"/a": LINK}, YES, [], [], [], [("/a", "a link or special file is in the way")], id="a link"
        ),
        pytest.param(
            {"/a/b/c": "x"}, {"/a": LINK}, YES, [], [], [],
            [("/a/b/c", "a link or special file is in the way, at /a")], id="a link above",
        ),
        pytest.param(
            {"/a/b": "x"}, {"/a": FILE_X}, YES, [], [], [], [("/a/b", "a file is in the way, at /a")], id="a file above"
        ),
        pytest.param(
            {"/a": "x"}, {"/z": FILE_X, "/l": LINK}, NO, ["/a"], [], [],
            [("/l", "a file that is no memory of the store"), ("/z", "a file that is no memory of the store")],
            id="somebody's files",
        ),
        pytest.param({"/a": "x"}, {"/z": FILE_X, "/l": LINK}, YES, ["/a"], [], [], [], id="files, overwrite"),
        pytest.param({"/a": "x"}, {"/.git/x": LOCAL_ONLY}, NO, ["/a"], [], [], [], id="local-only names"),
    ],
)  # fmt: skip
def test_an_export_decides_each_path(
    memories: Mapping[str, str],
    present: Mapping[str, Present],
    overwrite: bool,
    create: list[str],
    update: list[str],
    unchanged: list[str],
    refused: list[tuple[str, str]],
) -> None:
    plan = export_plan({parse(path): sha for path, sha in memories.items()}, present, overwrite=overwrite)

    assert (create, update, unchanged) == (list(plan.create), list(plan.update), list(plan.unchanged))
    assert [Refusal(*one) for one in refused] == list(plan.refused)
