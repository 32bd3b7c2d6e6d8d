"""Where things are in a state directory (docs/ARCHITECTURE.md, State on disk). Paths only: nothing is opened here."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class StoreLayout:
    """The directory of one attached store, ``STATE/stores/<memstore_id>/``."""

    root: Path

    @property
    def store_id(self) -> str:
        """The store's id, which is the directory's name."""
        return self.root.name

    @property
    def tree(self) -> Path:
        """The files, nothing else."""
        return self.root / "tree"

    @property
    def database(self) -> Path:
        """Baseline, problems, conflicts, and how the store is attached (SQLite, WAL)."""
        return self.root / "state.db"

    @property
    def base(self) -> Path:
        """Contents of the baseline by content_sha256."""
        return self.root / "base"

    @property
    def trash(self) -> Path:
        """Bytes displaced locally, dated."""
        return self.root / "trash"

    @property
    def staging(self) -> Path:
        """Pulled bytes before they are put into place; on the tree's file system, so that a rename moves them."""
        return self.root / "staging"

    @property
    def owner_lock(self) -> Path:
        """Held by whoever may change the tree."""
        return self.root / "owner.lock"

    @property
    def write_protected(self) -> Path:
        """Says that the tree's write bits were taken, which only directory mode does."""
        return self.root / "write-protected"


@dataclass(frozen=True, slots=True)
class Layout:
    """A state directory, ``STATE``."""

    root: Path

    @property
    def stores(self) -> Path:
        """The directory that holds one directory per store."""
        return self.root / "stores"

    @property
    def mount_socket(self) -> Path:
        """Where the worker asks the mount."""
        return self.root / "mount.sock"

    @property
    def worker_socket(self) -> Path:
        """Where the command line asks the worker."""
        return self.root / "worker.sock"

    @property
    def session(self) -> Path:
        """The id of the session whose stores are attached; missing where they were named."""
        return self.root / "session"

    @property
    def worker_lock(self) -> Path:
        """Held by the one worker of this state."""
        return self.root / "worker.lock"

    def store(self, store_id: str) -> StoreLayout:
        """Return the layout of one store."""
        return StoreLayout(self.stores / store_id)
