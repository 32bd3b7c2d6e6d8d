"""An attachment: one store as one directory of a mount, with the access that the mount enforces."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from memfs.core.errors import UsageError
from memfs.core.limits import STORES_PER_ATTACHMENT


class Access(StrEnum):
    """What programs may do in an attached store."""

    READ_ONLY = "read_only"
    READ_WRITE = "read_write"


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedStore:
    """A store as a user names it: by id (``memstore_…``) or by display name."""

    store: str
    access: Access = Access.READ_WRITE
    instructions: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A store as it is mounted. ``archived`` makes it read-only whatever ``access`` says."""

    store_id: str
    name: str
    slug: str
    access: Access
    description: str = ""
    instructions: str = ""
    archived: bool = False

    @property
    def is_writable(self) -> bool:
        """Tell whether programs may change the store through the mount."""
        return self.access is Access.READ_WRITE and not self.archived


def parse_wanted(text: str) -> WantedStore:
    """Read ``NAME_OR_ID``, ``NAME_OR_ID:ro`` or ``NAME_OR_ID:rw``.

    Raises:
        UsageError: Nothing is named.
    """
    name, colon, mode = text.rpartition(":")
    if colon and mode in {"ro", "rw"}:
        access = Access.READ_ONLY if mode == "ro" else Access.READ_WRITE
    else:
        name, access = text, Access.READ_WRITE
    if not name.strip():
        raise UsageError(f"the store {text!r} has no name", remedy="Say --store NAME or --store NAME:ro")
    return WantedStore(store=name, access=access)


def check_wanted(wanted: Sequence[WantedStore]) -> None:
    """Check what can be checked of a set of stores without asking the remote.

    Raises:
        UsageError: None is named, more than eight are, or one is named twice.
    """
    if not wanted:
        raise UsageError("no store is named", remedy="Say --store NAME, or list [[stores]] in the configuration")
    if len(wanted) > STORES_PER_ATTACHMENT:
        raise UsageError(
            f"{len(wanted)} stores are named; an attachment holds at most {STORES_PER_ATTACHMENT}",
            remedy="Mount the others at a second mount point",
        )
    names = [one.store for one in wanted]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"the store {name!r} is named twice", remedy="Name each store once")
