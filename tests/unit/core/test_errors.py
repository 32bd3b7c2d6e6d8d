"""The error tree: every class is told apart by its code, and every edge has an answer for it."""

import errno
import inspect
import re

import pytest

from memfs.core import errors
from memfs.core.errors import InvalidPath, MemfsError, PathConflict, RateLimited

CLASSES = [
    found for _, found in inspect.getmembers(errors, inspect.isclass) if issubclass(found, MemfsError)
]  # fmt: skip
EXIT_CODES = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 70}
HTTP_STATUSES = {400, 401, 403, 404, 409, 410, 413, 429, 500, 503, 529}


def drawn_parents() -> dict[str, str]:
    """Return class name → parent name as the module's docstring draws them."""
    parents: dict[str, str] = {}
    above = ["MemfsError"]
    for prefix, text in re.findall(r"^([│ ]*)[├└]── (.+)$", errors.__doc__ or "", re.MULTILINE):
        names = re.split(r"\s{2,}", text)[0].split(" · ")
        above = above[: len(prefix) // 4 + 1]
        parents |= dict.fromkeys(names, above[-1])
        above.append(names[-1])
    return parents


def test_the_docstring_draws_the_tree_as_it_is() -> None:
    expected = {one.__name__: one.__bases__[0].__name__ for one in CLASSES if one is not MemfsError}

    assert expected == drawn_parents()


def test_every_class_has_a_code_of_its_own() -> None:
    codes = [vars(one)["code"] for one in CLASSES]

    assert sorted(set(codes)) == sorted(codes)


@pytest.mark.parametrize("error", CLASSES, ids=lambda one: one.__name__)
def test_every_edge_has_an_answer_for_the_class(error: type[MemfsError]) -> None:
    assert re.fullmatch("[a-z]+(_[a-z]+)*", error.code)
    assert error.errno in errno.errorcode
    assert error.http_status in HTTP_STATUSES
    assert error.exit_code in EXIT_CODES


@pytest.mark.parametrize(
    ("code", "number", "status", "exit_code", "retryable"),
    [
        ("internal", errno.EIO, 500, 70, False),
        ("usage", errno.EINVAL, 400, 2, False),
        ("config_invalid", errno.EINVAL, 400, 3, False),
        ("invalid_path", errno.EILSEQ, 400, 10, False),
        ("path_too_long", errno.ENAMETOOLONG, 400, 10, False),
        ("invalid_content", errno.EILSEQ, 400, 10, False),
        ("content_too_large", errno.EFBIG, 400, 10, False),
        ("invalid_metadata", errno.EINVAL, 400, 10, False),
        ("store_read_only", errno.EROFS, 400, 10, False),
        ("authentication_failed", errno.EACCES, 401, 5, False),
        ("permission_refused", errno.EACCES, 403, 5, False),
        ("not_found", errno.ENOENT, 404, 4, False),
        ("precondition_failed", errno.EBUSY, 409, 6, False),
        ("path_conflict", errno.EEXIST, 409, 6, False),
        ("store_full", errno.ENOSPC, 409, 6, False),
        ("concurrent_change", errno.EBUSY, 409, 6, True),
        ("request_too_large", errno.EFBIG, 413, 10, False),
        ("remote_unavailable", errno.EHOSTUNREACH, 529, 7, True),
        ("rate_limited", errno.EHOSTUNREACH, 429, 7, True),
        ("already_held", errno.EBUSY, 503, 9, True),
        ("stale_mount", errno.ENOTCONN, 500, 8, False),
        ("unsynced", errno.EAGAIN, 500, 1, True),
    ],
)
def test_what_the_kernel_the_wire_and_the_shell_are_answered(
    code: str, number: int, status: int, exit_code: int, retryable: bool
) -> None:
    error = {one.code: one for one in CLASSES}[code]

    assert (number, status, exit_code, retryable) == (
        error.errno,
        error.http_status,
        error.exit_code,
        error.retryable,
    )


def test_the_text_of_an_error_is_its_message_and_its_remedy_on_one_line() -> None:
    assert "the path is odd" == str(InvalidPath("the path is odd"))
    assert "the path is odd. Rename it" == str(InvalidPath("the path is odd", remedy="Rename it"))


def test_what_only_some_errors_carry_is_kept() -> None:
    taken = PathConflict("a/b is taken", conflicting_path="/a", conflicting_memory_id="mem_1", remedy="Rename it")
    waiting = RateLimited("wait", retry_after_s=2.5)

    assert ("/a", "mem_1", "Rename it") == (taken.conflicting_path, taken.conflicting_memory_id, taken.remedy)
    assert 2.5 == waiting.retry_after_s
