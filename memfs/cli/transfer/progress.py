"""A progress bar on a terminal, nothing elsewhere: what a pipe or a log gets is the final line alone."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

Advance = Callable[[], None]
Watch = Callable[[str, int | None], AbstractContextManager[Advance]]
"""Called with what is done and how many steps it has (None: nobody knows); gives what is called after each step."""


@contextmanager
def bar(what: str, steps: int | None) -> Iterator[Advance]:
    """Show a bar on standard error for the length of the block, if that is a terminal."""
    if not sys.stderr.isatty():
        with unwatched(what, steps) as advance:
            yield advance
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(what, total=steps)
        yield lambda: shown.advance(task)


@contextmanager
def unwatched(_what: str, _steps: int | None) -> Iterator[Advance]:
    """Show nothing."""
    yield lambda: None
