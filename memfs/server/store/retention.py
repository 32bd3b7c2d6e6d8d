"""Which versions and changes have had their time, as a rule of plain values.

A version may go when it is older than the window and is not among the newest of a living memory; the head is, always.
The history of a deleted memory is kept whole until the deletion itself is older than the window: what it last held can
be brought back for at least that long, however old it was. Redacted versions count like others. A change goes once it
is older than the window. Used by `memfs.server.store.pruning`. Values only.
"""

from dataclasses import dataclass

from memfs.core.errors import UsageError

SHORTEST_DAYS = 30
FEWEST_NEWEST = 10
_DAY_US = 86_400 * 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How much history a server keeps at least.

    Raises:
        UsageError: Less than every server of memory stores promises.
    """

    days: int = SHORTEST_DAYS
    keep_newest: int = FEWEST_NEWEST
    """So many versions of a living memory stay, however old."""

    def __post_init__(self) -> None:
        if self.days < SHORTEST_DAYS:
            raise UsageError(
                f"versions cannot be kept for {self.days} days only", remedy=f"Keep them for {SHORTEST_DAYS} or more"
            )
        if self.keep_newest < FEWEST_NEWEST:
            raise UsageError(
                f"a memory cannot keep its newest {self.keep_newest} versions only",
                remedy=f"Keep {FEWEST_NEWEST} or more",
            )

    def horizon(self, now_us: int) -> int:
        """Return the moment before which things are older than the window, in microseconds since 1970."""
        return now_us - self.days * _DAY_US


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A memory's versions as the rule sees them."""

    is_live: bool
    versions: int
    newest_at: int
    """When the newest was written: the head of a living memory, the deletion of another."""


def most_to_go(history: History, rule: Retention, horizon: int) -> int:
    """Return how many of a memory's oldest versions may go, as far as they are from before the horizon."""
    if history.is_live:
        return max(0, history.versions - rule.keep_newest)
    return history.versions if history.newest_at < horizon else 0
