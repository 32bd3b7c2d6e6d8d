"""What there is to import: each file is read once, checked against every rule of a memory, and kept as a digest.

Used by `directories` and `archives`, whose `Source` reads a file a second time when its turn comes; a store of ten
thousand memories is never held at once. One thread.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from memfs.cli.transfer.plans import Refusal
from memfs.core import paths
from memfs.core.digest import check_content, content_sha256
from memfs.core.errors import ConcurrentChange, MemfsError
from memfs.core.limits import Limits
from memfs.core.names import Names
from memfs.core.paths import StorePath


@dataclass(slots=True, kw_only=True)
class Survey:
    """The files that may become memories (path to content_sha256), those that may not, and those left aside.

    Args:
        limits: What a memory may be.
        names: Says which names are local-only; without it none is.
    """

    limits: Limits
    names: Names | None
    files: dict[StorePath, str] = field(default_factory=dict)
    refused: list[Refusal] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def is_skipped(self, relative: bytes, *, is_directory: bool = False) -> bool:
        """Tell whether the name is left aside, and note it."""
        text = relative.decode(errors="surrogateescape")
        aside = self.names is not None and (
            "/" + text == paths.RESERVED_PATH
            or self.names.is_local_only(text)
            or (is_directory and self.names.is_local_only_directory(text))
        )
        if aside:
            self.skipped.append(shown(relative) + ("/" if is_directory else ""))
        return aside

    def refuse(self, relative: bytes, reason: str) -> None:
        """Note why a file cannot be a memory."""
        self.refused.append(Refusal(shown(relative), reason))

    def add(self, relative: bytes, size: int, read: Callable[[StorePath], bytes]) -> None:
        """Read a file and note its digest, or why it cannot be a memory; ``size`` is looked at before it is read."""
        try:
            path = paths.from_local(relative, self.limits)
            if path in self.files:
                self.refuse(relative, "the path comes twice")
                return
            if size > self.limits.memory_bytes:
                self.refuse(relative, f"{size} bytes; a memory holds at most {self.limits.memory_bytes}")
                return
            content = read(path)
            check_content(content, self.limits, path)
        except MemfsError as error:
            self.refuse(relative, error.message)
        except OSError as error:
            self.refuse(relative, f"it cannot be read: {error.strerror or 'it is gone'}")
        else:
            self.files[path] = content_sha256(content)


class Source(Protocol):
    """Where files are imported from."""

    def survey(self, limits: Limits, names: Names | None) -> Survey:
        """Look at every file. May be called once. Raises OSError, InvalidRequest (there is no reading it at all)."""
        ...

    def read(self, path: StorePath) -> bytes:
        """Return the bytes of a file of the survey as they are now. Raises OSError, ConcurrentChange."""
        ...


def read_unchanged(source: Source, path: StorePath, sha256: str) -> bytes:
    """Return a file's bytes, which are those that were looked at.

    Raises:
        ConcurrentChange: They are others by now.
        OSError: It cannot be read.
    """
    content = source.read(path)
    if content_sha256(content) != sha256:
        raise ConcurrentChange(f"{path} changed meanwhile", remedy="Run it again")
    return content


def shown(relative: bytes) -> str:
    """Return a file's name as text, whatever its bytes."""
    return relative.decode(errors="backslashreplace")
