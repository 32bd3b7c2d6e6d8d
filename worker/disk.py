"""Refusals of the disk: told as what they are, so that the worker waits for them to pass and a bug stays a bug.

Used by the runner around its turns and by the service around its start. Any thread.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from memfs.core.errors import StateUnavailable


@contextmanager
def disk_trouble(what: str) -> Iterator[None]:
    """Name what cannot be worked with where the disk, or a limit of the process, refuses.

    Raises:
        StateUnavailable: It did.
    """
    try:
        yield
    except OSError as error:
        raise StateUnavailable(f"{what} cannot be used for now: {error.strerror or error}") from None
