"""Which stores a worker attaches: those that somebody named, or those of a session; and whether that session goes on.

Used by `worker.service` and the worker's edge, on the control thread.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace

from memfs.core.attachment import Attachment, WantedStore
from memfs.core.errors import MemfsError, NotFound, SessionEnded
from memfs.remote.attach import check_goes_on, resolve, resolve_session
from memfs.remote.protocol import Remote
from memfs.state.attachments import attach, attached, attached_session
from memfs.state.layout import Layout

log = logging.getLogger(__name__)


class AttachedSession:
    """The session whose stores are attached. Once it is over, `check` refuses every call to the remote in its name.

    A token ends with its session by itself; an API key does not, so the session is looked at again and again.
    """

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self._ended: SessionEnded | None = None

    def check(self) -> None:
        """Check that the session was not over when last looked at.

        Raises:
            SessionEnded: It was.
        """
        if self._ended is not None:
            raise SessionEnded(self._ended.message, remedy=self._ended.remedy)

    async def look(self, remote: Remote) -> SessionEnded | None:
        """Look at the session; return why it is over if that is news. What keeps the answer away is no news."""
        before = self._ended
        try:
            check_goes_on(await remote.retrieve_session(self.session_id))
        except SessionEnded as error:
            self._ended = error
        except NotFound:
            self._ended = SessionEnded(f"the session {self.session_id} is gone: its stores are not synced any more")
        except MemfsError:
            return None  # The stores' own calls meet the same and tell it.
        else:
            self._ended = None
        return self._ended if before is None else None


class Attaching:
    """Finds the stores that are wanted, and keeps on record which are attached.

    Args:
        layout: The state directory.
        remote: Where the stores are.
        wanted: The stores, where they are named.
        session: Whose stores are wanted instead.
    """

    def __init__(
        self, layout: Layout, remote: Remote, wanted: Sequence[WantedStore], session: AttachedSession | None
    ) -> None:
        self._layout, self._remote, self._wanted, self._session = layout, remote, wanted, session

    async def find(self) -> list[Attachment]:
        """Return an attachment for each store.

        Raises:
            MemfsError: As `resolve` and `resolve_session`.
        """
        if self._session is None:
            return await resolve(self._remote, self._wanted)
        return await resolve_session(self._remote, self._session.session_id, log.info)

    def known(self) -> list[Attachment]:
        """Return the stores that are wanted and were attached before, with the access that is wanted now."""
        before = attached(self._layout)
        if self._session is not None:
            return before if attached_session(self._layout) == self._session.session_id else []
        named = {one.store: one for one in self._wanted}
        found = []
        for attachment in before:
            one = named.get(attachment.store_id) or named.get(attachment.name)
            if one is not None:
                found.append(replace(attachment, access=one.access))
        return found

    def record(self, attachments: Sequence[Attachment]) -> None:
        """Record how the stores are attached."""
        attach(self._layout, attachments, self._session.session_id if self._session else "")
