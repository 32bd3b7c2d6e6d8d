"""A file system without a kernel, over a state directory with one store of each kind."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memfs.core.attachment import Access, Attachment
from memfs.core.limits import Limits
from memfs.core.names import Names
from memfs.state.attachments import attach
from memfs.state.layout import Layout
from memfs.vfs.filesystem import FileSystem
from memfs.vfs.values import Notice, Ownership


class Case:
    """The state directory, what the kernel was told, and a clock that a test moves."""

    def __init__(self, root: Path) -> None:
        self.layout = Layout(root)
        self.told: list[Notice] = []
        self.now_ns = 1_000_000_000_000
        self.opened: list[FileSystem] = []

    def attach(self, *slugs: str, read_only: bool = False) -> None:
        """Attach these stores and no others; ``slug=name`` attaches the store ``name`` under another slug."""
        access = Access.READ_ONLY if read_only else Access.READ_WRITE
        pairs = [(slug.partition("=")[0], slug.rpartition("=")[2]) for slug in slugs]
        attach(
            self.layout,
            [Attachment(store_id=f"memstore_{name}", name=name, slug=slug, access=access) for slug, name in pairs],
        )

    def tree(self, name: str) -> Path:
        return self.layout.store(f"memstore_{name}").tree

    def serve(self, limits: Limits | None = None) -> FileSystem:
        served = FileSystem(
            self.layout,
            limits=limits or Limits(),
            names=Names(),
            ownership=Ownership(uid=1, gid=2, umask=0o027),
            clock_ns=lambda: self.now_ns,
            invalidate=self.told.append,
        )
        self.opened.append(served)
        return served


@pytest.fixture
def case(tmp_path: Path) -> Iterator[Case]:
    made = Case(tmp_path / "state")
    made.attach("notes", "other")
    yield made
    for served in made.opened:
        served.close()


@pytest.fixture
def open_descriptors() -> Callable[[], int]:
    return lambda: len(list(Path("/proc/self/fd").iterdir()))
