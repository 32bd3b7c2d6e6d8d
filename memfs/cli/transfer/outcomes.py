"""What a transfer did, or would do: one value, printed as lines for people and as JSON for programs."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum

import typer

from memfs.cli.output import print_json, printable
from memfs.cli.transfer.plans import Refusal


class Transfer(StrEnum):
    """The three of them."""

    EXPORT = "export"
    IMPORT = "import"
    COPY = "copy"


@dataclass(frozen=True, slots=True)
class Side:
    """A store by name and id, or the path of a directory or tar file."""

    name: str
    store_id: str | None = None

    def __str__(self) -> str:
        """Return both, as people read them."""
        return f"{self.name} ({self.store_id})" if self.store_id else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of each path. A copy that was not made yet has no id."""

    transfer: Transfer
    source: Side
    target: Side
    dry_run: bool
    created: Sequence[str]
    updated: Sequence[str]
    unchanged: Sequence[str]
    skipped: Sequence[str] = ()
    """Files with local-only names."""
    refused: Sequence[Refusal] = ()
    """What breaks a rule or is in the way: nothing was tried."""
    failed: Sequence[Refusal] = ()
    """What somebody else changed meanwhile."""


def print_outcome(outcome: Outcome, *, as_json: bool) -> None:
    """Print what was done on standard output, and what was not on standard error."""
    if as_json:
        print_json(_document(outcome))
        return
    for name in outcome.skipped:
        typer.echo(f"skipped {printable(name)}: a local-only name", err=True)
    for word, notes in (("refused", outcome.refused), ("failed", outcome.failed)):
        for note in notes:
            typer.echo(f"{word} {printable(note.path)}: {printable(note.reason)}", err=True)
    if outcome.dry_run:
        for word, paths in (("create", outcome.created), ("update", outcome.updated)):
            for path in paths:
                typer.echo(f"would {word} {printable(path)}")
    typer.echo(_line(outcome))


def _line(outcome: Outcome) -> str:
    counts = [
        f"{len(outcome.created)} created",
        f"{len(outcome.updated)} updated",
        f"{len(outcome.unchanged)} unchanged",
        *(
            f"{len(some)} {word}"
            for word, some in (("skipped", outcome.skipped), ("refused", outcome.refused), ("failed", outcome.failed))
            if some
        ),
    ]
    where = f"{printable(str(outcome.source))} to {printable(str(outcome.target))}"
    return f"{outcome.transfer}{' (dry run)' if outcome.dry_run else ''} of {where}: {', '.join(counts)}"


def _document(outcome: Outcome) -> dict[str, object]:
    notes = {
        word: [{"path": note.path, "reason": note.reason} for note in some]
        for word, some in (("refused", outcome.refused), ("failed", outcome.failed))
    }
    return asdict(outcome) | notes | {"transfer": outcome.transfer.value}
