"""The house: what may lie where, how long it may be, and what no file may say.

Each rule is a function from text to findings, so that it is shown to find what it is there for.
"""

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath

import pytest

ROOMS = {
    "core", "tree", "state", "vfs", "fuse", "api", "remote", "server", "agent", "config", "health", "logs", "cli",
    "linked", "progress", "sandbox",
}  # fmt: skip
TOP_LEVEL = {
    ".ci", ".gitignore", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "SECURITY.md", "bench",
    "docs", "examples", "memfs", "pyproject.toml", "requirements.lock", "systemd", "tests", "worker",
}  # fmt: skip
NAMES_THAT_SAY_NOTHING = {
    "common", "data", "handler", "handlers", "helper", "helpers", "info", "manager", "managers", "misc",
    "util", "utils",
}  # fmt: skip
FILE_LINES = 350
FUNCTION_LINES = 50

# Needles are built from parts, so that this file passes its own test.
REGISTRIES = re.compile("|".join(["py" + r"pi\.org", "python" + r"hosted\.", "npm" + r"js\.", "deb" + r"ian\.org"]))
PATHS_OF_A_MACHINE = re.compile(
    "|".join([r"(?<![\w.])/(?:ro" + "ot|wo" + r"rk)/", "/ho" + r"me/\w", "/Us" + r"ers/\w"])
)
LEFT_FOR_LATER = re.compile(r"\b(?:TO" + "DO|FIX" + "ME|XX" + "X|HA" + r"CK)\b")
SKIPPED = re.compile(r"\bmark\.(?:skip|skipif|xfail)\b|\bpytest\.(?:skip|xfail|importorskip)\(|\bunittest\.skip")
SILENCED = re.compile(
    r"#\s*(?:(?:ruff:\s*)?noqa\b(?::\s*[A-Z]+[0-9]+(?:[,\s]+[A-Z]+[0-9]+)*)?|type:\s*ignore(?:\[[\w, -]+\])?)"
)


def matching_lines(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), 1):
        if pattern.search(line):
            yield f"{number}: {line.strip()[:90]}"


def registry_hosts(text: str) -> Iterator[str]:
    return matching_lines(REGISTRIES, text)


def machine_paths(text: str) -> Iterator[str]:
    return matching_lines(PATHS_OF_A_MACHINE, text)


def left_for_later(text: str) -> Iterator[str]:
    return matching_lines(LEFT_FOR_LATER, text)


def skipped_tests(text: str) -> Iterator[str]:
    return matching_lines(SKIPPED, text)


