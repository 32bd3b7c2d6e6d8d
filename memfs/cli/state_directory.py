"""The state directory as commands take it: there, a directory, and this user's to write; or one message."""

import os
from pathlib import Path

from memfs.core.errors import StateUnavailable
from memfs.state.layout import Layout

_REMEDY = "Name another by --state"


def made(state: Path) -> Layout:
    """Return the layout of a state directory, which is made if it is missing.

    Raises:
        StateUnavailable: It cannot be made, or is no directory that this user may write.
    """
    try:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        what = "is no directory" if isinstance(error, FileExistsError | NotADirectoryError) else error.strerror
        raise StateUnavailable(f"the state directory {state} cannot be used: {what}", remedy=_REMEDY) from None
    if not os.access(state, os.R_OK | os.W_OK | os.X_OK):
        raise StateUnavailable(f"the state directory {state} may not be written by this user", remedy=_REMEDY)
    return Layout(state)


def found(state: Path) -> Layout:
    """Return the layout of a state directory that is only looked at, and need not be there.

    Raises:
        StateUnavailable: It is no directory, or this user may not look into it.
    """
    try:
        is_there = state.exists()
    except PermissionError:
        is_there = True
    if is_there and not (state.is_dir() and os.access(state, os.R_OK | os.X_OK)):
        raise StateUnavailable(f"the state directory {state} is none that this user may read", remedy=_REMEDY)
    return Layout(state)
