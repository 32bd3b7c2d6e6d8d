"""Makes the texts of ``.memfs/``, one at a time, when they are looked up: from the worker's database and the tree.

A text that could not be made in full, since a database cannot be read now, is not `certain`: it is shown once and made
anew for the next who asks. Used under the mutation lock.
"""

import os
from typing import NamedTuple

from memfs.core.errors import MemfsError
from memfs.core.prompt import prompt
from memfs.state.summary import SyncedFile, is_watched
from memfs.vfs.mounted import Mounted
from memfs.vfs.shown.node import Part
from memfs.vfs.shown.texts import Kept, Standing, conflicts_text, memory_text, path_text, status_text
from memfs.vfs.store import ServedStore


class Text(NamedTuple):
    """What a file holds, since when, and whether it may be kept."""

    content: bytes
    when_ns: int
    is_certain: bool = True


class Making:
    """The texts of one mount.

    Args:
        mounted: The mount.
        mount_point: Where programs find it.
    """

    def __init__(self, mounted: Mounted, mount_point: str) -> None:
        self._mounted = mounted
        self._mount_point = mount_point

    def whole(self, part: Part) -> Text:
        """Make one of the texts that tell of all stores."""
        stores = list(self._mounted.stores.values())
        when_ns = max((store.reader.changed_ns() for store in stores), default=0)
        if part is Part.README:
            attachments = [store.attachment for store in stores]
            return Text(prompt(attachments, self._mount_point, self._mounted.policy.limits).encode(), when_ns)
        found = [_standing(store) for store in stores]
        is_certain = all(one.error is None for one in found)
        if part is Part.STATUS:
            holds, watched = self._mounted.kernel_holds, is_watched(self._mounted.layout)
            return Text(status_text(found, is_watched=watched, kernel_holds=holds), when_ns, is_certain)
        copies = {one.attachment.slug: one.summary.copies for one in found if one.summary is not None}
        return Text(conflicts_text(copies), when_ns, is_certain)

    def memory(self, store: ServedStore, relative: bytes, found: os.stat_result) -> Text:
        """Make what is known of one file of a store's tree."""
        policy = self._mounted.policy
        kept = Kept(
            file=SyncedFile(found.st_ino, found.st_size, found.st_mtime_ns),
            is_local_only=policy.is_local_only_file(relative),
            is_held_back=policy.is_held_back(relative),
        )
        path = path_text(relative)
        try:
            facts, is_certain = store.reader.facts(path), True
        except MemfsError:
            facts, is_certain = None, False
        when_ns = max(found.st_mtime_ns, store.reader.changed_ns())
        return Text(memory_text(path, facts, kept), when_ns, is_certain)


def _standing(store: ServedStore) -> Standing:
    try:
        return Standing(store.attachment, store.reader.summary(store.attachment), None)
    except MemfsError as error:
        return Standing(store.attachment, None, error)
