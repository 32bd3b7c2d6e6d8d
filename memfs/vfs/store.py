"""One attached store while a mount serves it: its lock, its directories, its count of memories, its recent writes.

Made and closed by `memfs.vfs.attaching`; everything else uses it under the mutation lock.
"""

import errno
import os
from typing import TYPE_CHECKING

from memfs.core.attachment import Attachment
from memfs.core.errors import StoreReadOnly
from memfs.state.layout import StoreLayout
from memfs.state.reader import StateReader
from memfs.tree.local import Kind, scan
from memfs.tree.owner import OwnerLock
from memfs.tree.places import Places
from memfs.vfs.policy import Policy
from memfs.vfs.values import MountedStore
from memfs.vfs.writes import Writes

if TYPE_CHECKING:
    from memfs.vfs.nodes import Node
    from memfs.vfs.shown.node import ShownNode

LOCK_TIMEOUT_S = 5.0


class ServedStore:
    """A store whose tree this process owns.

    Raises:
        AlreadyHeld: Another process owns it, still after 5 s.
        OSError: Its directories cannot be opened.
    """

    def __init__(self, attachment: Attachment, layout: StoreLayout, policy: Policy) -> None:
        self.store_id = attachment.store_id
        self.layout = layout
        self.attach(attachment)
        self.writes = Writes()
        self.node: Node | None = None
        """Its directory at the mount's root, once it has one."""
        self.shown: dict[int, ShownNode] = {}
        """The entries below ``.memfs`` that the kernel knows, by the inode of what they tell of (`memfs.vfs.shown`)."""
        self.reader = StateReader(layout.database)
        self._lock = OwnerLock(layout.owner_lock)
        self._lock.acquire(LOCK_TIMEOUT_S)
        try:
            self.places = Places(layout)
            self.memories = count_memories(self.places.tree, policy)
        except BaseException:
            self._lock.release()
            raise

    def attach(self, attachment: Attachment) -> None:
        """Take over how the store is attached."""
        self.attachment = attachment
        self.is_writable = attachment.is_writable
        self.is_attached = True

    @property
    def root(self) -> "Node":
        """Its directory at the mount's root.

        Raises:
            OSError: ESTALE: it has none.
        """
        if self.node is None:
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        return self.node

    @property
    def served(self) -> MountedStore:
        """What is served, as a value."""
        return MountedStore(attachment=self.attachment, layout=self.layout)

    def check_writable(self) -> None:
        """Refuse a change where programs may make none.

        Raises:
            StoreReadOnly: It is attached read_only, or archived.
            OSError: ESTALE: it is no longer attached.
        """
        if self.is_writable:
            return
        if not self.is_attached:
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        raise StoreReadOnly(f"the store {self.attachment.slug} is read-only here")

    def close(self) -> None:
        """Give tree and lock back."""
        self.is_writable = self.is_attached = False
        self.reader.close()
        self.places.close()
        self._lock.release()


def count_memories(tree: int, policy: Policy) -> int:
    """Return how many files below the directory ``tree`` are memories."""
    entries = scan(tree, lambda directory: not policy.is_local_only_directory(directory))
    return sum(entry.kind is Kind.FILE and not policy.is_local_only_file(entry.relative) for entry in entries)
