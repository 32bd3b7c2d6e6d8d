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
from memfs.tree.descent import DIRECTORY_FLAGS, open_directory
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
        self._policy = policy
        self._memories: int | None = None
        self.node: Node | None = None
        """Its directory at the mount's root, once it has one."""
        self.shown: dict[int, ShownNode] = {}
        """The entries below ``.memfs`` that the kernel knows, by the inode of what they tell of (`memfs.vfs.shown`)."""
        self.reader = StateReader(layout.database)
        self._lock = OwnerLock(layout.owner_lock)
        self._lock.acquire(LOCK_TIMEOUT_S)
        try:
            self.places = Places(layout)
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

    @property
    def memories(self) -> int:
        """How many memories it holds: counted when this is first asked, so that a mount is ready at once."""
        if self._memories is None and self.is_attached:
            directory = os.open(".", DIRECTORY_FLAGS, dir_fd=self.places.tree)
            self._memories = _count_memories(directory, b"", self._policy)
        return self._memories or 0

    def grew(self, by: int) -> None:
        """Take in that so many memories were made, or, below 0, went; who has not been counted yet will be later."""
        if self._memories is not None:
            self._memories += by

    def recount(self) -> None:
        """Forget how many memories it holds: the tree changed behind the mount."""
        self._memories = None

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


def _count_memories(directory: int, above: bytes, policy: Policy) -> int:
    """Return how many files below a directory, which is closed then, are memories, without a look at any of them."""
    count, below = 0, []
    try:
        with os.scandir(directory) as found:
            for item in found:
                if item.is_dir(follow_symlinks=False):
                    below.append(item.name)
                elif item.is_file(follow_symlinks=False):
                    count += not policy.is_local_only_file(above + os.fsencode(item.name))
        for name in below:
            relative = above + os.fsencode(name)
            if policy.is_local_only_directory(relative):
                continue
            opened = open_directory(directory, name)
            if opened is not None:
                count += _count_memories(opened, relative + b"/", policy)
    finally:
        os.close(directory)
    return count
