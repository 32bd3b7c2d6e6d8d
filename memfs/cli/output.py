"""How commands print what they found: tables for people, JSON for programs. Used by every command that lists."""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import typer

_UNWRAPPED = 100_000  # Lines stay whole, so that grep and awk see one row each, and an id can be copied.


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows under their headings on standard output, one line each, however narrow the terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False, width=_UNWRAPPED, soft_wrap=True)
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, no_wrap=True)
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    console.print(table)


def print_json(value: Any) -> None:  # noqa: ANN401  (whatever JSON can say)
    """Print a value as indented JSON in UTF-8 on standard output."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2).encode() + b"\n", nl=False)


def printable(text: str) -> str:
    """Return ``text`` with what could steer a terminal shown as escapes: names and descriptions come from others."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def moment(when: datetime) -> str:
    """Return a time as tables show it: UTC, to the second."""
    return f"{when.astimezone(UTC):%Y-%m-%d %H:%M:%SZ}"
