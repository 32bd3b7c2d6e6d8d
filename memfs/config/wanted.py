"""What is to be attached: the stores that somebody names, or those of a session; flags first, then the configuration.

Used by `memfs up`, `memfs run` and the worker's edge. Values only.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from memfs.config.settings import Settings
from memfs.core.attachment import WantedStore, check_wanted, parse_wanted
from memfs.core.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Stores by name or id, or a session that has them; never both, and neither where nobody said."""

    stores: list[WantedStore] = field(default_factory=list)
    session_id: str = ""

    def check(self) -> None:
        """Check what can be checked without asking the remote.

        Raises:
            UsageError: No session and no store is named, or too many stores are, or one twice.
        """
        if not self.session_id:
            check_wanted(self.stores)


def wanted(session: str | None, stores: Sequence[str] | None, settings: Settings) -> Wanted:
    """Return what the flags ``--session`` and ``--store`` ask for, else what the configuration does.

    Raises:
        UsageError: Both flags are given, or one of them names nothing.
    """
    if session is not None and stores:
        raise UsageError(
            "--session and --store exclude each other", remedy="A session's stores are those it was made with"
        )
    if session is not None:
        if not session.strip():
            raise UsageError("--session names no session", remedy="Say --session ID")
        return Wanted(session_id=session)
    if stores:
        return Wanted(stores=[parse_wanted(text) for text in stores])
    return Wanted(stores=settings.wanted_stores(), session_id=settings.session.id or "")
