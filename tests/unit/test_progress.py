"""A bar is drawn when told and taken away when closed."""

import io
import re

from memfs.progress import Bar, Hidden


class Terminal(io.StringIO):
    """A terminal that keeps what is written."""

    def isatty(self) -> bool:
        return True


def test_a_bar_shows_how_far_it_is_and_goes() -> None:
    terminal = Terminal()
    bar = Bar("first download", terminal)

    bar.show(20, None)
    bar.show(30, 1_000)
    drawn = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())
    bar.close()
    bar.close()

    assert "first download" in drawn
    assert "20/?" in drawn
    assert "30/1000" in drawn
    assert terminal.getvalue().endswith("\x1b[2K")  # The line is erased.


def test_a_bar_that_never_showed_anything_writes_nothing() -> None:
    terminal = Terminal()

    Bar("first download", terminal).close()
    Hidden().show(1, 2)
    Hidden().close()

    assert "" == terminal.getvalue()
