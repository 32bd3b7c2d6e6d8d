"""The docs say what the code does: commands, options, settings, error codes, exit codes, links, stories."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main
from typer.core import TyperCommand, TyperGroup

from memfs.cli.app import app
from memfs.config.reference import reference
from memfs.core import errors

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TROUBLESHOOTING = (ROOT / "docs/TROUBLESHOOTING.md").read_text()
SEMANTICS = (ROOT / "docs/SEMANTICS.md").read_text()


def commands(group: TyperGroup, above: str = "memfs") -> Iterator[tuple[str, TyperCommand]]:
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from commands(command, f"{above} {name}")
        else:
            assert isinstance(command, TyperCommand)
            yield f"{above} {name}", command


def every_command() -> list[tuple[str, TyperCommand]]:
    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)
    return list(commands(root))


def every_error() -> list[type[errors.MemfsError]]:
    found: list[type[errors.MemfsError]] = [errors.MemfsError]
    for kind in found:
        found += kind.__subclasses__()
    return found


def test_the_reference_of_settings_is_current() -> None:
    assert (ROOT / "docs/CONFIGURATION.md").read_text() == reference()


def test_the_reference_of_commands_is_current() -> None:
    page = (ROOT / "docs/COMMANDS.md").read_text()
    typer_itself = Path(sys.executable).with_name("typer")
    words = [typer_itself, "memfs.cli.app", "utils", "docs", "--name", "memfs", "--title", "Commands"]
    made = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)

    assert page == made.stdout.replace("&#x27;", "'"), "say `make docs`"
    assert all(f"## `{name}`" in page for name, _ in every_command())


def test_every_command_and_option_explains_itself() -> None:
    for name, command in every_command():
        assert command.help, name
        for option in command.params:
            assert getattr(option, "help", ""), f"{name} {option.name}"


@pytest.mark.parametrize("kind", every_error(), ids=lambda kind: kind.__name__)
def test_every_error_code_stands_beside_its_exit_code(kind: type[errors.MemfsError]) -> None:
    row = next(line for line in TROUBLESHOOTING.splitlines() if line.startswith(f"| {kind.exit_code} |"))

    assert f"`{kind.code}`" in row


def test_links_between_the_pages_hold() -> None:
    for page in [*PAGES, *ROOT.glob("*.md")]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_story_is_a_test() -> None:
    stories = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", SEMANTICS)

    bullets = re.findall(r"^- (?:.|\n  )*", SEMANTICS.partition("## Not promised")[0], re.MULTILINE)
    assert [] == [bullet for bullet in bullets if "::" not in bullet]
    for file, name in stories:
        assert f"def {name}(" in (ROOT / file).read_text(), f"{file} has no {name}"


def commands_in_the_pages() -> list[str]:
    """Return each memfs command that a console block of the docs shows, without its prompt and its comment."""
    found = []
    for page in PAGES:
        if page.name == "COMMANDS.md":
            continue
        for block in re.findall(r"```console\n(.*?)```", page.read_text(), re.DOTALL):
            found += re.findall(r"^(?:[\w-]*\$ )(memfs .*?)(?: &)?(?:\s+#.*)?$", block, re.MULTILINE)
    return found


@pytest.mark.parametrize("line", commands_in_the_pages())
def test_every_command_that_the_docs_show_is_understood(line: str) -> None:
    """The words are parsed as the command line parses them: an option that went away fails here."""
    command = typer.main.get_command(app)
    words = shlex.split(line)[1:]
    while isinstance(command, TyperGroup):
        _, inner, words = command.resolve_command(command.make_context("memfs", list(words)), words)
        assert inner is not None
        command = inner

    command.make_context(line, list(words))


def test_the_python_of_the_readme_runs_as_far_as_the_network(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert "/mnt/memory/team-notes" in code
    environ = {"PATH": "", "ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}

    words = [sys.executable, "-c", code.replace("/mnt/memory/team-notes", str(tmp_path))]
    done = subprocess.run(words, env=environ, capture_output=True, text=True, timeout=60, check=False)

    assert done.stderr.splitlines()[-1].startswith("anthropic.APIConnectionError")
