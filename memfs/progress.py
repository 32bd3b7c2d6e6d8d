"""How far something is, as a bar on a terminal: drawn when told, gone when closed.

Used by the worker that runs in the foreground, and by `memfs up` for the worker it supervises. Rich is imported with
the first bar: a start that is short shows none and costs nothing. Threading: the caller's; nothing runs beside.
"""

import sys
from typing import TYPE_CHECKING, Protocol, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class Shown(Protocol):
    """Where it is shown how far something is."""

    def show(self, done: int, total: int | None) -> None:
        """Show that ``done`` of ``total`` steps are done; None where nobody knows how many there are."""
        ...

    def close(self) -> None:
        """Show nothing any more. May be called twice."""
        ...


class Bar:
    """A bar on ``stream``, standard error unless told.

    Args:
        what: What goes on.
        stream: A terminal.
    """

    def __init__(self, what: str, stream: TextIO | None = None) -> None:
        self._what, self._stream = what, stream
        self._drawn: tuple[Progress, TaskID] | None = None

    def show(self, done: int, total: int | None) -> None:
        """Draw it."""
        if self._drawn is None:
            self._drawn = self._begun()
        progress, task = self._drawn
        progress.update(task, completed=done, total=total)
        progress.refresh()

    def close(self) -> None:
        """Take it away."""
        if self._drawn is not None:
            self._drawn[0].stop()
            self._drawn = None

    def _begun(self) -> "tuple[Progress, TaskID]":
        from rich.console import Console  # noqa: PLC0415  (see the module)
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn  # noqa: PLC0415  (see the module)

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        console = Console(file=self._stream or sys.stderr)
        progress = Progress(*columns, console=console, transient=True, auto_refresh=False)
        progress.start()
        return progress, progress.add_task(self._what, total=None)


class Hidden:
    """Shows nothing."""

    def show(self, done: int, total: int | None) -> None:
        """Show nothing."""

    def close(self) -> None:
        """Go on showing nothing."""
