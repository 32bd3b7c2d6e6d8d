"""Who asks, and what they may touch: the one rule by which rows are seen, changed or managed.

Made by `memfs.server.access` from a request's credential, used by every method of the store. Values only.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from memfs.core.attachment import Access
from memfs.core.errors import PermissionRefused


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """An API key or a session's token, as the database knows it."""

    actor: str
    """What versions name: ``apikey_…`` or ``sesn_…``."""
    workspace_id: str
    """The workspace whose rows there are; every other's do not exist."""
    access: Access = Access.READ_WRITE
    stores: Mapping[str, Access] | None = None
    """A session's stores and how each may be used; None is every store of the workspace, as ``access`` says."""

    def sees(self, store_id: str) -> bool:
        """Tell whether there is such a store for this caller, if its workspace has it."""
        return self.stores is None or store_id in self.stores

    def check_writes(self, store_id: str) -> None:
        """Check that memories of a store may be written.

        Raises:
            PermissionRefused: They may only be read.
        """
        if self.stores is None:
            self._check_access()
        elif self.stores.get(store_id) is not Access.READ_WRITE:
            raise PermissionRefused(
                f"the session {self.actor} may only read the memory store {store_id}",
                remedy="Ask for a session that has it with the access read_write",
            )

    @property
    def manages(self) -> bool:
        """Whether stores, sessions and histories may be changed, not only memories."""
        return self.stores is None and self.access is Access.READ_WRITE

    def check_manages(self) -> None:
        """Check that stores, sessions and histories may be changed, not only memories.

        Raises:
            PermissionRefused: The credential is a session's token, or a key that may only read.
        """
        self.check_key()
        self._check_access()

    def check_key(self) -> None:
        """Check that more may be seen than a session's own stores.

        Raises:
            PermissionRefused: The credential is a session's token.
        """
        if self.stores is not None:
            raise PermissionRefused(
                f"the token of the session {self.actor} opens memories only", remedy="Use an API key for this"
            )

    def _check_access(self) -> None:
        if self.access is not Access.READ_WRITE:
            raise PermissionRefused(
                f"the API key {self.actor} may only read", remedy="Use a key with the access read_write"
            )