def long_functions(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES:
                yield f"{node.lineno}: {node.name} has {lines} lines"


def long_file(text: str) -> Iterator[str]:
    if (lines := len(text.splitlines())) > FILE_LINES:
        yield f"{lines} lines"


def missing_docstring(text: str) -> Iterator[str]:
    if text.strip() and not ast.get_docstring(ast.parse(text)):
        yield "no docstring says what the module decides"


def silenced_without_reason(text: str) -> Iterator[str]:
    """A silenced rule names the rule, and beside it stands why."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type is not tokenize.COMMENT or not (silenced := SILENCED.findall(token.string)):
            continue
        names_no_rule = any(":" not in re.sub("(type|ruff):", "", one) and "[" not in one for one in silenced)
        reason = re.sub(r"[^A-Za-z0-9]", "", SILENCED.sub("", token.string))
        if names_no_rule or len(reason) < 3:
            yield f"{token.start[0]}: {token.string}"


def undeclared_top_level(names: set[str]) -> set[str]:
    return {PurePosixPath(name).parts[0] for name in names} - TOP_LEVEL


def undeclared_rooms(names: set[str]) -> set[str]:
    modules = {PurePosixPath(name).parts[1] for name in names if name.startswith("memfs/")}
    return {name.removesuffix(".py") for name in modules} - ROOMS - {"__init__", "py.typed"}


def names_that_say_nothing(names: set[str]) -> set[str]:
    return {name for name in names if NAMES_THAT_SAY_NOTHING & {part.removesuffix(".py") for part in name.split("/")}}


def findings(rule: Callable[[str], Iterator[str]], files: dict[str, str]) -> list[str]:
    return [f"{name}: {finding}" for name, text in files.items() for finding in rule(text)]


@pytest.mark.parametrize("rule", [registry_hosts, machine_paths, left_for_later])
def test_no_file_names_a_registry_or_a_machine_or_leaves_work_for_later(
    rule: Callable[[str], Iterator[str]], texts: dict[str, str]
) -> None:
    found = findings(rule, texts)

    assert found == [], "\n".join(found)


@pytest.mark.parametrize("rule", [long_file, long_functions, missing_docstring])
def test_code_can_be_held_by_a_reader(rule: Callable[[str], Iterator[str]], code: dict[str, str]) -> None:
    found = findings(rule, code)

    assert found == [], "\n".join(found)


@pytest.mark.parametrize("rule", [skipped_tests, silenced_without_reason])
def test_no_test_is_skipped_and_no_rule_silenced_without_a_reason(
    rule: Callable[[str], Iterator[str]], texts: dict[str, str]
) -> None:
    found = findings(rule, {name: text for name, text in texts.items() if name.endswith(".py")})

    assert found == [], "\n".join(found)


def test_the_repository_and_memfs_hold_declared_rooms_only(texts: dict[str, str]) -> None:
    assert undeclared_top_level(set(texts)) == set()
    assert undeclared_rooms(set(texts)) == set()


def test_every_module_is_named_for_what_it_decides(texts: dict[str, str]) -> None:
    assert names_that_say_nothing({name for name in texts if name.endswith(".py")}) == set()


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (registry_hosts, "index = https://py" + "pi.org/simple"),
        (registry_hosts, "https://files.python" + "hosted.org/x.whl"),
        (machine_paths, "cd /ro" + "ot/x"),
        (machine_paths, "see '/wo" + "rk/main'"),
        (machine_paths, "/ho" + "me/ann/notes"),
        (left_for_later, "# TO" + "DO: later"),
        (skipped_tests, "@pytest.mark" + ".skip"),
        (skipped_tests, "    pytest" + '.skip("no")'),
        (long_file, "x = 1\n" * (FILE_LINES + 1)),
        (long_functions, "def f():\n" + "    pass\n" * FUNCTION_LINES),
        (long_functions, "class A:\n    async def f():\n" + "        pass\n" * FUNCTION_LINES),
        (missing_docstring, "x = 1\n"),
        (silenced_without_reason, "x = 1  # no" + "qa"),
        (silenced_without_reason, "x = 1  # no" + "qa  (there is a good reason)"),
        (silenced_without_reason, "x = 1  # no" + "qa: S101"),
        (silenced_without_reason, "# ruff: no" + "qa"),
        (silenced_without_reason, "# ruff: no" + "qa: S101"),
        (silenced_without_reason, "x = 1  # type" + ": ignore[misc]"),
        (silenced_without_reason, "x = 1  # type" + ": ignore  # because it is"),
        (silenced_without_reason, "x = 1  # type" + ": ignore[misc]  # no" + "qa: S101"),
    ],
)
def test_the_rule_finds_what_it_is_there_for(rule: Callable[[str], Iterator[str]], text: str) -> None:
    assert len(list(rule(text))) == 1


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (machine_paths, "homework/main and chroot/x, /proc/self/root, ProtectHome=yes"),
        (long_file, "x = 1\n" * FILE_LINES),
        (long_functions, "def f():\n" + "    pass\n" * (FUNCTION_LINES - 1)),
        (missing_docstring, '"""Decides this."""\n'),
        (silenced_without_reason, "x = 1  # no" + "qa: S101  (a measured figure)"),
        (silenced_without_reason, "x = 1  # no" + "qa: S101, PLR2004 - a measured figure"),
        (silenced_without_reason, "x = 1  # type" + ": ignore[misc]  # the library has no types"),
    ],
)
def test_the_rule_lets_pass_what_is_well(rule: Callable[[str], Iterator[str]], text: str) -> None:
    assert list(rule(text)) == []


def test_an_undeclared_room_or_an_empty_name_is_found() -> None:
    assert undeclared_top_level({"src/x.py", "docs/A.md"}) == {"src"}
    assert undeclared_rooms({"memfs/plumbing.py", "memfs/core/a.py", "memfs/attic/b.py"}) == {"plumbing", "attic"}
    assert names_that_say_nothing({"memfs/core/utils.py", "worker/common/x.py", "memfs/core/slug.py"}) == {
        "memfs/core/utils.py",
        "worker/common/x.py",
    }
