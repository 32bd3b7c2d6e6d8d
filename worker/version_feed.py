"""How far the list of versions has been read, where the remote has no change feed of its own.

A version may show up behind newer ones, so for a while after any news the question reaches back; the last such
question reads all of it. After that only what is as new as the newest can come, and the answer stays small. Values
only; used by `worker.observe_remote`.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from memfs.api.models import MemoryVersion

OVERLAP_S = 60.0
"""How long a version may take to show up behind newer ones."""
_KNOWN_RUN = 100
"""So many known versions in a row, and the rest of the feed is known too, but for the last look of an overlap."""


@dataclass(frozen=True, slots=True)
class Look:
    """One question to the feed."""

    since: datetime | None
    is_complete: bool

    def is_enough(self, known_in_a_row: int) -> bool:
        """Tell whether what comes after so many known versions need not be read."""
        return not self.is_complete and known_in_a_row >= _KNOWN_RUN


class VersionFeed:
    """The place of one reader."""

    def __init__(self) -> None:
        self.has_begun = False
        self.seen: dict[str, datetime] = {}
        self._newest: datetime | None = None
        self._overlap_ends = 0.0
        self._is_overlapping = True

    def begin(self, newest: datetime | None) -> None:
        """Take in when the newest version was made, before a listing begins."""
        self.has_begun = True
        self._newest = newest

    def look(self, now: float) -> Look:
        """Return what is to be asked now, by the monotonic clock."""
        if self._newest is None or not self._is_overlapping:
            return Look(self._newest, is_complete=True)
        return Look(self._newest - timedelta(seconds=OVERLAP_S), is_complete=now >= self._overlap_ends)

    def saw(self, versions: list[MemoryVersion], look: Look, now: float) -> None:
        """Take in the versions that were news in the answer to a question."""
        self.seen.update((version.id, version.created_at) for version in versions)
        if versions:
            newest = max(version.created_at for version in versions)
            self._newest = newest if self._newest is None else max(newest, self._newest)
            self._overlap_ends = now + OVERLAP_S
            self._is_overlapping = True
        elif look.is_complete and self._is_overlapping:
            self._is_overlapping = False
        if self._newest is not None:
            oldest = self._newest - timedelta(seconds=OVERLAP_S if self._is_overlapping else 0)
            self.seen = {version_id: at for version_id, at in self.seen.items() if at >= oldest}
