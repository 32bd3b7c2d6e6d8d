"""What a sandbox is to be, as values: `memfs run` decides it and hands it on as one word of JSON. Pure.

Text may hold surrogates: names on Linux are bytes, and JSON's ASCII escapes carry them through.
"""

import json
from dataclasses import asdict, dataclass
from typing import Self

MEMORY = "/mnt/memory"
"""Where the stores appear."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One sandbox."""

    command: list[str]
    directory: str
    """Where the command starts, if it is to be seen inside."""
    hidden: list[str]
    """Files and directories of which nothing may be seen, absolute; those that are not there do not matter."""
    has_network: bool
    has_terminal: bool
    """The command is to be the terminal's foreground job."""
    uid: int
    gid: int

    def encoded(self) -> str:
        """Return the plan as a word."""
        return json.dumps(asdict(self))

    @classmethod
    def decoded(cls, word: str) -> Self:
        """Read a word that `encoded` made."""
        return cls(**json.loads(word))
