"""A store's directories, for the tests of the tree."""

from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Directories:
    """What `memfs.state.layout.StoreLayout` says, in a folder of the test."""

    root: Path

    @property
    def tree(self) -> Path:
        return self.root / "tree"

    @property
    def staging(self) -> Path:
        return self.root / "staging"

    @property
    def trash(self) -> Path:
        return self.root / "trash"

    @property
    def owner_lock(self) -> Path:
        return self.root / "owner.lock"


@pytest.fixture
def directories(tmp_path: Path) -> Directories:
    made = Directories(tmp_path / "memstore_one")
    for path in (made.tree, made.staging, made.trash):
        path.mkdir(parents=True)
    return made
