"""The docs say what the code does: commands, options, settings, error codes, exit codes, links, stories."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import typer.main

from memfs.cli.app import app
from memfs.config.reference import reference
from memfs.core import errors

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TROUBLESHOOTING = (ROOT / "docs/TROUBLESHOOTING.md").read_text()
SEMANTICS = (ROOT / "docs/SEMANTICS.md").read_text()


def commands(group: click.Group, above: str = "memfs") -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, f"{above} {name}")
        else:
            yield f"{above} {name}", command


def every_command() -> list[tuple[str, click.Command]]:
    root = typer.main.get_command(app)
    assert isinstance(root, click.Group)
    return list(commands(root))


def every_error() -> list[type[errors.MemfsError]]:
    found: list[type[errors.MemfsError]] = [errors.MemfsError]
    for kind in found:
        found += kind.__subclasses__()
    return found


def test_the_reference_of_settings_is_current() -> None:
    assert (ROOT / "docs/CONFIGURATION.md").read_text() == reference()


@pytest.mark.parametrize("name", [name for name, _ in every_command()])
def test_every_command_is_in_the_docs(name: str) -> None:
    pages = "\n".join(page.read_text() for page in PAGES)

    assert re.search(rf"{name}\b", pages)


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

    assert stories
    for file, name in stories:
        assert f"def {name}(" in (ROOT / file).read_text(), f"{file} has no {name}"
