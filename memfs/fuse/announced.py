"""What the announcing process is answered: what it asks to make is there already, so nothing it asks changes anything.

To have the kernel report that an entry was made, that process makes it: its look-up is told that there is none, and its
``create`` or ``mkdir`` is answered with the entry that is there. The kernel holds the directory's lock all the while,
so that no other program is told so.

Threading: everything runs in the session's thread.
"""

import errno
import os
import stat
from collections.abc import Callable, Container

from memfs.fuse.announcing_process import SIZE_OF_NOTHING
from memfs.fuse.structures import Foreign
from memfs.vfs.filesystem import FileSystem
from memfs.vfs.values import ROOT, Attributes


class Announced:
    """The upcalls that the announcing process makes, in the signatures of `Operations`.

    Args:
        filesystem: Where everything is looked up.
        made: The places, from the mount's root, of entries that are about to be announced as made.
        usual_open: Answers an ``open`` for reading.
        usual_setattr: Answers a ``setattr`` that announces nothing.
    """

    def __init__(
        self,
        filesystem: FileSystem,
        made: Container[bytes],
        usual_open: Callable[..., Foreign],
        usual_setattr: Callable[..., Attributes],
    ) -> None:
        self._fs, self._made = filesystem, made
        self._usual_open, self._usual_setattr = usual_open, usual_setattr

    def lookup(self, parent: int, name: bytes) -> Attributes:
        """Find a name, but for those that are to be announced as made."""
        if self._fs.place(parent, name) in self._made:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        return self._fs.lookup(parent, name)

    def mkdir(self, parent: int, name: bytes, _mode: int) -> Attributes:
        """Answer with the directory that is there."""
        if parent == ROOT:  # How that process finds out that it is known here.
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        return self._found(parent, name, stat.S_IFDIR)

    def create(self, parent: int, name: bytes, _mode: int, info: Foreign) -> tuple[Attributes, Foreign]:
        """Answer with the file that is there, opened without a handle: there is nothing to give back."""
        info.contents.fh, info.contents.keep_cache = 0, 1
        return self._found(parent, name, stat.S_IFREG), info

    def open(self, nodeid: int, info: Foreign) -> Foreign:
        """Open for writing, in any store, as others do for reading: nothing will be written."""
        info.contents.flags &= ~os.O_ACCMODE
        return self._usual_open(nodeid, info)

    def setattr(self, nodeid: int, attr: Foreign, to_set: int, info: Foreign) -> Attributes:
        """Answer with what is there."""
        if attr.contents.st_size == SIZE_OF_NOTHING:
            return self._fs.getattr(nodeid)
        return self._usual_setattr(nodeid, attr, to_set, info)

    def _found(self, parent: int, name: bytes, kind: int) -> Attributes:
        found = self._fs.lookup(parent, name)
        if stat.S_IFMT(found.mode) == kind:
            return found
        self._fs.forget(found.nodeid, 1)
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
