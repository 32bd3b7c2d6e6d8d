"""The pins and the settings: every package is hashed, every exception has its reason."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PINNED = re.compile(
    r"^([A-Za-z0-9_.-]+)==([^ ;\\]+)( ;[^\\]*)?((?: \\\n    --hash=sha256:[0-9a-f]{64})*)$", re.MULTILINE
)
RULE = re.compile(r'^\s*"[A-Z]+[0-9]*",|^"[^"]+" = \["[A-Z]')


def rules_without_reason(lint_section: str) -> list[str]:
    """Return the lines that ignore a rule and do not say why (two words at least)."""
    ignored = [line.strip() for line in lint_section.splitlines() if RULE.match(line)]
    return [line for line in ignored if len(line.partition("# ")[2].split()) < 2]


def contracts_without_reason(text: str) -> list[str]:
    """Return the ids of the import contracts below which no comment stands."""
    blocks = text.split("[[tool.importlinter.contracts]]")[1:]
    return [re.findall('id = "(.*)"', block)[0] for block in blocks if not re.search("^# .{20,}", block, re.MULTILINE)]


@pytest.fixture(scope="module")
def project(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "pyproject.toml").read_text())


@pytest.fixture(scope="module")
def lock(root: Path) -> str:
    return (root / "requirements.lock").read_text()


def test_every_pinned_package_has_its_hashes_and_comes_from_no_named_index(lock: str) -> None:
    packages = [line for line in lock.splitlines() if line and not line.startswith(("#", " "))]
    hashed = [match[1] for match in PINNED.finditer(lock) if match[4]]

    assert len(packages) > 30
    assert packages == [line for line in packages if line.partition("==")[0] in hashed]
    assert "--index" not in lock.replace("--no-emit-index-url", "")


def test_the_pins_are_what_the_project_asks_for(lock: str, project: dict[str, Any]) -> None:
    pinned = {canonicalize_name(match[1]): match[2] for match in PINNED.finditer(lock)}
    asked = (
        project["project"]["dependencies"] + project["dependency-groups"]["dev"] + project["build-system"]["requires"]
    )

    unmet = [
        text
        for text in asked
        if not Requirement(text).specifier.contains(pinned.get(canonicalize_name(Requirement(text).name), "0"))
    ]

    assert unmet == []


def test_every_ignored_lint_rule_has_a_reason_on_its_line(root: Path) -> None:
    section = (root / "pyproject.toml").read_text().partition("[tool.ruff.lint]")[2].partition("[tool.mypy]")[0]

    assert "COM812" in section
    assert rules_without_reason(section) == []
    assert rules_without_reason('"S101",\n"S102",  # why\n".ci/**" = ["INP001"]\n') == [
        '"S101",',
        '"S102",  # why',
        '".ci/**" = ["INP001"]',
    ]


def test_every_import_contract_has_a_reason(root: Path) -> None:
    text = (root / "pyproject.toml").read_text()

    assert contracts_without_reason(text) == []
    assert contracts_without_reason('[[tool.importlinter.contracts]]\nid = "bare"\nname = "x"\n') == ["bare"]
