"""Open descriptors of the backing files and directories: the lately used ones of linked nodes, and all of the others.

A linked node's descriptor may be closed at any time, since its path opens it again; an unlinked one's is all that is
left of it and stays until the node is dropped. Used under the mutation lock.
"""

import errno
import os
from collections import OrderedDict

from memfs.tree.descent import DIRECTORY_FLAGS
from memfs.vfs.nodes import CLOSED, Node

CAPACITY = 256
"""Well below the 1,024 that a process may hold open unless told otherwise, and more than the longest path needs."""
_FILE_FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Descriptors:
    """The descriptors of one mount's nodes; a store's root brings its own."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._recent: OrderedDict[int, Node] = OrderedDict()
        self._capacity = capacity

    def of(self, node: Node) -> int:
        """Return an open descriptor of the node: a file's for reading and writing.

        Raises:
            OSError: ESTALE where nothing is left of it; else what opening its path gives.
        """
        if node.descriptor >= 0:
            if node.nodeid in self._recent:
                self._recent.move_to_end(node.nodeid)
            return node.descriptor
        return self._open(node)

    def adopt(self, node: Node, descriptor: int) -> None:
        """Take over a descriptor that was just opened for a linked node."""
        if node.descriptor != CLOSED:
            self.close(node)
        node.descriptor = descriptor
        self._recent[node.nodeid] = node
        self._shrink(self._capacity)

    def pin(self, node: Node) -> None:
        """Keep what the node holds until it is dropped: its path no longer leads to it."""
        self._recent.pop(node.nodeid, None)

    def close(self, node: Node) -> None:
        """Close whatever the node holds."""
        self._recent.pop(node.nodeid, None)
        for descriptor in (node.descriptor, node.late):
            if descriptor >= 0:
                os.close(descriptor)
        node.descriptor = node.late = CLOSED

    def close_recent(self) -> None:
        """Close every descriptor that its path can open again."""
        self._shrink(0)

    def _open(self, node: Node) -> int:
        try:
            return self._open_path(node)
        except OSError as error:
            if error.errno != errno.EMFILE or not self._recent:
                raise
        self._shrink(len(self._recent) // 2)
        return self._open_path(node)

    def _open_path(self, node: Node) -> int:
        missing = []
        while node.descriptor < 0:
            if not node.linked or node.parent is None:
                raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
            missing.append(node)
            node = node.parent
        descriptor = node.descriptor
        for each in reversed(missing):
            flags = _FILE_FLAGS if each.children is None else DIRECTORY_FLAGS
            descriptor = os.open(each.name, flags, dir_fd=descriptor)
            each.descriptor = descriptor
            self._recent[each.nodeid] = each
        self._shrink(self._capacity)
        return descriptor

    def _shrink(self, size: int) -> None:
        while len(self._recent) > size:
            _, oldest = self._recent.popitem(last=False)
            self.close(oldest)
