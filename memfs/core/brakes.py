"""Brakes: when so much would be deleted that somebody has to say first that it is meant.

Deletions, carried out and pending, are counted for each side of a store over a sliding window: a feed delivers them one
by one, and ``rm -rf`` spreads over cycles. Pure; `worker.braking` counts, and halts the store.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

WINDOW_S = 600.0
"""So long a deletion that was carried out counts; a pending one does until it is."""
AT_LEAST = 2
"""A store of a single memory may lose it."""
FEW = 8
"""So many deletions are never too many, unless nothing is left."""
SHARE = 3
"""More than one in so many are too many."""


class Reason(StrEnum):
    """Why a store is halted."""

    MANY_LOCAL = "many_local"
    """Too many files are gone here: their memories would be deleted."""
    MANY_REMOTE = "many_remote"
    """Too many memories are gone on the remote: their files would be removed."""
    ROOT_REPLACED = "root_replaced"
    """The tree is not the directory that it was, and files are missing in it."""
    REMOTE_EMPTY = "remote_empty"
    """The remote listed nothing, and memories are known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """A deletion: when it was first seen, in unix seconds, and how many memories the store had then."""

    at: float
    memories: int
    is_pending: bool = False


def is_too_much(deletions: Iterable[Counted], now: float) -> tuple[int, int] | None:
    """Return how many deletions of how many memories are too much, or None where it may go on."""
    counted = [one for one in deletions if one.is_pending or one.at > now - WINDOW_S]
    if not counted:
        return None
    # What was deleted first was deleted from the store as it was before.
    memories = min(counted, key=lambda one: one.at).memories
    is_everything = memories >= AT_LEAST and len(counted) >= memories
    is_much = len(counted) > FEW and len(counted) * SHARE > memories
    return (len(counted), memories) if is_everything or is_much else None
